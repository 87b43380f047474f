/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* held_objects: the objects that threads hold, or null, and where they lie. */
#ifndef TN_MODEL_HELD_OBJECTS_H
#define TN_MODEL_HELD_OBJECTS_H

#include <stddef.h>
#include <stdint.h>

#include <vector>

struct held_objects {
    explicit held_objects(size_t count) : addresses(count), size_bytes(count)
    {
    }

    /* Ends the program if two objects overlap or one is not aligned to 16 bytes. */
    void expect_apart() const;

    uint64_t count() const;
    uint64_t bytes() const; /* as asked for */

    /* From the lowest address to the end of the last, by the bytes asked for. */
    double range() const;

    std::vector<void *> addresses;
    std::vector<uint32_t> size_bytes;
};

#endif
