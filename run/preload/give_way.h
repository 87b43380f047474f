/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * give_way: a call of the vendor that takes memory. If the vendor has none left, the pools give back what they do not
 * need, and the call is made once more.
 */
#ifndef TN_GIVE_WAY_H
#define TN_GIVE_WAY_H

#include "notes.h"
#include "vendor.h"

/* Whether the answer is a lack of memory, and pools have given some back since. */
bool tn_give_way(tn_vendor_error error);

#define TN_GIVE_WAY(call)                            \
    __extension__({                                  \
        tn_notes_vendor_call(TN_PURPOSE_MEMORY);     \
        tn_vendor_error error_ = (call);             \
        if (tn_give_way(error_)) {                   \
            tn_notes_vendor_call(TN_PURPOSE_MEMORY); \
            error_ = (call);                         \
        }                                            \
        error_;                                      \
    })

#endif
