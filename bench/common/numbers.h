/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* numbers: decimal numbers, sizes and lists of them from text. Strict: no sign, no spaces. */
#ifndef TN_NUMBERS_H
#define TN_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reason.h"

enum tn_number_result {
    TN_NUMBER_OK,
    TN_NUMBER_MALFORMED,
    TN_NUMBER_OVERFLOW /* does not fit in 64 bits */
};

/* Exactly these `length` characters, all of them digits. */
enum tn_number_result tn_number_parse(const char *text, size_t length, uint64_t *number_out);

/* The same with an optional suffix K, M, G or T for powers of 1024. */
enum tn_number_result tn_size_parse(const char *text, size_t length, uint64_t *bytes_out);

struct tn_size_text {
    char text[24];
};

/* A size as tn_size_parse reads it, "16M": with the largest suffix that leaves a whole number. */
struct tn_size_text tn_size_show(uint64_t bytes);

#define TN_NUMBER_LIST_MAX 64

struct tn_number_list {
    size_t count;
    uint64_t values[TN_NUMBER_LIST_MAX];
};

/* The list, or another one when it is empty. */
const struct tn_number_list *tn_number_list_or(const struct tn_number_list *list,
                                               const struct tn_number_list *otherwise);

typedef enum tn_number_result (*tn_number_parser)(const char *text, size_t length,
                                                  uint64_t *number_out);

/* Numbers with commas between them, each from `min` to `max`. The reason names the one that is
 * wrong. */
bool tn_number_list_parse(const char *text, tn_number_parser parse, uint64_t min, uint64_t max,
                          struct tn_number_list *list_out, struct tn_reason *reason_out);

#endif
