/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * pool_name: the name of a pool, and the label of a thread, as parts of messages:
 *
 *     tn_fail(status, "%zu bytes%s do not fit into the pool%s", size_bytes, tn_quote_label().text,
 *             tn_quote_pool(pool).text);
 *
 *     100 bytes labelled "mesh" do not fit into the pool "fields"
 *     100 bytes do not fit into the pool
 *
 * Threads: any. A name is constant while its pool is open. Cost: a copy of the text.
 */
#ifndef TN_POOL_NAME_H
#define TN_POOL_NAME_H

#include "pool_struct.h"

struct tn_quote {
    char text[TN_LABEL_BYTES + 16];
};

/* A blank and the name in quotes, or "" if the pool has none. */
struct tn_quote tn_quote_pool(const struct tarn_pool *pool);

/* The innermost label of the calling thread after "labelled", or "" if it has none. */
struct tn_quote tn_quote_label(void);

#endif
