/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * ranks: how many ranks of a parallel program share the device of this one, by the environment. MPI is never
 * asked: it may be absent, or not initialised yet.
 *
 * The launcher tells the number of ranks on the node. The first of these variables that is a number counts:
 *     OMPI_COMM_WORLD_LOCAL_SIZE                      Open MPI's mpirun
 *     MPI_LOCALNRANKS                                 MPICH, Intel MPI
 *     MV2_COMM_WORLD_LOCAL_SIZE                       MVAPICH2
 *     PMI_LOCAL_SIZE                                  Cray PMI
 *     PALS_LOCAL_SIZE                                 HPE PALS
 *     JSM_NAMESPACE_LOCAL_SIZE                        LSF's jsrun
 *     SLURM_STEP_TASKS_PER_NODE, at SLURM_NODEID      srun: "5,4(x3)" is 5 on node 0, 4 on nodes 1 to 3
 *     FLUX_JOB_SIZE / FLUX_JOB_NNODES, rounded up     flux run, in a process that has FLUX_TASK_LOCAL_ID
 *     LOCAL_WORLD_SIZE                                torchrun
 * Only Slurm's step variable is read: a single process in the script of a job sees the job's variables too.
 *
 * No variable tells which ranks of a node share one device. They are taken to be spread evenly:
 *  - If this process sees several devices, over these.
 *  - If it sees one, since CUDA_VISIBLE_DEVICES, HIP_VISIBLE_DEVICES, ROCR_VISIBLE_DEVICES or ZE_AFFINITY_MASK names a
 *    single device, over SLURM_GPUS_ON_NODE devices; or one rank to each device if that is not set.
 *  - If it sees one, and nothing hides others, all ranks of the node share that device.
 *
 * Threads: any, while no other thread changes the environment. Cost: some twenty look-ups.
 */
#ifndef TN_RANKS_H
#define TN_RANKS_H

/* Returns how many ranks share the device, 1 or more, this one included. device_count: devices that this process sees. */
unsigned tn_ranks_on_device(unsigned device_count);

#endif
