# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# TarnCudaSdk: looks for CUDA's toolkit, for tests, benchmark and examples that call its runtime; the library needs none.
# Sets tarn_sdk_target where it is found, or tarn_sdk_missing.

# Headers and library alone, where the user says that they are: without the compiler that find_package
# wants to see. The packages nvidia-cuda-runtime and nvidia-cuda-crt of PyPI hold just these.
macro(tarn_find_cuda_runtime)
    set(tarn_cuda_places
        PATHS ${CUDAToolkit_ROOT} $ENV{CUDAToolkit_ROOT} $ENV{CUDA_PATH} NO_DEFAULT_PATH)
    find_path(TARN_CUDA_INCLUDE_DIR cuda_runtime_api.h ${tarn_cuda_places} PATH_SUFFIXES include)
    find_library(TARN_CUDA_LIBRARY NAMES cudart libcudart.so.13 libcudart.so.12 libcudart.so.11.0
        ${tarn_cuda_places} PATH_SUFFIXES lib64 lib)
    mark_as_advanced(TARN_CUDA_INCLUDE_DIR TARN_CUDA_LIBRARY)
    if(TARN_CUDA_INCLUDE_DIR AND TARN_CUDA_LIBRARY)
        file(STRINGS ${TARN_CUDA_INCLUDE_DIR}/cuda_runtime_api.h tarn_cuda_line
            REGEX "^#define CUDART_VERSION +[0-9]+$")
        string(REGEX MATCH "[0-9]+$" tarn_cuda_number "${tarn_cuda_line}")
        math(EXPR CUDAToolkit_VERSION_MAJOR "${tarn_cuda_number} / 1000")
        math(EXPR CUDAToolkit_VERSION_MINOR "${tarn_cuda_number} % 1000 / 10")
        set(CUDAToolkit_VERSION ${CUDAToolkit_VERSION_MAJOR}.${CUDAToolkit_VERSION_MINOR})
        get_filename_component(CUDAToolkit_LIBRARY_DIR ${TARN_CUDA_LIBRARY} DIRECTORY)
        add_library(CUDA::cudart UNKNOWN IMPORTED)
        set_target_properties(CUDA::cudart PROPERTIES
            IMPORTED_LOCATION ${TARN_CUDA_LIBRARY}
            INTERFACE_INCLUDE_DIRECTORIES ${TARN_CUDA_INCLUDE_DIR})
    endif()
endmacro()

set(tarn_sdk_missing)
# find_package is asked quietly, so that the one message is ours and names the packages.
find_package(CUDAToolkit QUIET)
if(NOT TARGET CUDA::cudart)
    tarn_find_cuda_runtime()
endif()
if(TARGET CUDA::cudart)
    set(tarn_sdk_target CUDA::cudart)
    set(tarn_sdk_found "CUDA toolkit ${CUDAToolkit_VERSION}")
else()
    string(CONCAT tarn_sdk_missing
        "the CUDA toolkit (cuda_runtime_api.h and libcudart): package nvidia-cuda-toolkit on Debian and Ubuntu, or the one "
        "from https://developer.nvidia.com/cuda-downloads; or the packages nvidia-cuda-runtime and nvidia-cuda-crt of "
        "PyPI. If it is in an unusual place, set CUDAToolkit_ROOT to its folder")
endif()
