# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# tarn-vendor-hip: HIP, for AMD or for NVIDIA by TARN_HIP_PLATFORM. Read by TarnBackend.cmake, which
# says what it has to set, and by the installed tarn-config.cmake.
#
# HIP's own package, find_package(hip), is not asked: it wants C++, and brings ROCm's compiler along.
# The SDK is looked for where ROCM_PATH, HIP_PATH, hip_DIR and CMAKE_PREFIX_PATH say, in the system's folders
# and in /opt/rocm.

set(tarn_vendor_missing)
set(tarn_vendor_settings TARN_HIP_PLATFORM)
set(tarn_vendor_target tarn_hip)

if(NOT DEFINED TARN_HIP_PLATFORM)
    set(TARN_HIP_PLATFORM amd CACHE STRING "Whose devices HIP is built for: amd or nvidia")
    set_property(CACHE TARN_HIP_PLATFORM PROPERTY STRINGS amd nvidia)
endif()

set(tarn_hip_places HINTS ${ROCM_PATH} ENV ROCM_PATH ${HIP_PATH} ENV HIP_PATH)
if(hip_DIR)
    list(APPEND tarn_hip_places ${hip_DIR}/../../..)
endif()
list(APPEND tarn_hip_places PATHS /opt/rocm)

find_path(TARN_HIP_INCLUDE_DIR hip/hip_runtime_api.h ${tarn_hip_places} PATH_SUFFIXES include
    DOC "The folder that holds hip/hip_runtime_api.h")
mark_as_advanced(TARN_HIP_INCLUDE_DIR)

if(TARN_HIP_INCLUDE_DIR AND NOT TARGET tarn_hip)
    add_library(tarn_hip INTERFACE IMPORTED)
    target_include_directories(tarn_hip INTERFACE ${TARN_HIP_INCLUDE_DIR})
    foreach(part MAJOR MINOR)
        file(STRINGS ${TARN_HIP_INCLUDE_DIR}/hip/hip_version.h line
            REGEX "^#define HIP_VERSION_${part} +[0-9]+")
        string(REGEX MATCH "[0-9]+$" tarn_hip_version_${part} "${line}")
    endforeach()
    set(tarn_hip_version ${tarn_hip_version_MAJOR}.${tarn_hip_version_MINOR})
endif()

if(TARN_HIP_PLATFORM STREQUAL "amd")
    find_library(TARN_HIP_LIBRARY amdhip64 ${tarn_hip_places} PATH_SUFFIXES lib lib64
        DOC "The HIP runtime of AMD, libamdhip64")
    mark_as_advanced(TARN_HIP_LIBRARY)
    if(TARN_HIP_INCLUDE_DIR AND TARN_HIP_LIBRARY)
        target_compile_definitions(tarn_hip INTERFACE __HIP_PLATFORM_AMD__=1)
        target_link_libraries(tarn_hip INTERFACE ${TARN_HIP_LIBRARY})
        get_filename_component(tarn_vendor_folder ${TARN_HIP_LIBRARY} DIRECTORY)
        set(tarn_vendor_found "${tarn_hip_version} for AMD")
        set(tarn_vendor_pc "-lamdhip64")
    else()
        string(CONCAT tarn_vendor_missing
            "HIP (hip/hip_runtime_api.h and libamdhip64), and it was not found. "
            "Install it: package libamdhip64-dev on Debian and Ubuntu, or ROCm from "
            "https://rocm.docs.amd.com. If it is in an unusual place, set ROCM_PATH to its folder, by "
            "-DROCM_PATH=<folder> or in the environment, or add the folder to CMAKE_PREFIX_PATH.")
    endif()
elseif(TARN_HIP_PLATFORM STREQUAL "nvidia")
    find_package(CUDAToolkit 13.0 QUIET)
    if(TARN_HIP_INCLUDE_DIR AND EXISTS ${TARN_HIP_INCLUDE_DIR}/hip/nvidia_detail AND
       TARGET CUDA::cudart)
        target_compile_definitions(tarn_hip INTERFACE __HIP_PLATFORM_NVIDIA__=1)
        # Who links an installed tarn reads none of HIP's headers, and has not this file.
        set(tarn_hip_prelude ${CMAKE_CURRENT_LIST_DIR}/../src/backend_hip/hip_over_cuda.h)
        if(EXISTS ${tarn_hip_prelude})
            target_compile_options(tarn_hip INTERFACE
                "$<$<COMPILE_LANGUAGE:C>:SHELL:-include ${tarn_hip_prelude}>")
        endif()
        target_link_libraries(tarn_hip INTERFACE CUDA::cudart)
        set(tarn_vendor_found
            "${tarn_hip_version} for NVIDIA, toolkit ${CUDAToolkit_VERSION}")
        set(tarn_vendor_folder ${CUDAToolkit_LIBRARY_DIR})
        set(tarn_vendor_pc "-lcudart")
    else()
        string(CONCAT tarn_vendor_missing
            "with TARN_HIP_PLATFORM=nvidia HIP's headers for NVIDIA (hip/nvidia_detail of HIP 5.2 to "
            "5.7) and the CUDA toolkit 13 or newer, and did not find both. Install them: packages "
            "libamdhip64-dev of Debian 12 or 13 and nvidia-cuda-toolkit, or the toolkit from "
            "https://developer.nvidia.com/cuda-downloads. If they are in unusual places, set ROCM_PATH and "
            "CUDAToolkit_ROOT to their folders, by -D or in the environment.")
    endif()
else()
    set(tarn_vendor_missing "TARN_HIP_PLATFORM=amd or nvidia, not ${TARN_HIP_PLATFORM}.")
endif()
