/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * system_symbols: the look into the C library's symbol table, by its GNU hash.
 *
 * A sanitizer's runtime calls dlsym before its own replacements of strcmp and the like work. So no function of the C library
 * is called here, and the file is never instrumented.
 */
#include "system_symbols.h"

#include <elf.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct tn_system_symbols tn_system_symbols;
static atomic_bool is_found;

/* The parts of a library's dynamic section. */
struct symbol_table {
    const struct link_map *library;
    const ElfW(Sym) * symbols;
    const char *strings;
    const uint32_t *hash;
    const ElfW(Half) * versions; /* NULL: symbols have none */
};

/* An address is relocated, or is still an offset. */
static const void *at(const struct link_map *library, ElfW(Addr) address)
{
    if (address < library->l_addr) address += library->l_addr;
    return (const void *)address;
}

static bool symbol_table_init(struct symbol_table *table, const struct link_map *library)
{
    *table = (struct symbol_table){ .library = library };
    for (const ElfW(Dyn) *entry = library->l_ld; entry && entry->d_tag != DT_NULL; entry++) {
        const void *address = at(library, entry->d_un.d_ptr);
        if (entry->d_tag == DT_SYMTAB) table->symbols = address;
        if (entry->d_tag == DT_STRTAB) table->strings = address;
        if (entry->d_tag == DT_GNU_HASH) table->hash = address;
        if (entry->d_tag == DT_VERSYM) table->versions = address;
    }
    return table->symbols && table->strings && table->hash;
}

static uint32_t gnu_hash(const char *name)
{
    uint32_t hash = 5381;
    for (; *name != '\0'; name++)
        hash = hash * 33 + (unsigned char)*name;
    return hash;
}

static bool is_same(const char *text, const char *other)
{
    while (*text != '\0' && *text == *other) {
        text++;
        other++;
    }
    return *text == *other;
}

/* A hidden version is an older one, for programs that were linked to it. */
static bool is_current(const struct symbol_table *table, uint32_t index)
{
    const ElfW(Half) hidden = 0x8000;
    return !table->versions || (table->versions[index] & hidden) == 0;
}

static void *symbol_table_find(const struct symbol_table *table, const char *name)
{
    const uint32_t bucket_count = table->hash[0], first = table->hash[1];
    const size_t filter_words = table->hash[2] * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
    const uint32_t *buckets = table->hash + 4 + filter_words;
    const uint32_t *chains = buckets + bucket_count;
    const uint32_t hash = gnu_hash(name);
    uint32_t index = bucket_count > 0 ? buckets[hash % bucket_count] : 0;
    if (index < first) return NULL;
    for (;; index++) {
        const uint32_t other = chains[index - first];
        const ElfW(Sym) *symbol = &table->symbols[index];
        if ((other | 1) == (hash | 1) && symbol->st_shndx != SHN_UNDEF &&
            is_current(table, index) && is_same(table->strings + symbol->st_name, name))
            return (void *)(table->library->l_addr + symbol->st_value);
        if ((other & 1) != 0) return NULL; /* the end of the chain */
    }
}

static bool begins_with(const char *text, const char *begin)
{
    while (*begin != '\0' && *text == *begin) {
        text++;
        begin++;
    }
    return *begin == '\0';
}

static const char *file_name_of(const struct link_map *library)
{
    const char *name = library->l_name ? library->l_name : "";
    for (const char *i = name; *i != '\0'; i++) {
        if (*i == '/') name = i + 1;
    }
    return name;
}

/* "libc.so.6"; before glibc 2.34 the functions were in "libdl.so.2". */
static bool is_system_library(const struct link_map *library)
{
    const char *name = file_name_of(library);
    return begins_with(name, "libc.so") || begins_with(name, "libdl.so");
}

struct pair {
    void *dlsym, *dlvsym;
};

static bool find_pair(const struct link_map *library, struct pair *pair_out)
{
    struct symbol_table table;
    if (!symbol_table_init(&table, library)) return false;
    pair_out->dlsym = symbol_table_find(&table, "dlsym");
    pair_out->dlvsym = symbol_table_find(&table, "dlvsym");
    return pair_out->dlsym && pair_out->dlvsym;
}

/* The libraries are in the order in which the system searches them. Those that are preloaded come early. */
static bool find_pairs(struct pair *next_out, struct pair *system_out)
{
    bool is_behind = false, has_next = false;
    for (const struct link_map *map = _r_debug.r_map; map; map = map->l_next) {
        if (is_system_library(map) && find_pair(map, system_out)) {
            if (!has_next) *next_out = *system_out;
            return true;
        }
        if (is_behind && !has_next && begins_with(file_name_of(map), "libtarn_run_"))
            has_next = find_pair(map, next_out);
        if (map->l_ld == _DYNAMIC) is_behind = true; /* that is this library */
    }
    return false;
}

bool tn_system_symbols_find(void)
{
    struct pair next, system;
    if (atomic_load_explicit(&is_found, memory_order_acquire)) return true;
    if (!find_pairs(&next, &system)) return false;
    tn_system_symbols.dlsym = (void *(*)(void *, const char *))(uintptr_t)system.dlsym;
    tn_system_symbols.dlvsym =
        (void *(*)(void *, const char *, const char *))(uintptr_t)system.dlvsym;
    tn_system_symbols.next_dlsym = next.dlsym;
    tn_system_symbols.next_dlvsym = next.dlvsym;
    atomic_store_explicit(&is_found, true, memory_order_release);
    return true;
}
