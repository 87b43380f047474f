/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * patterns: workloads whose sizes creep, for what a pool holds. Each is drawn from the seed: a family says what the
 * program does, a variant how, and a draw settles the numbers. Each begins and ends with nothing live.
 *
 * The families. "A new one first": the new block is made before the old one is freed, as for a copy.
 *   mesh     A dozen fields grow, or in one draw of four shrink, by 0.5 to 20 % in each adaptation. Six work arrays and all
 *            new fields are made first.
 *   anew     One array is freed and made anew, 0.5 to 20 % larger, until it is 16 to 256 times as large.
 *   copied   One array grows so, a new one first.
 *   walk     1 to 12 arrays change by -7 to +8 % at random in each step, a new one first.
 *   refine   A dozen fields as in mesh grow by 1 to 20 % in each of 20 steps, and shrink in 20, two times.
 *   phases   Each of 60 phases makes 1 to 6 arrays of 3 to 130 MB, and frees them in random order.
 *   rates    Two arrays grow, each at a rate of its own. One that is large enough begins again small.
 *   doubling 1 to 8 arrays double, a new one first. One that is large enough begins again small.
 *   robson   Robson's construction: blocks of one size fill the memory, the first in each place of twice the size stays,
 *            blocks of twice the size fill what was freed, and so on. No pool that leaves live blocks where they are holds
 *            little in it: for n doublings it may need up to n / 2 + 1 times the live bytes.
 *
 * The variants:
 *   plain    One thread, no streams.
 *   lasting  After every k-th step a block of 256 B to 8 KB is made that lasts to the end; k is drawn, 1 to 16.
 *   streams  One thread, 2 to 8 streams. The n-th block is for stream n modulo their number, from its allocation to its free.
 *   behind   One thread, 1 to 4 streams, and the device is behind: work is done when another 1/4 to 2 times the peak has been
 *            allocated (late_backend.h).
 *   threads  2 or 4 threads, each with a stream, do the same with a part of the memory each.
 *
 * At most 128 MB to 8 GB are live, by the draw. A draw has equal numbers in all variants, whichever families and variants
 * are asked for, and on every machine.
 */
#ifndef TN_PATTERNS_H
#define TN_PATTERNS_H

/* Their names, in the order of the bits in the options, ended by NULL. */
extern const char *const tn_pattern_families[];
extern const char *const tn_pattern_variants[];

#define TN_PATTERN_DRAWS_MAX 100

#endif
