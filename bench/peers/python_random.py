# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random numbers, the same as tarn-bench's for one seed."""


class Random:
    """The C library's erand48, whose sequence POSIX fixes, used as tarn-bench uses it."""

    def __init__(self, seed):
        self.state = (seed ^ (seed >> 48) * 0x9E3779B9) & (2**48 - 1)

    def real(self):
        self.state = (self.state * 0x5DEECE66D + 0xB) & (2**48 - 1)
        return self.state / 2**48

    def below(self, limit):
        return min(int(self.real() * limit), limit - 1)

    def log_uniform(self, least, most):
        """From least to most, every doubling equally likely."""
        value = least * ((most + 1.0) / least) ** self.real()
        return int(value) if value < most else most

    def shuffle(self, items, count):
        """Puts the first `count` items into a random order."""
        for i in range(count, 1, -1):
            other = self.below(i)
            items[i - 1], items[other] = items[other], items[i - 1]
