/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * escape: text from outside, for messages and dumps. A control character could give a terminal orders, and bytes that
 * are not UTF-8 make JSON invalid. It is all in this header, so that tarn-bench has it too, which sees nothing else of
 * the library's inside.
 *
 * Threads: any. Cost: O(length).
 */
#ifndef TN_ESCAPE_H
#define TN_ESCAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Whether a character may be written with so many bytes, and is no half of a surrogate pair. */
static inline bool tn_escape_is_canonical(uint32_t character, size_t length)
{
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    bool is_surrogate = character >= 0xd800 && character <= 0xdfff;
    return character >= least[length] && character <= 0x10ffff && !is_surrogate;
}

/* Returns how many bytes the character at the start of a text has in UTF-8. 0: it is a control character, or the text
 * has ended, or no character of UTF-8 starts there. */
static inline size_t tn_escape_printable_bytes(const char *text)
{
    unsigned char first = (unsigned char)text[0];
    size_t length = first < 0x80 ? 1 : first < 0xc0 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (length == 0 || first >= 0xf8) return 0;
    uint32_t character = length == 1 ? first : first & (0x7fU >> length);
    for (size_t i = 1; i < length; i++) {
        unsigned char next = (unsigned char)text[i];
        if ((next & 0xc0) != 0x80) return 0;
        character = character << 6 | (next & 0x3f);
    }
    bool is_control = character < 0x20 || (character >= 0x7f && character < 0xa0);
    return tn_escape_is_canonical(character, length) && !is_control ? length : 0;
}

/* Copies a text to a place with room for a byte or more. Each byte that is in no printable character becomes \xNN. The
 * copy ends before the first character that has no room. */
static inline void tn_escape_text(char *to, size_t to_bytes, const char *text)
{
    char escaped[5];
    size_t room = to_bytes - 1;
    while (*text != '\0') {
        size_t length = tn_escape_printable_bytes(text);
        size_t copied_bytes = length;
        if (length == 0) {
            snprintf(escaped, sizeof escaped, "\\x%02x", (unsigned char)*text);
            copied_bytes = sizeof escaped - 1;
        }
        if (copied_bytes > room) break;
        memcpy(to, length > 0 ? text : escaped, copied_bytes);
        to += copied_bytes;
        room -= copied_bytes;
        text += length > 0 ? length : 1;
    }
    *to = '\0';
}

#endif
