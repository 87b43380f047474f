/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * json_reader: reads a JSON text from its beginning to its end.
 *
 * The caller asks for the value that it expects next. A text that has another value, or ends early, is damaged: from
 * then on every call does nothing and returns false, 0 or an empty text. So a caller asks once, at the end.
 *
 *     struct tn_json json = tn_json_of(text);
 *     tn_json_enter(&json, '{');
 *     while (tn_json_next(&json, '}')) {
 *         char *key = tn_json_read_key(&json);
 *         if (strcmp(key, "pid") == 0) pid = tn_json_read_number(&json);
 *         else tn_json_skip(&json);
 *         free(key);
 *     }
 *     if (!tn_json_is_whole(&json)) ...
 *
 * Threads: one for each reader. Cost: O(length).
 */
#ifndef TN_JSON_READER_H
#define TN_JSON_READER_H

#include <stdbool.h>
#include <stdint.h>

struct tn_json {
    const char *at;  /* what is not yet read */
    bool is_first;   /* nothing of the object or array that was entered last has been read */
    bool is_damaged; /* at `at` */
};

struct tn_json tn_json_of(const char *text);

/* Begins an object, by '{', or an array, by '['. */
void tn_json_enter(struct tn_json *json, char open);

/* Goes to the next member of an object, or value of an array. False: it has ended, by '}' or ']'. */
bool tn_json_next(struct tn_json *json, char close);

/* Return texts from malloc. */
char *tn_json_read_key(struct tn_json *json);
char *tn_json_read_text(struct tn_json *json);

/* Reads a whole number from 0 on. */
uint64_t tn_json_read_number(struct tn_json *json);

/* Reads a value of any kind, nested at most 64 deep. */
void tn_json_skip(struct tn_json *json);

/* Whether the whole text was read, and is not damaged. */
bool tn_json_is_whole(struct tn_json *json);

#endif
