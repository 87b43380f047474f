# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# TarnKokkos: programs in Kokkos, where it is installed; the library needs none of it.

# tarn_find_kokkos(): sets Kokkos_FOUND, and Kokkos_DEVICES to the backends of Kokkos, in the calling folder.
macro(tarn_find_kokkos)
    set(Kokkos_FOUND FALSE)
    if(CMAKE_CXX_COMPILER)
        set(CMAKE_CXX_EXTENSIONS OFF) # Kokkos would say so, and set it for the whole project
        find_package(Kokkos QUIET CONFIG)
    endif()
    if(Kokkos_FOUND)
        # Trilinos' own names a folder that is not there, and says by a variable where the headers are.
        get_target_property(tarn_kokkos_folders Kokkos::kokkos INTERFACE_INCLUDE_DIRECTORIES)
        set(tarn_kokkos_there)
        foreach(tarn_kokkos_folder IN LISTS tarn_kokkos_folders)
            if(NOT IS_ABSOLUTE "${tarn_kokkos_folder}" OR IS_DIRECTORY "${tarn_kokkos_folder}")
                list(APPEND tarn_kokkos_there "${tarn_kokkos_folder}")
            endif()
        endforeach()
        set_target_properties(Kokkos::kokkos PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${tarn_kokkos_there}")
    endif()
endmacro()

# tarn_link_kokkos(<target>): its headers do not pass our warnings.
function(tarn_link_kokkos target)
    target_include_directories(${target} SYSTEM PRIVATE ${Kokkos_INCLUDE_DIRS})
    target_link_libraries(${target} PRIVATE Kokkos::kokkos)
endfunction()
