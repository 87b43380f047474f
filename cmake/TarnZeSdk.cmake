# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# TarnZeSdk: looks for Level Zero's headers and loader, for tests that call it; the library needs neither. Sets
# tarn_sdk_target where they are found, or tarn_sdk_missing.

set(tarn_sdk_missing)
find_path(TARN_ZE_INCLUDE level_zero/ze_api.h)
find_library(TARN_ZE_LIBRARY ze_loader PATH_SUFFIXES lib64)
mark_as_advanced(TARN_ZE_INCLUDE TARN_ZE_LIBRARY)
if(TARN_ZE_INCLUDE AND TARN_ZE_LIBRARY)
    if(NOT TARGET tarn_ze)
        add_library(tarn_ze INTERFACE IMPORTED GLOBAL)
        target_include_directories(tarn_ze INTERFACE ${TARN_ZE_INCLUDE})
        target_link_libraries(tarn_ze INTERFACE ${TARN_ZE_LIBRARY})
    endif()
    set(tarn_sdk_target tarn_ze)
else()
    string(CONCAT tarn_sdk_missing
        "Level Zero (level_zero/ze_api.h and libze_loader): package libze-dev on Debian, level-zero-dev on Ubuntu, or from "
        "https://github.com/oneapi-src/level-zero. If it is in an unusual place, set CMAKE_PREFIX_PATH to its folder")
endif()
