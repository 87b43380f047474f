# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# tarn-vendor-ze: the Level Zero loader. Read by TarnBackend.cmake, which says what it has to set, and
# by the installed tarn-config.cmake.
#
# The loader, never a driver: a program then starts on machines without one.

set(tarn_vendor_missing)
find_path(TARN_ZE_INCLUDE level_zero/ze_api.h)
find_library(TARN_ZE_LIBRARY ze_loader PATH_SUFFIXES lib64)
mark_as_advanced(TARN_ZE_INCLUDE TARN_ZE_LIBRARY)
if(TARN_ZE_INCLUDE AND TARN_ZE_LIBRARY)
    if(NOT TARGET LevelZero::ze_loader)
        add_library(LevelZero::ze_loader UNKNOWN IMPORTED)
        # What newer loaders have is looked up in the one that is there, by dlsym.
        set_target_properties(LevelZero::ze_loader PROPERTIES
            IMPORTED_LOCATION ${TARN_ZE_LIBRARY}
            INTERFACE_INCLUDE_DIRECTORIES ${TARN_ZE_INCLUDE}
            INTERFACE_LINK_LIBRARIES "${CMAKE_DL_LIBS}")
    endif()
    get_filename_component(tarn_vendor_folder ${TARN_ZE_LIBRARY} DIRECTORY)
    set(tarn_vendor_target LevelZero::ze_loader)
    set(tarn_vendor_found "loader ${TARN_ZE_LIBRARY}")
    set(tarn_vendor_pc "-lze_loader")
    foreach(library IN LISTS CMAKE_DL_LIBS)
        string(APPEND tarn_vendor_pc " -l${library}")
    endforeach()
else()
    string(CONCAT tarn_vendor_missing
        "the Level Zero headers and loader (level_zero/ze_api.h and libze_loader), and they were not "
        "found. Install them: package libze-dev on Debian, level-zero-dev on Ubuntu, or from "
        "https://github.com/oneapi-src/level-zero. If they are in an unusual place, set CMAKE_PREFIX_PATH to its "
        "folder, by -DCMAKE_PREFIX_PATH=<folder> or in the environment.")
endif()
