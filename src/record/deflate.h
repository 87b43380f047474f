/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * deflate: compresses blocks of bytes by the fixed code of RFC 1951. Repeats are looked for in their own block alone,
 * at the one place where the same four bytes stood last.
 *
 * Cost: O(bytes); no memory but what is given.
 */
#ifndef TN_DEFLATE_H
#define TN_DEFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TN_DEFLATE_BLOCK_BYTES_MAX 32768
/* A byte takes 9 bits at most; and the head and end of a block, and what was left of the one before. */
#define TN_DEFLATE_OUT_BYTES_MAX (TN_DEFLATE_BLOCK_BYTES_MAX / 8 * 9 + 64)
#define TN_DEFLATE_TABLE_LOG2    13

struct tn_deflate {
    uint64_t bits; /* those that make no whole byte yet */
    unsigned bit_count;
    unsigned char *out;
    size_t out_bytes;
    /* The fixed code, as its bits are sent, and how many they are. */
    uint16_t codes[288];
    uint8_t code_bits[288];
    /* Where in the block four bytes with this hash stood last, plus one. */
    uint16_t table[1 << TN_DEFLATE_TABLE_LOG2];
};

void tn_deflate_init(struct tn_deflate *deflate);

/* Compresses up to TN_DEFLATE_BLOCK_BYTES_MAX bytes into `out`, which has room for TN_DEFLATE_OUT_BYTES_MAX. Returns
 * how many bytes there are; with the last block all that are left. */
size_t tn_deflate_block(struct tn_deflate *deflate, const unsigned char *bytes, size_t count,
                        bool is_last, unsigned char *out);

/* The checksum of gzip. */
struct tn_crc32 {
    uint32_t remainders[256];
    uint32_t value;
};

void tn_crc32_init(struct tn_crc32 *crc);
void tn_crc32_add(struct tn_crc32 *crc, const unsigned char *bytes, size_t count);

#endif
