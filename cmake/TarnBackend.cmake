# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# TarnBackend: checks TARN_BACKEND, and finds what the library and its tests need of the vendor.
#
# What one vendor needs stands in these places, and nowhere else in the build:
#   the lists HOST, CUDA, HIP, ZE, ALL: below, in CMakeLists.txt, scripts/common.sh, scripts/check_layers.py
#   cmake/Tarn<Vendor>Sdk.cmake                         finds what tests, benchmark and examples call of it
#   CMakePresets.json                                   its preset
#   scripts/common.sh                                   its SDK and its devices, for the scripts
#   scripts/setup                                       its packages
#   src/CMakeLists.txt                                  its source files
#   bench/allocators/allocator_vendor_pool_<vendor>.c   its own pool, or that it has none
#   src/backends.c                                      its functions that open, and count devices
#   include/tarn/<vendor>.h                             its public header; in the list of tests/api
#   tests/conformance/vendor_<vendor>.c                 what only the vendor can tell
#   tests/sim/<vendor>                                  its simulated driver
#   tests/device                                        its kernels, so far CUDA's alone
#   recorders/preload_<vendor>.c                        records its calls; in recorders/CMakeLists.txt, tarn_record.c
#
# Outside the build it is named in:
#   include/tarn/backend.h, src/process/ranks.c, tools/tarn_tools/allocators.py, .ci/run
#   docs/building.md, docs/semantics.md, docs/testing.md, docs/recording.md, docs/benchmark_method.md
#   README.md, and the READMEs of src, cmake, include/tarn and bench

set(tarn_backends HOST CUDA HIP ZE ALL)

# Checks TARN_BACKEND, in any case of letters, and sets it to the name in capitals. No vendor's SDK is needed:
# its library is loaded when a program opens a backend. Sets, and leaves empty for the host:
#   tarn_vendors          the vendors whose backends are built in, "CUDA;HIP"
#   tarn_vendor           the one that tests, benchmark and examples are for, as in file names: "cuda"
#   tarn_vendor_target    what the library is linked with
#   tarn_vendor_pc        the same, for pkg-config
#   tarn_nvtx_folder      the folder of NVTX's headers, for cuda_watch.c
# A macro, since imported targets must be visible in the caller's folder.
macro(tarn_find_backend)
    foreach(name vendors vendor vendor_target vendor_pc nvtx_folder)
        set(tarn_${name})
    endforeach()
    string(TOUPPER "${TARN_BACKEND}" tarn_backend_name)
    if(NOT tarn_backend_name IN_LIST tarn_backends)
        list(JOIN tarn_backends ", " names)
        message(FATAL_ERROR "TARN_BACKEND=${TARN_BACKEND} is unknown. It is one of ${names}, in any case of letters.")
    endif()
    set(TARN_BACKEND ${tarn_backend_name}) # hides the user's spelling, which stays in the cache
    if(TARN_BACKEND STREQUAL "ALL")
        set(tarn_vendors CUDA HIP ZE)
    elseif(NOT TARN_BACKEND STREQUAL "HOST")
        set(tarn_vendors ${TARN_BACKEND})
    endif()
    if(tarn_vendors)
        list(GET tarn_vendors 0 tarn_vendor)
        string(TOLOWER ${tarn_vendor} tarn_vendor)
    endif()
    if("CUDA" IN_LIST tarn_vendors)
        find_path(TARN_NVTX_DIR nvtx3/nvToolsExtMem.h
            HINTS ${CUDAToolkit_ROOT} ENV CUDAToolkit_ROOT ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES include)
        mark_as_advanced(TARN_NVTX_DIR)
        if(TARN_NVTX_DIR)
            set(tarn_nvtx_folder ${TARN_NVTX_DIR})
        else()
            message(STATUS "tarn: compute-sanitizer is told nothing of pools, since NVTX's nvtx3/nvToolsExtMem.h is not found")
        endif()
    endif()
    if(TARN_LINK_VENDOR)
        tarn_link_vendors()
    endif()
    message(STATUS "tarn: backend ${TARN_BACKEND}")
endmacro()

# Adds the vendors' libraries, of which no symbol is asked for, to tarn_vendor_target.
macro(tarn_link_vendors)
    find_library(TARN_CUDA_DRIVER_LIBRARY cuda HINTS ${CUDAToolkit_ROOT} ENV CUDAToolkit_ROOT ENV CUDA_PATH
        PATHS /usr/local/cuda PATH_SUFFIXES lib64/stubs lib/stubs)
    find_library(TARN_HIP_LIBRARY amdhip64 HINTS ${ROCM_PATH} ENV ROCM_PATH ${HIP_PATH} ENV HIP_PATH PATHS /opt/rocm
        PATH_SUFFIXES lib lib64)
    find_library(TARN_ZE_LIBRARY ze_loader PATH_SUFFIXES lib64)
    mark_as_advanced(TARN_CUDA_DRIVER_LIBRARY TARN_HIP_LIBRARY TARN_ZE_LIBRARY)
    set(tarn_library_of_CUDA ${TARN_CUDA_DRIVER_LIBRARY})
    set(tarn_library_of_HIP ${TARN_HIP_LIBRARY})
    set(tarn_library_of_ZE ${TARN_ZE_LIBRARY})
    foreach(name IN ITEMS CUDA HIP ZE)
        if(NOT name IN_LIST tarn_vendors)
            continue()
        elseif(NOT tarn_library_of_${name})
            message(FATAL_ERROR "TARN_LINK_VENDOR=ON needs ${name}'s library, libcuda, libamdhip64 or libze_loader, and it was not found. "
                "Without the option it is loaded when a program opens a backend.")
        endif()
        list(APPEND tarn_vendor_target -Wl,--push-state,--no-as-needed ${tarn_library_of_${name}} -Wl,--pop-state)
        string(APPEND tarn_vendor_pc " -Wl,--push-state,--no-as-needed ${tarn_library_of_${name}} -Wl,--pop-state")
    endforeach()
endmacro()

# Looks for the vendor's headers and library that tests, benchmark and examples call. Sets, and leaves empty for the host and
# where there are none:
#   tarn_sdk_target       the imported target with both
#   tarn_test_vendor      tarn_vendor, if tests of the vendor can be built
macro(tarn_find_sdk)
    set(tarn_sdk_target)
    set(tarn_sdk_missing)
    if(tarn_vendor STREQUAL "cuda")
        include(TarnCudaSdk)
    elseif(tarn_vendor STREQUAL "hip")
        include(TarnHipSdk)
    elseif(tarn_vendor STREQUAL "ze")
        include(TarnZeSdk)
    endif()
    set(tarn_test_vendor ${tarn_vendor})
    if(tarn_sdk_missing)
        set(tarn_test_vendor)
        message(STATUS "tarn: what calls ${tarn_vendor} itself is left out: tests, examples, and the benchmark of its own "
            "allocators. It needs ${tarn_sdk_missing}.")
    endif()
endmacro()
