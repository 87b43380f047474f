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

/* Replaces the text; what does not fit is cut. */
__attribute__((format(printf, 2, 3))) void tn_reason_set(struct tn_reason *reason,
                                                         const char *format, ...);

/* Prints "tarn-bench: " and the text as a line to stderr, clear of any progress shown there. */
void tn_reason_print(const struct tn_reason *reason);

#ifdef __cplusplus
}
#endif

#endif
