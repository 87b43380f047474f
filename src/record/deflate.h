/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * deflate: compresses blocks of bytes by the fixed code of RFC 1951. Looks for repeats in the same block
 * only, at the last place that had the same four bytes.
 *
 * Cost: O(bytes). Allocates no memory.
 */
#ifndef TN_DEFLATE_H
#define TN_DEFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TN_DEFLATE_BLOCK_BYTES_MAX 32768
/* At most 9 bits for each byte, plus head and end of a block and the remainder of the block before. */
#define TN_DEFLATE_OUT_BYTES_MAX (TN_DEFLATE_BLOCK_BYTES_MAX / 8 * 9 + 64)
#define TN_DEFLATE_TABLE_LOG2    13

struct tn_deflate {
    uint64_t bits; /* bits that do not fill a byte yet */
    unsigned bit_count;
    unsigned char *out;
    size_t out_bytes;
    /* The fixed code, in the order in which its bits are stored, and its lengths. */
    uint16_t codes[288];
    uint8_t code_bits[288];
    /* By hash of four bytes: 1 + the place in the block where they stood last. */
    uint16_t table[1 << TN_DEFLATE_TABLE_LOG2];
};

void tn_deflate_init(struct tn_deflate *deflate);

/* Compresses up to TN_DEFLATE_BLOCK_BYTES_MAX bytes into `out`, which has room for TN_DEFLATE_OUT_BYTES_MAX.
 * Returns the number of whole bytes written; the last block writes all remaining bits. */
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
