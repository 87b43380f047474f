/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * trace_path: the path of a trace. The results are in host memory.
 *
 * A recording fixes the path at its start and writes the trace at its end. So the path must hold wherever the
 * process has changed its folder, and a path that cannot be written must fail at once. A pattern stands for one path in
 * each process.
 */
#ifndef TN_TRACE_PATH_H
#define TN_TRACE_PATH_H

#include "tarn/status.h"

/* Makes a path absolute. FILE_ERROR: the current folder has no name; OUT_OF_HOST_MEMORY. */
tarn_status tn_trace_path_absolute(const char *path, char **absolute_out);

/*
 * Replaces %p by the number of the process, %r by its rank, and %% by %. Other text stays as it is. NULL: no host memory.
 *
 * The rank is the process's number among all ranks of the program, as its launcher tells it. The first of these variables
 * that is a number counts; without one the rank is 0. See ranks.h, which counts the ranks on a device.
 *     OMPI_COMM_WORLD_RANK                   Open MPI's mpirun
 *     PMIX_RANK                              PRRTE, and srun with PMIx
 *     PMI_RANK                               MPICH, Intel MPI, Cray PMI
 *     MV2_COMM_WORLD_RANK                    MVAPICH2
 *     PALS_RANKID                            HPE PALS
 *     JSM_NAMESPACE_RANK                     LSF's jsrun
 *     SLURM_PROCID                           srun
 *     FLUX_TASK_RANK                         flux run
 *     RANK                                   torchrun
 */
char *tn_trace_path_expand(const char *pattern);

/* Checks an absolute path. FILE_ERROR: it is a folder, it cannot be written, or its folder cannot. */
tarn_status tn_trace_path_check(const char *path);

#endif
