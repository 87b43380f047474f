# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# TarnHipSdk: looks for HIP's headers and runtime, for tests and benchmark that call it; the library needs none. Sets
# tarn_sdk_target where they are found, or tarn_sdk_missing.
#
# HIP's own package, find_package(hip), is not asked: it wants C++, and brings ROCm's compiler along.
# They are looked for where ROCM_PATH, HIP_PATH, hip_DIR and CMAKE_PREFIX_PATH say, in the system's folders
# and in /opt/rocm.

set(tarn_sdk_missing)
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

find_library(TARN_HIP_LIBRARY amdhip64 ${tarn_hip_places} PATH_SUFFIXES lib lib64
    DOC "The HIP runtime of AMD, libamdhip64")
mark_as_advanced(TARN_HIP_LIBRARY)
if(TARN_HIP_INCLUDE_DIR AND TARN_HIP_LIBRARY)
    set_property(TARGET tarn_hip PROPERTY INTERFACE_COMPILE_DEFINITIONS __HIP_PLATFORM_AMD__=1)
    set_property(TARGET tarn_hip PROPERTY INTERFACE_LINK_LIBRARIES ${TARN_HIP_LIBRARY})
    set(tarn_sdk_target tarn_hip)
    set(tarn_sdk_found "HIP ${tarn_hip_version}")
else()
    string(CONCAT tarn_sdk_missing
        "HIP (hip/hip_runtime_api.h and libamdhip64): package libamdhip64-dev on Debian and Ubuntu, or ROCm from "
        "https://rocm.docs.amd.com. If it is in an unusual place, set ROCM_PATH to its folder, or add the folder to "
        "CMAKE_PREFIX_PATH")
endif()
