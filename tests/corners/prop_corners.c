/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The random program that looks into the corners of a pool: several pools with random options on one device, up to a
 * hundred streams, captures and graphs, functions of the user's that do what they may, and a vendor and a host that
 * fail now and then.
 *
 * Usage: prop_corners [--operations N] [--worlds N] [--vendor] [--survey] [--verbose]
 *                     [--without PART]... [--ignore FINDING]... [--help]
 *
 * A world is a device with its pools, and lives for some thousand operations; then the next one begins, with the next
 * seed. A finding ends the program and prints how to repeat it. --operations stops earlier, so that a finding can be
 * narrowed down: with the same seed the same operations come. For that each world has a process of its own, and all
 * have the same addresses, where the system allows that. With --worlds 1 there is one process, for a debugger.
 * --vendor: over the vendor's simulated device instead of the host.
 * --survey: goes on after a finding with the next world, and sums up.
 * --without leaves a part out, --ignore a kind of finding; --help lists both.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/wait.h>
#include <unistd.h>

#include "finding.h"
#include "plan.h"
#include "sim/sim_control.h"
#include "tarn/host.h"
#include "world.h"

static struct world world;

static struct {
    uint64_t operations, worlds, operations_of_world;
    bool is_over_vendor, is_survey, is_verbose;
    char arguments[512]; /* that change what is done */
    char again[640];     /* what repeats the world */
} run;

/* --- a world ------------------------------------------------------------------------------------ */

static tarn_backend open_host(size_t memory_bytes)
{
    tarn_backend backend;
    tarn_host_options options = TARN_HOST_OPTIONS_INIT;
    options.memory_bytes = memory_bytes;
    if (tarn_host_backend_open(&options, &backend) != TARN_STATUS_OK) abort();
    return backend;
}

static size_t granule_of(tarn_backend backend)
{
    tarn_device_properties properties = { 0 };
    if (backend.operations->get_properties(backend.state, &properties).status != TARN_STATUS_OK)
        abort();
    return properties.granularity_bytes;
}

/* Managed memory is more than the device has. */
static void open_backends(void)
{
    size_t granule_count = (size_t)16 << below(&world, 5);
    bool has_shared = plan_has(PART_OTHER_KIND);
    world.shared = (tarn_backend){ NULL, NULL };
    if (!run.is_over_vendor) {
        world.granule_bytes = 4096;
        world.capacity_bytes = granule_count * world.granule_bytes;
        world.inner = open_host(world.capacity_bytes);
        if (has_shared) world.shared = open_host(4 * world.capacity_bytes);
        return;
    }
    sim_reset();
    tarn_backend probe;
    if (tarn_backend_open(0, TARN_MEMORY_KIND_DEVICE, &probe) != TARN_STATUS_OK) {
        printf("no simulated device: %s\n", tarn_last_error().message);
        exit(1);
    }
    world.granule_bytes = granule_of(probe);
    tarn_backend_close(&probe);
    world.capacity_bytes = granule_count * world.granule_bytes;
    sim_reset();
    SIM_SET(memory_bytes, world.capacity_bytes);
    SIM_SET(host_memory_bytes, 4 * world.capacity_bytes);
    SIM_SET(seed, world.seed);
    if (tarn_backend_open(0, TARN_MEMORY_KIND_DEVICE, &world.inner) != TARN_STATUS_OK) abort();
    if (has_shared &&
        tarn_backend_open(0, TARN_MEMORY_KIND_SHARED, &world.shared) != TARN_STATUS_OK)
        world.shared = (tarn_backend){ NULL, NULL };
}

static void world_begin(uint64_t seed)
{
    memset(&world, 0, sizeof world);
    world.seed = seed;
    world.is_over_vendor = run.is_over_vendor;
    world.random = random_init(seed);
    world.has_uses = plan_has(PART_USES) && one_in(&world, 2);
    open_backends();
    if (!device_init(&world.device, world.inner, seed, run.is_over_vendor)) abort();
    streams_begin(&world);
    pools_begin(&world);
}

static void world_end(void)
{
    note("the end");
    graph_finish_all(&world, NONE);
    pools_end(&world);
    streams_end(&world);
    if (world.shared.operations) tarn_backend_close(&world.shared);
    device_fini(&world.device);
    if (!run.is_over_vendor) return;
    FIND_UNLESS(sim_misuse_count() == 0, FINDING_MISUSE, "%s", sim_first_misuse());
    FIND_UNLESS(sim_alive_total() == 0, FINDING_LEAK, "%s", sim_describe_alive());
}

static void trim(void)
{
    const struct slot *slot = &world.slots[below(&world, (uint64_t)world.slot_count)];
    if (!plan_has(PART_TRIMMING) || !slot->is_settled) return;
    note("trim pool %d", slot->index);
    CALL(&world, TARN_STATUS_OK,
         tarn_pool_trim(slot->pool,
                        one_in(&world, 2) ? 0 : (size_t)below(&world, world.capacity_bytes), NULL));
}

