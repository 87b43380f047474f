/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* sanitizer: the count of late uses. */
#include "sanitizer.h"

#if TN_HAS_ADDRESS_SANITIZER
atomic_size_t tn_sanitizer_late_use_count;
#endif
