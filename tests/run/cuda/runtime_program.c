/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* runtime_program: calls CUDA's runtime, the vendor's own, linked statically or not. The simulated driver lacks too much for
 * it to go on, but it has looked up all that it needs by then. */
#include <stddef.h>

int cudaMalloc(void **address, size_t size_bytes);

int main(void)
{
    void *address;
    return cudaMalloc(&address, 1000) == 0;
}
