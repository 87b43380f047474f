/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* host_status: status codes for the system's errors. */
#include "host_device.h"

#include <errno.h>

tarn_backend_result tn_host_result(int error)
{
    switch (error) {
    case 0:
        return TARN_BACKEND_RESULT_OK;
    case ENOMEM:
        return (tarn_backend_result){ TARN_STATUS_OUT_OF_MEMORY, ENOMEM, "ENOMEM" };
    case EAGAIN: /* the process locks its memory, and this exceeds its limit */
        return (tarn_backend_result){ TARN_STATUS_OUT_OF_MEMORY, EAGAIN, "EAGAIN" };
    default:
        return (tarn_backend_result){ TARN_STATUS_VENDOR_ERROR, error, "errno" };
    }
}

/* Giving back the middle of one mapping of the system splits it in two. The number of mappings is limited,
 * so the system may refuse with ENOMEM. The device does not lack memory then. */
tarn_backend_result tn_host_result_of_return(int error)
{
    tarn_backend_result result = tn_host_result(error);
    if (error != 0) result.status = TARN_STATUS_VENDOR_ERROR;
    return result;
}
