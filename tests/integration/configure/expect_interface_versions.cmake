# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Usage: cmake -DTARN_SOURCE=FOLDER -P expect_interface_versions.cmake
# The part of a version that is in the soname.
include(${TARN_SOURCE}/cmake/TarnVersion.cmake)

function(expect version expected)
    tarn_interface_version(${version} part)
    if(NOT "${part}" STREQUAL "${expected}")
        message(FATAL_ERROR "the interface of version ${version} is ${part}, not ${expected}")
    endif()
endfunction()

expect(0.1.0 0.1)
expect(0.1.12 0.1)
expect(0.20.3 0.20)
expect(1.0.0 1)
expect(1.2.3 1)
expect(10.0.1 10)
