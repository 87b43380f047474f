/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * size_text: numbers, sizes and shares as variables and options have them. It is all in this header, so that programs
 * that contain nothing else of the library have it too.
 *
 * Outputs are written only on success. Threads: any. Cost: O(length).
 */
#ifndef TN_SIZE_TEXT_H
#define TN_SIZE_TEXT_H

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../arith.h"

/* Parses the digits that a text begins with. Digits only: strtoull would take a sign and leading blanks. */
static inline bool tn_size_text_parse_number(const char *text, size_t *number_out,
                                             const char **rest_out)
{
    if (!isdigit((unsigned char)text[0])) return false;
    char *rest;
    errno = 0;
    unsigned long long number = strtoull(text, &rest, 10);
    if (errno != 0 || number > SIZE_MAX) return false;
    *number_out = (size_t)number;
    *rest_out = rest;
    return true;
}

/* Parses 123, 64K, 700M, 2G, 1T, and 700MiB; not 700MB, which some take for a million. */
static inline bool tn_size_text_parse_bytes(const char *text, size_t *bytes_out)
{
    static const char suffixes[] = "KMGT";
    size_t number, unit = 1;
    const char *rest;
    if (!tn_size_text_parse_number(text, &number, &rest)) return false;
    const char *suffix = *rest ? strchr(suffixes, toupper((unsigned char)*rest)) : NULL;
    if (suffix) {
        unit = (size_t)1 << 10 * (suffix - suffixes + 1);
        rest += strcmp(rest + 1, "iB") == 0 ? 3 : 1;
    }
    return *rest == '\0' && tn_multiply_fits(number, unit, bytes_out);
}

/* Parses 1% to 100%. */
static inline bool tn_size_text_parse_percent(const char *text, unsigned *percent_out)
{
    size_t number;
    const char *rest;
    if (!tn_size_text_parse_number(text, &number, &rest) || strcmp(rest, "%") != 0) return false;
    if (number < 1 || number > 100) return false;
    *percent_out = (unsigned)number;
    return true;
}

#endif
