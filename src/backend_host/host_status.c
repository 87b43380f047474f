/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* host_status: what the system's answer means. */
#include "host_device.h"

#include <errno.h>

tarn_backend_result tn_host_result(int error)
{
    switch (error) {
    case 0:
        return TARN_BACKEND_RESULT_OK;
    case ENOMEM:
        return (tarn_backend_result){ TARN_STATUS_OUT_OF_MEMORY, ENOMEM, "ENOMEM" };
    case EAGAIN: /* the process locks its memory, and may not lock so much */
        return (tarn_backend_result){ TARN_STATUS_OUT_OF_MEMORY, EAGAIN, "EAGAIN" };
    default:
        return (tarn_backend_result){ TARN_STATUS_VENDOR_ERROR, error, "errno" };
    }
}

/* Giving back the middle of what the system keeps as one mapping needs one mapping more, and their
 * number is limited. That is no lack of the device's memory. */
tarn_backend_result tn_host_result_of_return(int error)
{
    tarn_backend_result result = tn_host_result(error);
    if (error != 0) result.status = TARN_STATUS_VENDOR_ERROR;
    return result;
}
