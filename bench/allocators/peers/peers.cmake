# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Looks for the allocators of others that tarn-bench compares, and sets
#   peer_sources      their adapters; for a missing one the file that says why
#   peer_libraries    what they are linked with
# A build for a device leaves out those that give memory of the host alone, but for the C library's malloc: it can be
# named beside the vendor's calls.

set(peer_sources)
set(peer_libraries)

# --- malloc's kind, on the host ---------------------------------------------------------------------

# The thread sanitizer does not see how these two synchronise threads, and reports races.
set(looks_for_mallocs ON)
if(tarn_vendor OR CMAKE_C_FLAGS MATCHES "sanitize=thread")
    set(looks_for_mallocs OFF)
endif()

# jemalloc as one object whose only names are tn_jemalloc_*: allocator_jemalloc.c says why.
if(looks_for_mallocs)
    find_library(TARN_JEMALLOC_ARCHIVE NAMES libjemalloc_pic.a)
    mark_as_advanced(TARN_JEMALLOC_ARCHIVE)
endif()
if(looks_for_mallocs AND TARN_JEMALLOC_ARCHIVE AND CMAKE_OBJCOPY)
    set(private_jemalloc ${CMAKE_CURRENT_BINARY_DIR}/private_jemalloc.o)
    set(renamed)
    set(kept)
    foreach(name malloc free mallctl)
        list(APPEND renamed --redefine-sym ${name}=tn_jemalloc_${name})
        list(APPEND kept --keep-global-symbol=tn_jemalloc_${name})
    endforeach()
    add_custom_command(OUTPUT ${private_jemalloc}
        COMMAND ${CMAKE_C_COMPILER} -r -nostdlib -Wl,-u,malloc -o ${private_jemalloc} ${TARN_JEMALLOC_ARCHIVE}
        COMMAND ${CMAKE_OBJCOPY} ${renamed} ${private_jemalloc}
        COMMAND ${CMAKE_OBJCOPY} ${kept} ${private_jemalloc} # LLVM's would keep by the names before
        DEPENDS ${TARN_JEMALLOC_ARCHIVE}
        VERBATIM)
    list(APPEND peer_sources allocators/peers/allocator_jemalloc.c ${private_jemalloc})
    set_source_files_properties(${private_jemalloc} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
else()
    list(APPEND peer_sources allocators/peers/allocator_jemalloc_none.c)
endif()

if(looks_for_mallocs)
    find_library(TARN_MIMALLOC_LIBRARY mimalloc)
    mark_as_advanced(TARN_MIMALLOC_LIBRARY)
endif()
if(looks_for_mallocs AND TARN_MIMALLOC_LIBRARY)
    list(APPEND peer_sources allocators/peers/allocator_mimalloc.c)
    list(APPEND peer_libraries ${CMAKE_DL_LIBS})
    set_source_files_properties(allocators/peers/allocator_mimalloc.c PROPERTIES
        COMPILE_DEFINITIONS "TN_MIMALLOC_LIBRARY=\"${TARN_MIMALLOC_LIBRARY}\"")
else()
    list(APPEND peer_sources allocators/peers/allocator_mimalloc_none.c)
endif()

list(APPEND peer_sources allocators/peers/allocator_libc_malloc.c allocators/peers/malloc_peer.c)

# --- pools for devices and hosts, by find_package ---------------------------------------------------

if(CMAKE_CXX_COMPILER)
    find_package(umpire QUIET CONFIG)
endif()
if(umpire_FOUND)
    message(STATUS "tarn-bench compares Umpire ${umpire_VERSION}")
    list(APPEND peer_sources allocators/peers/allocator_umpire.cpp)
    list(APPEND peer_libraries umpire)
else()
    list(APPEND peer_sources allocators/peers/allocator_umpire_none.c)
endif()

find_package(umf 1 QUIET CONFIG)
if(umf_FOUND)
    message(STATUS "tarn-bench compares the Unified Memory Framework ${umf_VERSION}")
    list(APPEND peer_sources allocators/peers/allocator_umf.c)
    list(APPEND peer_libraries umf::umf)
else()
    list(APPEND peer_sources allocators/peers/allocator_umf_none.c)
endif()
