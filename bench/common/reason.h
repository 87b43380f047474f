/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* reason: one line of text that says why something did not work. */
#ifndef TN_REASON_H
#define TN_REASON_H

#ifdef __cplusplus
extern "C" {
#endif

struct tn_reason {
    char text[512];
};

#define TN_PATH_SHOWN_BYTES 120

/* Replaces the text by the first line of the new one, cut where it does not fit. It may quote files: what is not
 * printable UTF-8 becomes \xNN. */
__attribute__((format(printf, 2, 3))) void tn_reason_set(struct tn_reason *reason,
                                                         const char *format, ...);

struct tn_path_text {
    char text[TN_PATH_SHOWN_BYTES];
};

/* A path; of a long one "..." and its end, so that the text after it in a reason still fits. */
struct tn_path_text tn_path_show(const char *path);

/* Prints "tarn-bench: " and the text as a line to stderr, clear of any progress shown there. */
void tn_reason_print(const struct tn_reason *reason);

#ifdef __cplusplus
}
#endif

#endif
