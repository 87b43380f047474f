/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A pool of UMF that tarn manages, over a provider of the system's memory. */
#include <stdio.h>

#include <umf/providers/provider_os_memory.h>

#include <tarn/umf.h>

int main(void)
{
    umf_os_memory_provider_params_handle_t parameters;
    umf_memory_provider_handle_t provider;
    if (umfOsMemoryProviderParamsCreate(&parameters)) return 1;
    if (umfMemoryProviderCreate(umfOsMemoryProviderOps(), parameters, &provider)) return 1;

    umf_memory_pool_ops_t operations = tarn_umf_pool_ops();
    umf_memory_pool_handle_t pool;
    const umf_result_t result = umfPoolCreate(&operations, provider, NULL, 0, &pool);
    if (result == UMF_RESULT_SUCCESS) {
        void *field = umfPoolMalloc(pool, 1000 * sizeof(double));
        printf("the memory is at %p\n", field);
        umfPoolFree(pool, field);
        umfPoolDestroy(pool);
    }
    umfMemoryProviderDestroy(provider);
    umfOsMemoryProviderParamsDestroy(parameters);
    return result == UMF_RESULT_SUCCESS ? 0 : 1;
}
