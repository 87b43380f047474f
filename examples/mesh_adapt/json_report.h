/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* json_report: the runs as a file in the form of tarn-bench's results, which tarn-report makes a page of. */
#ifndef JSON_REPORT_H
#define JSON_REPORT_H

#include <tarn/tarn.h>

#include "comparison.h"

/* If the file is there already, or cannot be written, the program ends with a message. */
void json_report_write(const char *path, const char *backend_name,
                       const tarn_device_properties *properties,
                       const struct comparison *comparison);

#endif
