/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* json_reader: one character decides what comes next. */
#include "json_reader.h"

#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/size_text.h"
#include "../recorders/launch.h"

enum {
    DEPTH_MAX = 64
};

struct tn_json tn_json_of(const char *text)
{
    return (struct tn_json){ .at = text };
}

/* Returns the next character that is no space. '\0': the text has ended, or is damaged. */
static char peek(struct tn_json *json)
{
    if (json->is_damaged) return '\0';
    json->at += strspn(json->at, " \t\r\n");
    return *json->at;
}

/* Reads a character, if it comes next. */
static bool take(struct tn_json *json, char expected)
{
    if (expected == '\0' || peek(json) != expected) return false;
    json->at++;
    return true;
}

static void require(struct tn_json *json, char expected)
{
    if (!take(json, expected)) json->is_damaged = true;
}

void tn_json_enter(struct tn_json *json, char open)
{
    require(json, open);
    json->is_first = true;
}

bool tn_json_next(struct tn_json *json, char close)
{
    bool is_first = json->is_first;
    json->is_first = false;
    if (take(json, close)) return false;
    if (!is_first) require(json, ',');
    return !json->is_damaged;
}

/* --- texts -------------------------------------------------------------------------------------------- */

/* Reads four hexadecimal digits. */
static uint32_t read_unit(struct tn_json *json)
{
    uint32_t unit = 0;
    for (int i = 0; i < 4; i++, json->at++) {
        static const char digits[] = "0123456789abcdef";
        const char *digit = *json->at ? strchr(digits, tolower((unsigned char)*json->at)) : NULL;
        if (!digit) {
            json->is_damaged = true;
            return 0;
        }
        unit = unit << 4 | (uint32_t)(digit - digits);
    }
    return unit;
}

/* Reads a character after \u: one unit, or a pair of surrogates. */
static uint32_t read_character(struct tn_json *json)
{
    uint32_t unit = read_unit(json);
    if (unit >= 0xd800 && unit < 0xdc00 && strncmp(json->at, "\\u", 2) == 0) {
        json->at += 2;
        uint32_t low = read_unit(json);
        if (low < 0xdc00 || low > 0xdfff) json->is_damaged = true;
        return 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
    }
    /* A text of C's has no character 0, and no half of a pair is a character. */
    if (unit == 0 || (unit >= 0xd800 && unit < 0xe000)) json->is_damaged = true;
    return unit;
}

/* Returns where the character ends, in UTF-8. */
static char *write_character(char *to, uint32_t character)
{
    static const unsigned char begins[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
    int length = character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
    for (int i = length - 1; i > 0; i--) {
        to[i] = (char)(0x80 | (character & 0x3f));
        character >>= 6;
    }
    to[0] = (char)(begins[length] | character);
    return to + length;
}

/* Reads what is after a backslash. */
static char *read_escape(struct tn_json *json, char *to)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    const char *name = *json->at ? strchr(names, *json->at) : NULL;
    if (name) {
        json->at++;
        *to = values[name - names];
        return to + 1;
    }
    if (*json->at != 'u') {
        json->is_damaged = true;
        return to;
    }
    json->at++;
    return write_character(to, read_character(json));
}

/* Returns the length as it is written, up to the quote that ends it. */
static size_t escaped_length(const char *text)
{
    const char *end = text;
    while (*end != '"' && *end != '\0')
        end += end[0] == '\\' && end[1] != '\0' ? 2 : 1;
    return (size_t)(end - text);
}

char *tn_json_read_text(struct tn_json *json)
{
    require(json, '"');
    /* No character is longer than its escape. */
    char *text = tn_launch_require(malloc(json->is_damaged ? 1 : escaped_length(json->at) + 1));
    char *to = text;
    while (!json->is_damaged && *json->at != '"') {
        char next = *json->at;
        if (next == '\0') {
            json->is_damaged = true;
        } else {
            json->at++;
            if (next == '\\')
                to = read_escape(json, to);
            else
                *to++ = next;
        }
    }
    if (!json->is_damaged) json->at++;
    *(json->is_damaged ? text : to) = '\0';
    return text;
}

char *tn_json_read_key(struct tn_json *json)
{
    char *key = tn_json_read_text(json);
    require(json, ':');
    return key;
}

/* --- other values ------------------------------------------------------------------------------------- */

uint64_t tn_json_read_number(struct tn_json *json)
{
    size_t number;
    const char *rest;
    peek(json);
    if (json->is_damaged) return 0;
    if (!tn_size_text_parse_number(json->at, &number, &rest) || strspn(rest, ".eE") > 0) {
        json->is_damaged = true;
        return 0;
    }
    json->at = rest;
    return number;
}

static void skip_value(struct tn_json *json, int depth);

static void skip_members(struct tn_json *json, char open, char close, int depth)
{
    tn_json_enter(json, open);
    while (tn_json_next(json, close)) {
        if (open == '{') free(tn_json_read_key(json));
        skip_value(json, depth + 1);
    }
}

static void skip_value(struct tn_json *json, int depth)
{
    char next = peek(json);
    if (depth > DEPTH_MAX) json->is_damaged = true;
    if (json->is_damaged) return;
    if (next == '{') {
        skip_members(json, '{', '}', depth);
    } else if (next == '[') {
        skip_members(json, '[', ']', depth);
    } else if (next == '"') {
        free(tn_json_read_text(json));
    } else {
        /* A number or a word. */
        size_t length = strcspn(json->at, " \t\r\n,:]}[{\"");
        if (length == 0) json->is_damaged = true;
        json->at += length;
    }
}

void tn_json_skip(struct tn_json *json)
{
    skip_value(json, 0);
}

bool tn_json_is_whole(struct tn_json *json)
{
    return peek(json) == '\0' && !json->is_damaged;
}
