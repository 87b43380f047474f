# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# TarnBackend: checks TARN_BACKEND and finds the vendor's SDK.

# Finds what the chosen backend needs, or stops with a message that says what to do.
# A macro, since imported targets must be visible in the caller's folder.
macro(tarn_find_backend)
    if(TARN_BACKEND STREQUAL "CUDA")
        # find_package is asked quietly, so that the one message is ours and names the packages.
        find_package(CUDAToolkit QUIET)
        if(NOT TARGET CUDA::cudart)
            message(FATAL_ERROR
                "TARN_BACKEND=CUDA needs the CUDA toolkit (headers and libcudart), and none was found. "
                "Install it: package nvidia-cuda-toolkit on Debian and Ubuntu, or the one from "
                "https://developer.nvidia.com/cuda-downloads. If it is in an unusual place, add "
                "-DCUDAToolkit_ROOT=<folder>. Without it, configure with -DTARN_BACKEND=HOST.")
        endif()
        message(STATUS "tarn: backend CUDA, toolkit ${CUDAToolkit_VERSION}")
    elseif(TARN_BACKEND MATCHES "^(HIP|ZE)$")
        message(FATAL_ERROR
            "TARN_BACKEND=${TARN_BACKEND}: this version of tarn (${PROJECT_VERSION}) has no such "
            "backend yet. It has HOST and CUDA.")
    elseif(TARN_BACKEND STREQUAL "HOST")
        message(STATUS "tarn: backend HOST")
    else()
        message(FATAL_ERROR
            "TARN_BACKEND=${TARN_BACKEND} is unknown. It is one of HOST, CUDA, HIP, ZE.")
    endif()
endmacro()
