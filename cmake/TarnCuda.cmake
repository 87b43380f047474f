# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# TarnCuda: programs with kernels, for tests, benchmark and examples; the library has none. Sets TARN_HAS_KERNELS
# where the backend is CUDA and its compiler is there. Kernels run as code of compute capability 9.0, and from 7.5
# on as what the driver makes of them: CMAKE_CUDA_ARCHITECTURES chooses others.

set(TARN_HAS_KERNELS FALSE)
if(NOT tarn_test_vendor STREQUAL "cuda")
    return()
endif()
if("${CMAKE_C_FLAGS} ${CMAKE_CXX_FLAGS}" MATCHES "-fsanitize|--coverage")
    message(STATUS "tarn: no programs with kernels, since CUDA's compiler does not know how the library was instrumented")
    return()
endif()

include(CheckLanguage)
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
    message(STATUS "tarn: no programs with kernels, since there is no CUDA compiler")
    return()
endif()
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 75-virtual 90 CACHE STRING "What programs with kernels are compiled for")
endif()
enable_language(CUDA)
enable_language(CXX)
set(TARN_HAS_KERNELS TRUE)

# tarn_add_kernel_program(<name> <files>...): with tarn and the runtime that it uses. It has warnings of its own, since
# the compiler has its own options and the toolkit's headers no -Wundef.
function(tarn_add_kernel_program name)
    add_executable(${name} ${ARGN})
    set_target_properties(${name} PROPERTIES
        COMPILE_OPTIONS ""
        CUDA_STANDARD 17
        CUDA_STANDARD_REQUIRED ON
        CXX_STANDARD 17
        CXX_STANDARD_REQUIRED ON
        CUDA_RUNTIME_LIBRARY Shared)
    if(TARN_DEV_WARNINGS)
        set(warnings -Wall -Wextra -Wconversion -Wshadow -Wvla -Werror)
        string(REPLACE ";" "," for_host "${warnings}")
        target_compile_options(${name} PRIVATE
            "$<$<COMPILE_LANGUAGE:CUDA>:--Werror=all-warnings;-Xcompiler=${for_host}>"
            "$<$<COMPILE_LANGUAGE:CXX>:${warnings}>")
    endif()
    target_link_libraries(${name} PRIVATE tarn::tarn ${tarn_sdk_target} Threads::Threads)
endfunction()
