# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# HIP's face, tarn_sim_hip: a library with the file name and the version nodes of libamdhip64.

set(soname libamdhip64.so.${tarn_hip_version_MAJOR})
add_library(tarn_sim_hip MODULE
    ${CMAKE_CURRENT_LIST_DIR}/../sim_runtime.c
    ${CMAKE_CURRENT_LIST_DIR}/../sim_runtime_pool.c
    ${CMAKE_CURRENT_LIST_DIR}/sim_hip_range.c
    ${CMAKE_CURRENT_LIST_DIR}/sim_hip_runtime.c)
set_target_properties(tarn_sim_hip PROPERTIES
    PREFIX ""
    OUTPUT_NAME ${soname}
    SUFFIX ""
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/sim/hip
    LINK_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/libamdhip64.map)
target_include_directories(tarn_sim_hip SYSTEM PRIVATE ${TARN_HIP_INCLUDE_DIR})
target_compile_definitions(tarn_sim_hip PRIVATE __HIP_PLATFORM_AMD__=1)
target_link_libraries(tarn_sim_hip PRIVATE tarn_sim)
target_link_options(tarn_sim_hip PRIVATE
    LINKER:-soname,${soname}
    LINKER:--version-script=${CMAKE_CURRENT_LIST_DIR}/libamdhip64.map)
