/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * option_values: the values of options, from their texts.
 *
 * As argp's own checks do, each function ends the process with a message if the text is wrong.
 */
#ifndef TN_OPTION_VALUES_H
#define TN_OPTION_VALUES_H

#include <argp.h>

#include "options.h"

#define TN_SIZE_BYTES_MAX ((uint64_t)1 << 46)

/* `name` is the option's, for the message. */
uint64_t tn_option_parse_one(struct argp_state *state, const char *name, const char *text,
                             tn_number_parser parse, uint64_t min, uint64_t max);

/* Each from 1 to `max`. */
void tn_option_parse_list(struct argp_state *state, const char *name, const char *text,
                          tn_number_parser parse, uint64_t max, struct tn_number_list *list_out);

void tn_option_parse_size_range(struct argp_state *state, const char *text,
                                struct tn_number_list *list_out);
double tn_option_parse_time(struct argp_state *state, const char *text);
double tn_option_parse_share(struct argp_state *state, const char *text);
double tn_option_parse_speed(struct argp_state *state, const char *text);
enum tn_order tn_option_parse_order(struct argp_state *state, const char *text);

/* Names with commas between them, of those that are known, which are at most 32 and ended by NULL. Returns a bit for each
 * by its place. */
uint32_t tn_option_parse_names(struct argp_state *state, const char *option, const char *text,
                               const char *const *known);

/* `text` is NULL if the option has no value: all bytes. */
size_t tn_option_parse_touch(struct argp_state *state, const char *text);

/* Replaces the allocators in the options. */
void tn_option_parse_allocators(struct argp_state *state, const char *text,
                                struct tn_options *options);

#endif
