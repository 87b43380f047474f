# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# TarnVersion: the version stands in one place, the public header.

# Reads TARN_VERSION_MAJOR, _MINOR and _PATCH from `header` and sets `out_name` to "major.minor.patch".
function(tarn_read_version header out_name)
    set(parts)
    foreach(part MAJOR MINOR PATCH)
        file(STRINGS ${header} line REGEX "^#define TARN_VERSION_${part} +[0-9]+$")
        if(NOT line MATCHES "([0-9]+)$")
            message(FATAL_ERROR "${header} has no line '#define TARN_VERSION_${part} <number>'")
        endif()
        list(APPEND parts ${CMAKE_MATCH_1})
    endforeach()
    list(JOIN parts . version)
    set(${out_name} ${version} PARENT_SCOPE)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header})
endfunction()

# Sets `out_name` to the part of a version that changes with the binary interface, for the soname: "major", and before
# 1.0 "0.minor".
function(tarn_interface_version version out_name)
    if(version MATCHES "^0\\.[0-9]+")
        set(${out_name} ${CMAKE_MATCH_0} PARENT_SCOPE)
    else()
        string(REGEX MATCH "^[0-9]+" major ${version})
        set(${out_name} ${major} PARENT_SCOPE)
    endif()
endfunction()
