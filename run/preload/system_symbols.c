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

/* "libc.so.6"; before glibc 2.34 the functions were in "libdl.so.2". */
static bool is_system_library(const struct link_map *library)
{
    const char *name = library->l_name ? library->l_name : "";
    for (const char *i = name; *i != '\0'; i++) {
        if (*i == '/') name = i + 1;
    }
    return begins_with(name, "libc.so") || begins_with(name, "libdl.so");
}

bool tn_system_symbols_find(void)
{
    if (atomic_load_explicit(&is_found, memory_order_acquire)) return true;
    struct symbol_table table;
    for (const struct link_map *map = _r_debug.r_map; map; map = map->l_next) {
        if (!is_system_library(map) || !symbol_table_init(&table, map)) continue;
        void *dlsym_symbol = symbol_table_find(&table, "dlsym");
        void *dlvsym_symbol = symbol_table_find(&table, "dlvsym");
        if (!dlsym_symbol || !dlvsym_symbol) continue;
        tn_system_symbols.dlsym = (void *(*)(void *, const char *))(uintptr_t)dlsym_symbol;
        tn_system_symbols.dlvsym =
            (void *(*)(void *, const char *, const char *))(uintptr_t)dlvsym_symbol;
        atomic_store_explicit(&is_found, true, memory_order_release);
        return true;
    }
    return false;
}
