/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* SUNDIALS takes device memory from tarn. The helper below it is that of the vendor; here, without a GPU, the system's. */
#include <stdio.h>

#include <sundials/sundials_context.h>
#include <sunmemory/sunmemory_system.h>

#include <tarn/sundials.h>

int main(void)
{
    SUNContext context;
#if SUNDIALS_VERSION_MAJOR >= 7
    if (SUNContext_Create(SUN_COMM_NULL, &context)) return 1;
#else
    if (SUNContext_Create(NULL, &context)) return 1;
#endif
    SUNMemoryHelper helper = tarn_sundials_helper(SUNMemoryHelper_Sys(context), NULL);
    SUNMemory field;
    if (SUNMemoryHelper_Alloc(helper, &field, 1000, SUNMEMTYPE_DEVICE, NULL)) return 1;
    printf("the memory is at %p\n", field->ptr);
    SUNMemoryHelper_Dealloc(helper, field, NULL);
    SUNMemoryHelper_Destroy(helper);
    SUNContext_Free(&context);
    return 0;
}
