/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* deflate: literals and repeats, in the fixed code, which needs no table in the file. */
#include "deflate.h"

#include <string.h>

#include "../base/assert.h"

#define REPEAT_MIN 4
#define REPEAT_MAX 258

/* --- bits ------------------------------------------------------------------------------------------- */

static void put_bits(struct tn_deflate *deflate, uint32_t bits, unsigned count)
{
    deflate->bits |= (uint64_t)bits << deflate->bit_count;
    deflate->bit_count += count;
    while (deflate->bit_count >= 8) {
        deflate->out[deflate->out_bytes++] = (unsigned char)deflate->bits;
        deflate->bits >>= 8;
        deflate->bit_count -= 8;
    }
}

/* The format stores codes from their highest bit on, all else from the lowest. */
static unsigned reverse(unsigned code, unsigned count)
{
    unsigned reversed = 0;
    for (unsigned i = 0; i < count; i++)
        reversed |= (code >> i & 1) << (count - 1 - i);
    return reversed;
}

/* --- symbols ---------------------------------------------------------------------------------------- */

static void set_codes(struct tn_deflate *deflate, unsigned first, unsigned end, unsigned code,
                      unsigned count)
{
    for (unsigned symbol = first; symbol < end; symbol++) {
        deflate->codes[symbol] = (uint16_t)reverse(code + symbol - first, count);
        deflate->code_bits[symbol] = (uint8_t)count;
    }
}

static void put_symbol(struct tn_deflate *deflate, unsigned symbol)
{
    put_bits(deflate, deflate->codes[symbol], deflate->code_bits[symbol]);
}

/* Values come in groups, 1 << part_log2 for each power of two. Returns the group, and how many bits remain. */
static unsigned group_of(unsigned value, unsigned part_log2, unsigned *extra_bits_out)
{
    unsigned highest = value ? 31U ^ (unsigned)__builtin_clz(value) : 0;
    *extra_bits_out = highest > part_log2 ? highest - part_log2 : 0;
    return (*extra_bits_out << part_log2) + (value >> *extra_bits_out);
}

static void put_repeat(struct tn_deflate *deflate, unsigned length, unsigned distance)
{
    unsigned extra_bits, value = length - 3;
    if (length == REPEAT_MAX) {
        put_symbol(deflate, 285);
    } else {
        unsigned group = group_of(value, 2, &extra_bits);
        put_symbol(deflate, 257 + group);
        put_bits(deflate, value & ((1U << extra_bits) - 1), extra_bits);
    }
    value = distance - 1;
    unsigned group = group_of(value, 1, &extra_bits);
    put_bits(deflate, reverse(group, 5), 5);
    put_bits(deflate, value & ((1U << extra_bits) - 1), extra_bits);
}

/* --- blocks ----------------------------------------------------------------------------------------- */

void tn_deflate_init(struct tn_deflate *deflate)
{
    memset(deflate, 0, sizeof *deflate);
    set_codes(deflate, 0, 144, 0x30, 8);
    set_codes(deflate, 144, 256, 0x190, 9);
    set_codes(deflate, 256, 280, 0, 7);
    set_codes(deflate, 280, 288, 0xc0, 8);
}

static unsigned hash_of(const unsigned char *bytes)
{
    uint32_t word;
    memcpy(&word, bytes, sizeof word);
    return word * 0x9e3779b1U >> (32 - TN_DEFLATE_TABLE_LOG2);
}

/* Returns how many bytes from `place` on repeat those from `earlier` on. */
static unsigned repeat_length(const unsigned char *bytes, size_t count, size_t earlier,
                              size_t place)
{
    size_t most = count - place < REPEAT_MAX ? count - place : REPEAT_MAX;
    size_t length = 0;
    while (length < most && bytes[earlier + length] == bytes[place + length])
        length++;
    return (unsigned)length;
}

/* Returns the length of the repeat at `place`, at least REPEAT_MIN, and its distance; or 0. */
static unsigned find_repeat(struct tn_deflate *deflate, const unsigned char *bytes, size_t count,
                            size_t place, unsigned *distance_out)
{
    if (count - place < REPEAT_MIN) return 0;
    uint16_t *entry = &deflate->table[hash_of(bytes + place)];
    size_t earlier = *entry;
    *entry = (uint16_t)(place + 1);
    if (earlier == 0) return 0;
    unsigned length = repeat_length(bytes, count, earlier - 1, place);
    *distance_out = (unsigned)(place - (earlier - 1));
    return length >= REPEAT_MIN ? length : 0;
}

size_t tn_deflate_block(struct tn_deflate *deflate, const unsigned char *bytes, size_t count,
                        bool is_last, unsigned char *out)
{
    TN_ASSERT(count <= TN_DEFLATE_BLOCK_BYTES_MAX);
    deflate->out = out;
    deflate->out_bytes = 0;
    memset(deflate->table, 0, sizeof deflate->table);
    put_bits(deflate, is_last, 1);
    put_bits(deflate, 1, 2);
    for (size_t place = 0; place < count;) {
        unsigned distance = 0;
        unsigned length = find_repeat(deflate, bytes, count, place, &distance);
        if (length > 0)
            put_repeat(deflate, length, distance);
        else
            put_symbol(deflate, bytes[place]);
        place += length > 0 ? length : 1;
    }
    put_symbol(deflate, 256);
    if (is_last && deflate->bit_count > 0) put_bits(deflate, 0, 8 - deflate->bit_count);
    return deflate->out_bytes;
}

/* --- checksum --------------------------------------------------------------------------------------- */

void tn_crc32_init(struct tn_crc32 *crc)
{
    crc->value = 0;
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t remainder = byte;
        for (int bit = 0; bit < 8; bit++)
            remainder = remainder >> 1 ^ (remainder & 1 ? 0xedb88320 : 0);
        crc->remainders[byte] = remainder;
    }
}

void tn_crc32_add(struct tn_crc32 *crc, const unsigned char *bytes, size_t count)
{
    uint32_t value = ~crc->value;
    for (size_t i = 0; i < count; i++)
        value = crc->remainders[(value ^ bytes[i]) & 0xff] ^ value >> 8;
    crc->value = ~value;
}
