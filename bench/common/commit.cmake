# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Writes commit.c, unless it already says the same: cmake -D SOURCE_DIR=... -D COMMIT=... -D OUTPUT=... -P
# COMMIT is taken as it is unless it is empty; then git is asked, if the sources are a repository of their own.

if(NOT COMMIT)
    set(COMMIT unknown)
    find_package(Git QUIET)
    if(GIT_FOUND AND EXISTS ${SOURCE_DIR}/.git)
        execute_process(COMMAND ${GIT_EXECUTABLE} describe --always --dirty --abbrev=10 --exclude=*
            WORKING_DIRECTORY ${SOURCE_DIR}
            OUTPUT_VARIABLE described OUTPUT_STRIP_TRAILING_WHITESPACE
            RESULT_VARIABLE error ERROR_QUIET)
        if(NOT error)
            set(COMMIT ${described})
        endif()
    endif()
endif()

set(text "/* Written by commit.cmake. */\n#include \"common/commit.h\"\n\n")
string(APPEND text "const char *const tn_bench_commit = \"${COMMIT}\";\n")
set(before "")
if(EXISTS ${OUTPUT})
    file(READ ${OUTPUT} before)
endif()
if(NOT before STREQUAL text)
    file(WRITE ${OUTPUT} "${text}")
endif()
