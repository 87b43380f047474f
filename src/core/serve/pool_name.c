/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* pool_name: a text in quotes, or nothing. */
#include "pool_name.h"

#include <stdio.h>

static struct tn_quote quote(const char *before, const char *text)
{
    struct tn_quote quoted = { "" };
    if (text[0] != '\0') (void)snprintf(quoted.text, sizeof quoted.text, " %s\"%s\"", before, text);
    return quoted;
}

struct tn_quote tn_quote_pool(const struct tarn_pool *pool)
{
    return quote("", pool->name);
}

struct tn_quote tn_quote_label(void)
{
    return quote("labelled ", tn_label_current_text());
}
