# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# TarnInstall: the install target. What it makes may be moved afterwards: neither the CMake package
# nor the pkg-config file names the folder that it was installed to.

include(CMakePackageConfigHelpers)

set(tarn_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tarn)

# --- library and headers ----------------------------------------------------------------------------

install(TARGETS tarn EXPORT tarn-targets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

# A vendor's header comes with that vendor's backend only.
install(DIRECTORY include/tarn DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    FILES_MATCHING PATTERN "*.h" PATTERN "*.cuh"
    REGEX "/(cuda|hip|ze)\\.h$" EXCLUDE REGEX "_compat\\.h$" EXCLUDE)
foreach(name IN LISTS tarn_vendors)
    string(TOLOWER ${name} name)
    install(FILES include/tarn/${name}.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tarn)
    if(name MATCHES "^(cuda|hip)$")
        install(FILES include/tarn/${name}_compat.h include/tarn/vendor_compat.h
            DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tarn)
    endif()
endforeach()

install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
# The headers name sections of docs/semantics.md.
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md" PATTERN decisions EXCLUDE)

# --- CMake package: find_package(tarn), tarn::tarn --------------------------------------------------

install(EXPORT tarn-targets NAMESPACE tarn:: DESTINATION ${tarn_package_dir})
configure_package_config_file(cmake/tarn-config.cmake.in ${PROJECT_BINARY_DIR}/tarn-config.cmake
    INSTALL_DESTINATION ${tarn_package_dir})
# As for the soname: until 1.0 a minor version may change the interface.
if(PROJECT_VERSION_MAJOR EQUAL 0)
    set(tarn_compatibility SameMinorVersion)
else()
    set(tarn_compatibility SameMajorVersion)
endif()
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tarn-config-version.cmake
    COMPATIBILITY ${tarn_compatibility})
install(FILES ${PROJECT_BINARY_DIR}/tarn-config.cmake
              ${PROJECT_BINARY_DIR}/tarn-config-version.cmake
    DESTINATION ${tarn_package_dir})

# --- pkg-config: tarn.pc ----------------------------------------------------------------------------

# From the folder of tarn.pc to the others, so that the file holds wherever they are moved to.
foreach(place PREFIX FULL_LIBDIR FULL_INCLUDEDIR)
    file(RELATIVE_PATH tarn_pc_to_${place}
        ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_${place}})
    string(REGEX REPLACE "/$" "" tarn_pc_to_${place} ${tarn_pc_to_${place}})
endforeach()

set(tarn_pc_needs "${CMAKE_THREAD_LIBS_INIT}")
foreach(library IN LISTS CMAKE_DL_LIBS)
    string(APPEND tarn_pc_needs " -l${library}")
endforeach()
string(APPEND tarn_pc_needs " ${tarn_vendor_pc}")
string(STRIP "${tarn_pc_needs}" tarn_pc_needs)
# Who links the archive needs what it needs. Then it must stand in Libs, since pkg-config without
# --static reads nothing else.
if(BUILD_SHARED_LIBS)
    set(tarn_pc_libs_private "${tarn_pc_needs}")
    set(tarn_pc_libs "")
else()
    set(tarn_pc_libs_private "")
    set(tarn_pc_libs " ${tarn_pc_needs}")
endif()
configure_file(cmake/tarn.pc.in ${PROJECT_BINARY_DIR}/tarn.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/tarn.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# --- manual pages and completion: from the help of the programs ------------------------------------------

set(tarn_about_tarn-bench "compares memory allocators for devices")
set(tarn_about_tarn-record "records the allocations of a program on devices")
set(tarn_about_tarn-run "runs a CUDA or HIP program with its memory from tarn's pools")
set(tarn_about_tarn-map "draws the memory of pools")
set(tarn_about_tarn-report "makes a page of the results of tarn-bench")
set(tarn_about_tarn-trace "examines and changes recorded traces")

find_program(HELP2MAN help2man)
mark_as_advanced(HELP2MAN)
set(tarn_pages)
foreach(program tarn-bench tarn-record tarn-run tarn-map tarn-report tarn-trace)
    if(TARGET ${program})
        set(file $<TARGET_FILE:${program}>)
    elseif(TARN_BUILD_TOOLS AND EXISTS ${PROJECT_SOURCE_DIR}/tools/${program})
        set(file ${PROJECT_SOURCE_DIR}/tools/${program})
    else()
        continue()
    endif()
    install(FILES cmake/tarn-completion.bash
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME ${program})
    if(HELP2MAN AND NOT CMAKE_CROSSCOMPILING)
        set(page ${PROJECT_BINARY_DIR}/man/${program}.1)
        add_custom_command(OUTPUT ${page}
            COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/man
            COMMAND ${HELP2MAN} --no-info --name "${tarn_about_${program}}" --output ${page} ${file}
            DEPENDS ${file} VERBATIM)
        list(APPEND tarn_pages ${page})
    endif()
endforeach()
if(tarn_pages)
    add_custom_target(tarn_pages ALL DEPENDS ${tarn_pages})
    # Who builds the library alone installs no pages.
    install(FILES ${tarn_pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 OPTIONAL)
endif()
