/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* All of doctest that is not inline. It takes longer to compile than most of the tests. */
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
