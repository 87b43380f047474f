/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * ranks: how many ranks of a parallel program share the device with this one, as far as the environment
 * tells. MPI is never asked: it may not be there, or not be initialised yet.
 *
 * The ranks on the node are told by the launcher: the first of these that is a number.
 *     OMPI_COMM_WORLD_LOCAL_SIZE                      Open MPI's mpirun
 *     MPI_LOCALNRANKS                                 MPICH, Intel MPI
 *     MV2_COMM_WORLD_LOCAL_SIZE                       MVAPICH2
 *     PMI_LOCAL_SIZE                                  Cray PMI
 *     PALS_LOCAL_SIZE                                 HPE PALS
 *     JSM_NAMESPACE_LOCAL_SIZE                        LSF's jsrun
 *     SLURM_STEP_TASKS_PER_NODE, at SLURM_NODEID      srun: "5,4(x3)" is 5 on node 0, 4 on nodes 1 to 3
 *     FLUX_JOB_SIZE / FLUX_JOB_NNODES, rounded up     flux run, in a process that has FLUX_TASK_LOCAL_ID
 *     LOCAL_WORLD_SIZE                                torchrun
 * Of Slurm only the step counts: what it says of a job is also seen by a single process of its script.
 *
 * Whether they share one device is not told by anybody. Where nobody has placed this rank on a device of its
 * own, all do. It was placed if its device was chosen by number, or if what restricts it to some devices
 * (CUDA_, HIP_, ROCR_VISIBLE_DEVICES, ZE_AFFINITY_MASK) names just one. Then the ranks are taken to be
 * spread over SLURM_GPUS_ON_NODE devices, and where that is not told, one to a device.
 *
 * Threads: reads the environment, so no other thread may be changing it. Cost: some twenty look-ups.
 */
#ifndef TN_RANKS_H
#define TN_RANKS_H

#include <stdbool.h>

/* 1 or more, this rank included. */
unsigned tn_ranks_on_device(bool is_device_chosen);

#endif
