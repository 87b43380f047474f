# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Fails when FOLDER holds a test_NAME.py whose NAME is not LISTED, for then nothing would run it.

cmake_minimum_required(VERSION 3.21)

file(GLOB files RELATIVE ${FOLDER} ${FOLDER}/test_*.py)
foreach(file IN LISTS files)
    string(REGEX REPLACE "^test_(.*)\\.py$" "\\1" name ${file})
    if(NOT name IN_LIST LISTED)
        message(FATAL_ERROR "no list in ${FOLDER}/CMakeLists.txt names ${file}")
    endif()
endforeach()
