/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#ifndef TARN_STAND_IN_UMF_PROVIDER_OS_MEMORY_H
#define TARN_STAND_IN_UMF_PROVIDER_OS_MEMORY_H

#include <umf/memory_provider.h>

typedef int umf_os_memory_provider_params_t;
typedef umf_os_memory_provider_params_t *umf_os_memory_provider_params_handle_t;
typedef int umf_memory_provider_ops_t;

static inline umf_result_t umfOsMemoryProviderParamsCreate(
    umf_os_memory_provider_params_handle_t *params)
{
    *params = NULL;
    return UMF_RESULT_SUCCESS;
}

static inline umf_result_t umfOsMemoryProviderParamsDestroy(
    umf_os_memory_provider_params_handle_t params)
{
    (void)params;
    return UMF_RESULT_SUCCESS;
}

static inline const umf_memory_provider_ops_t *umfOsMemoryProviderOps(void)
{
    return NULL;
}

static inline umf_result_t umfMemoryProviderCreate(const umf_memory_provider_ops_t *ops,
                                                   const void *params,
                                                   umf_memory_provider_handle_t *provider)
{
    (void)ops, (void)params;
    *provider = (umf_memory_provider_handle_t)calloc(1, sizeof **provider);
    if (!*provider) return UMF_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    (*provider)->page_bytes = 4096;
    return UMF_RESULT_SUCCESS;
}

static inline umf_result_t umfMemoryProviderDestroy(umf_memory_provider_handle_t provider)
{
    free(provider);
    return UMF_RESULT_SUCCESS;
}

#endif
