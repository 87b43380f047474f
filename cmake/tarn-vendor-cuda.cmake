# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# tarn-vendor-cuda: the CUDA toolkit. Read by TarnBackend.cmake, which says what it has to set, and
# by the installed tarn-config.cmake.
#
# The runtime, never the driver's libcuda: a program then starts on machines without a driver.

set(tarn_vendor_missing)
# find_package is asked quietly, so that the one message is ours and names the packages.
find_package(CUDAToolkit QUIET)
if(TARGET CUDA::cudart)
    set(tarn_vendor_target CUDA::cudart)
    set(tarn_vendor_found "toolkit ${CUDAToolkit_VERSION}")
    set(tarn_vendor_pc "-L${CUDAToolkit_LIBRARY_DIR} -lcudart")
else()
    string(CONCAT tarn_vendor_missing
        "the CUDA toolkit (headers and libcudart), and none was found. "
        "Install it: package nvidia-cuda-toolkit on Debian and Ubuntu, or the one from "
        "https://developer.nvidia.com/cuda-downloads. If it is in an unusual place, add "
        "-DCUDAToolkit_ROOT=<folder>.")
endif()