/* Phases in which more is allocated than freed, and the other way round. */
static void operate(uint64_t operation)
{
    uint64_t die = below(&world, 1000);
    bool grows = operation / 150 % 2 == 0;
    if (one_in(&world, 25)) world_plan_fault(&world);
    if (die < 700) {
        if (die < (grows ? 430 : 270)) {
            block_alloc(&world);
        } else {
            block_free(&world);
        }
    } else if (die < 780) {
        block_use(&world);
    } else if (die < 810) {
        block_resize(&world);
    } else if (die < 825) {
        block_alloc_batch(&world);
    } else if (die < 840) {
        block_free_batch(&world);
    } else if (die < 870) {
        stream_hang_or_go_on(&world);
    } else if (die < 890) {
        graph_begin(&world);
    } else if (die < 915) {
        graph_end(&world);
    } else if (die < 945) {
        graph_launch(&world);
    } else if (die < 960) {
        graph_release(&world);
    } else if (die < 975) {
        stream_replace(&world);
    } else if (die < 990) {
        trim();
    } else if (die < 997) {
        if (!device_is_capturing(&world.device)) stream_wait_for_all(&world);
    } else if (plan_has(PART_NEW_POOLS)) {
        pool_replace(&world);
    }
    world.next_fault_after = world.next_host_fault_after = 0;
}

static void run_world(uint64_t seed, uint64_t operations)
{
    snprintf(run.again, sizeof run.again, "TARN_SEED=%" PRIu64 " prop_corners%s", seed,
             run.arguments);
    finding_begin(run.again, run.is_verbose);
    world_begin(seed);
    for (uint64_t i = 1; i <= operations; i++) {
        finding_count(i);
        operate(i);
        if (i % 8 == 0) look_at_all(&world);
    }
    world_end();
}

/* --- the run ------------------------------------------------------------------------------------ */

struct tally {
    uint64_t count, first_seed;
};

enum {
    NO_FINDING = FINDING_COUNT,
    CRASH,
    OUTCOME_COUNT
};

/* In a process of its own. The kind of finding, or how else it ended. */
static int run_apart(uint64_t seed, uint64_t operations)
{
    fflush(stdout);
    pid_t child = fork();
    if (child < 0) abort();
    if (child == 0) {
        alarm(300); /* an end for what has none */
        run_world(seed, operations);
        fflush(stdout);
        _exit(0);
    }
    int status;
    if (waitpid(child, &status, 0) != child) abort();
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return NO_FINDING;
    if (WIFEXITED(status) && WEXITSTATUS(status) >= FINDING_EXIT_FIRST)
        return WEXITSTATUS(status) - FINDING_EXIT_FIRST;
    printf("seed %" PRIu64 ": ended by %d\n", seed, status);
    return CRASH;
}

static int sum_up(const struct tally *tallies)
{
    bool is_clean = true;
    for (int i = 0; i < OUTCOME_COUNT; i++) {
        if (i == NO_FINDING || tallies[i].count == 0) continue;
        is_clean = false;
        printf("%-12s in %" PRIu64 " worlds, first with seed %" PRIu64 "\n",
               i < FINDING_COUNT ? finding_name((enum finding)i) : "crash", tallies[i].count,
               tallies[i].first_seed);
    }
    printf("%" PRIu64 " worlds without a finding\n", tallies[NO_FINDING].count);
    return is_clean ? 0 : 1;
}

static int help(void)
{
    printf("usage: prop_corners [--operations N] [--worlds N] [--vendor] [--survey] [--verbose]\n");
    plan_print();
    for (int i = 0; i < FINDING_COUNT; i++)
        printf("  --ignore %s\n", finding_name((enum finding)i));
    return 2;
}

static void note_argument(const char *name, const char *value)
{
    size_t length = strlen(run.arguments);
    snprintf(run.arguments + length, sizeof run.arguments - length, " %s%s%s", name,
             value ? " " : "", value ? value : "");
}

static bool take_argument(const char *name, const char *value, int *index)
{
    if (strcmp(name, "--vendor") == 0) {
        note_argument(name, NULL);
        return run.is_over_vendor = true;
    }
    if (strcmp(name, "--survey") == 0) return run.is_survey = true;
    if (strcmp(name, "--verbose") == 0) return run.is_verbose = true;
    if (!value) return false;
    ++*index;
    if (strcmp(name, "--operations") == 0) return (run.operations = strtoull(value, NULL, 10)) > 0;
    if (strcmp(name, "--worlds") == 0) return (run.worlds = strtoull(value, NULL, 10)) > 0;
    note_argument(name, value);
    if (strcmp(name, "--without") == 0) return plan_leave_out(value);
    if (strcmp(name, "--ignore") == 0) return finding_ignore(value);
    return false;
}

/* The program once more, with addresses laid out plainly; as it is where that is not allowed. */
static void settle_addresses(char **argv)
{
    int persona = personality(0xffffffff);
    if (persona == -1 || persona & ADDR_NO_RANDOMIZE) return;
    if (personality((unsigned long)persona | ADDR_NO_RANDOMIZE) == -1) return;
    execv("/proc/self/exe", argv);
}

int main(int argc, char **argv)
{
    settle_addresses(argv);
    run.operations = 60000;
    run.operations_of_world = 3000;
    for (int i = 1; i < argc; i++) {
        if (!take_argument(argv[i], i + 1 < argc ? argv[i + 1] : NULL, &i)) return help();
    }
    uint64_t seed = random_seed(20261126);
    static struct tally tallies[OUTCOME_COUNT];
    for (uint64_t i = 0, left = run.operations; left > 0 && (run.worlds == 0 || i < run.worlds);
         i++) {
        uint64_t operations = left < run.operations_of_world ? left : run.operations_of_world;
        left -= operations;
        int outcome = NO_FINDING;
        if (run.worlds == 1) {
            run_world(seed, operations);
        } else {
            outcome = run_apart(seed + i, operations);
        }
        if (tallies[outcome].count++ == 0) tallies[outcome].first_seed = seed + i;
        if (outcome != NO_FINDING && !run.is_survey) break;
    }
    return sum_up(tallies);
}
