/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuDSS takes its device memory from a pool of tarn's. */
#include <stdio.h>

#include <tarn/cudss.h>

int main(void)
{
    cudssHandle_t handle;
    if (cudssCreate(&handle) != CUDSS_STATUS_SUCCESS) return 1;
    cudssDeviceMemHandler_t memory = tarn_cudss_device_memory(NULL);
    if (cudssSetDeviceMemHandler(handle, &memory) != CUDSS_STATUS_SUCCESS) return 1;
    /* analyse, factorise and solve, by cudssExecute */
    printf("cuDSS has its memory from %s\n", memory.name);
    cudssDestroy(handle);
    return 0;
}
