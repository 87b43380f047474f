/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * peers: contexts whose work may use the memory of other contexts, by cuCtxEnablePeerAccess or hipDeviceEnablePeerAccess.
 *
 * The event that a pool records at a free covers the work of its own context alone. So from the first peer on, a free waits
 * for the work of all peers before, as the vendor's free does.
 *
 * Threads: any. Cost: without peers a load, otherwise that of waiting.
 */
#ifndef TN_PEERS_H
#define TN_PEERS_H

#include "vendor.h"

/* The current context becomes a peer. */
void tn_peers_note_current(const struct tn_vendor *vendor);

/* The context is about to end. */
void tn_peers_forget(const void *context);

/* Waits for the work of all peers. A context that the vendor does not know any more has none. */
void tn_peers_wait(const struct tn_vendor *vendor);

#endif
