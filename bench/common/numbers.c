/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* numbers: decimal numbers, sizes and lists of them from text. */
#include "numbers.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum tn_number_result tn_number_parse(const char *text, size_t length, uint64_t *number_out)
{
    if (length == 0) return TN_NUMBER_MALFORMED;
    uint64_t number = 0;
    bool fits = true;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9') return TN_NUMBER_MALFORMED;
        fits = fits && !__builtin_mul_overflow(number, 10U, &number) &&
               !__builtin_add_overflow(number, (unsigned)(text[i] - '0'), &number);
    }
    if (!fits) return TN_NUMBER_OVERFLOW;
    *number_out = number;
    return TN_NUMBER_OK;
}

static const char suffixes[] = "KMGT";

enum tn_number_result tn_size_parse(const char *text, size_t length, uint64_t *bytes_out)
{
    unsigned shift = 0;
    if (length > 0 && text[length - 1] != '\0') {
        const char *suffix = strchr(suffixes, text[length - 1]);
        if (suffix) {
            shift = 10U * (unsigned)(suffix - suffixes + 1);
            length--;
        }
    }
    uint64_t number;
    enum tn_number_result result = tn_number_parse(text, length, &number);
    if (result != TN_NUMBER_OK) return result;
    if (number > UINT64_MAX >> shift) return TN_NUMBER_OVERFLOW;
    *bytes_out = number << shift;
    return TN_NUMBER_OK;
}

struct tn_size_text tn_size_show(uint64_t bytes)
{
    size_t suffix = 0;
    while (suffix < 4 && bytes > 0 && bytes % 1024 == 0) {
        bytes /= 1024;
        suffix++;
    }
    struct tn_size_text shown;
    snprintf(shown.text, sizeof shown.text, suffix ? "%" PRIu64 "%c" : "%" PRIu64, bytes,
             suffix ? suffixes[suffix - 1] : ' ');
    return shown;
}

static bool add_item(const char *item, size_t length, tn_number_parser parse, uint64_t min,
                     uint64_t max, struct tn_number_list *list, struct tn_reason *reason_out)
{
    uint64_t value;
    enum tn_number_result result = parse(item, length, &value);
    if (result == TN_NUMBER_MALFORMED) {
        tn_reason_set(reason_out, "'%.*s' is not a number", (int)length, item);
        return false;
    }
    if (result == TN_NUMBER_OVERFLOW || value < min || value > max) {
        tn_reason_set(reason_out, "%.*s is not from %" PRIu64 " to %" PRIu64, (int)length, item,
                      min, max);
        return false;
    }
    if (list->count == TN_NUMBER_LIST_MAX) {
        tn_reason_set(reason_out, "the list has more than %d numbers", TN_NUMBER_LIST_MAX);
        return false;
    }
    list->values[list->count++] = value;
    return true;
}

bool tn_number_list_parse(const char *text, tn_number_parser parse, uint64_t min, uint64_t max,
                          struct tn_number_list *list_out, struct tn_reason *reason_out)
{
    struct tn_number_list list = { 0, { 0 } };
    const char *item = text;
    for (;;) {
        size_t length = strcspn(item, ",");
        if (!add_item(item, length, parse, min, max, &list, reason_out)) return false;
        if (item[length] == '\0') break;
        item += length + 1;
    }
    *list_out = list;
    return true;
}

const struct tn_number_list *tn_number_list_or(const struct tn_number_list *list,
                                               const struct tn_number_list *otherwise)
{
    return list->count > 0 ? list : otherwise;
}
