/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* scratch_folder: a new folder in TMPDIR or /tmp, which a test runs in, and which is removed with all that is in it. */
#ifndef TEST_SCRATCH_FOLDER_H
#define TEST_SCRATCH_FOLDER_H

/* Makes it and goes there; as a group's setup and teardown of cmocka. */
int enter_scratch_folder(void **state);
int leave_scratch_folder(void **state);

#endif
