# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# TarnBackend: checks TARN_BACKEND and finds the vendor's SDK.
#
# What one vendor needs stands in these places, and nowhere else in the build:
#   the lists HOST, CUDA, HIP, ZE: below, in CMakeLists.txt, cmake/TarnInstall.cmake, scripts/check_layers.py
#   cmake/tarn-vendor-<vendor>.cmake                    finds the SDK; sets the variables below
#   CMakePresets.json                                   its preset
#   scripts/common.sh                                   its SDK and its devices, for the scripts
#   scripts/setup                                       its packages
#   src/CMakeLists.txt                                  its source files
#   bench/allocators/allocator_vendor_pool_<vendor>.c   its own pool, or that it has none
#   src/backends.c                                      its function that opens
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

set(tarn_backends HOST CUDA HIP ZE)

# Finds what the chosen backend needs, or stops with a message that says what to do. Accepts TARN_BACKEND in any case of
# letters, and sets it to the name in capitals. Sets, and leaves empty for the host:
#   tarn_vendor           the name in file names, "cuda"
#   tarn_vendor_target    the imported target with the vendor's headers and library
#   tarn_vendor_found     what was found, for the reader
#   tarn_vendor_folder    the folder of the vendor's library
#   tarn_vendor_pc        what a linker that asks pkg-config is told besides that folder
#   tarn_vendor_settings  the variables that choose among the vendor's SDKs, for an installed tarn
#   tarn_vendor_missing   what is needed and how to install it; empty when it was found
# A macro, since imported targets must be visible in the caller's folder.
macro(tarn_find_backend)
    set(tarn_vendor)
    set(tarn_vendor_target)
    set(tarn_vendor_found)
    set(tarn_vendor_folder)
    set(tarn_vendor_pc)
    set(tarn_vendor_settings)
    set(tarn_vendor_missing)
    string(TOUPPER "${TARN_BACKEND}" tarn_backend_name)
    if(NOT tarn_backend_name IN_LIST tarn_backends)
        list(JOIN tarn_backends ", " names)
        message(FATAL_ERROR "TARN_BACKEND=${TARN_BACKEND} is unknown. It is one of ${names}, in any case of letters.")
    endif()
    set(TARN_BACKEND ${tarn_backend_name}) # hides the user's spelling, which stays in the cache
    if(NOT TARN_BACKEND STREQUAL "HOST")
        string(TOLOWER ${TARN_BACKEND} tarn_vendor)
        set(tarn_vendor_file ${PROJECT_SOURCE_DIR}/cmake/tarn-vendor-${tarn_vendor}.cmake)
        include(${tarn_vendor_file})
        if(tarn_vendor_missing)
            message(FATAL_ERROR "TARN_BACKEND=${TARN_BACKEND} needs ${tarn_vendor_missing} "
                "Without it, configure with -DTARN_BACKEND=HOST.")
        endif()
    endif()
    message(STATUS "tarn: backend ${TARN_BACKEND} ${tarn_vendor_found}")
endmacro()
