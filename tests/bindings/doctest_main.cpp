/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* For a test that has no main of its own. */
#include <doctest/doctest.h>

int main(int argc, char **argv)
{
    return doctest::Context(argc, argv).run();
}
