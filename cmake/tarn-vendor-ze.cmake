# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# tarn-vendor-ze: the Level Zero loader. Read by TarnBackend.cmake, which says what it has to set, and
# by the installed tarn-config.cmake.
#
# tarn loads the loader at run time and has declarations of its own, so nothing is looked for. If TARN_LINK_VENDOR is ON,
# tarn is linked with the loader.

set(tarn_vendor_missing)
set(tarn_vendor_folder)
set(tarn_vendor_settings TARN_LINK_VENDOR)
set(tarn_vendor_target ${CMAKE_DL_LIBS})
list(TRANSFORM tarn_vendor_target PREPEND "-l" OUTPUT_VARIABLE tarn_vendor_pc)
if(NOT TARN_LINK_VENDOR)
    set(tarn_vendor_found "loads libze_loader.so.1 at run time")
    return()
endif()

find_library(TARN_ZE_LIBRARY ze_loader PATH_SUFFIXES lib64)
mark_as_advanced(TARN_ZE_LIBRARY)
if(TARN_ZE_LIBRARY)
    if(NOT TARGET LevelZero::ze_loader)
        add_library(LevelZero::ze_loader UNKNOWN IMPORTED)
        set_target_properties(LevelZero::ze_loader PROPERTIES IMPORTED_LOCATION ${TARN_ZE_LIBRARY})
    endif()
    get_filename_component(tarn_vendor_folder ${TARN_ZE_LIBRARY} DIRECTORY)
    list(PREPEND tarn_vendor_target LevelZero::ze_loader)
    set(tarn_vendor_found "loader ${TARN_ZE_LIBRARY}")
    string(PREPEND tarn_vendor_pc "-lze_loader ")
else()
    string(CONCAT tarn_vendor_missing
        "the Level Zero loader to link with, libze_loader, and it was not found. Install it: package libze-dev on "
        "Debian, level-zero-dev on Ubuntu, or from https://github.com/oneapi-src/level-zero. If it is in an unusual "
        "place, set CMAKE_PREFIX_PATH to its folder, by -DCMAKE_PREFIX_PATH=<folder> or in the environment.")
endif()
