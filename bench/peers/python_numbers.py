# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Numbers and sizes from text, and sizes as text, as in tarn-bench."""

SHIFTS = {"K": 10, "M": 20, "G": 30, "T": 40}
LIST_MAX = 64


def show_size(size):
    """With the largest suffix that leaves a whole number."""
    for suffix, shift in reversed(SHIFTS.items()):
        if size % (1 << shift) == 0:
            return f"{size >> shift}{suffix}"
    return str(size)


def _parse(word, has_suffix):
    shift = SHIFTS.get(word[-1:], 0) if has_suffix else 0
    digits = word[:-1] if shift else word
    if not (digits.isascii() and digits.isdigit()):
        raise ValueError(f"'{word}' is not a number")
    return int(digits) << shift


def parse_list(text, least, most, has_suffix=True):
    """Numbers with commas between them, with an optional suffix if they are sizes. Raises ValueError with the fault."""
    numbers = []
    for word in text.split(","):
        number = _parse(word, has_suffix)
        if not least <= number <= most:
            raise ValueError(f"{word} is not from {least} to {most}")
        numbers.append(number)
    if len(numbers) > LIST_MAX:
        raise ValueError(f"the list has more than {LIST_MAX} numbers")
    return numbers


def parse_range(text, least, most):
    """Two sizes, the smaller first."""
    numbers = parse_list(text, least, most)
    if len(numbers) != 2 or numbers[0] > numbers[1]:
        raise ValueError("takes two sizes, the smaller first")
    return numbers
