/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* machine: the facts about the machine that a result depends on. */
#include "machine.h"

#include <gnu/libc-version.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "clock.h"
#include "commit.h"
#include "tarn/backend.h"

/* The processor as the system names it, "unknown" where it does not. */
static void look_at_processor(struct tn_machine *machine)
{
    snprintf(machine->cpu_model, sizeof machine->cpu_model, "unknown");
    long core_count = sysconf(_SC_NPROCESSORS_ONLN);
    machine->core_count = core_count > 0 ? (size_t)core_count : 1;

    FILE *file = fopen("/proc/cpuinfo", "r");
    if (!file) return;
    char line[256];
    while (fgets(line, sizeof line, file)) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !colon) continue;
        const char *name = colon + 1 + strspn(colon + 1, " \t");
        snprintf(machine->cpu_model, sizeof machine->cpu_model, "%.*s", (int)strcspn(name, "\n"),
                 name);
        break;
    }
    fclose(file);
}

static void look_at_system(struct tn_machine *machine)
{
    struct utsname system;
    if (uname(&system) == 0)
        snprintf(machine->kernel, sizeof machine->kernel, "%.60s %.60s", system.sysname,
                 system.release);
    else
        snprintf(machine->kernel, sizeof machine->kernel, "unknown");
    snprintf(machine->c_library, sizeof machine->c_library, "glibc %s", gnu_get_libc_version());
    machine->compiler = TN_BENCH_COMPILER;
    machine->build_type = TN_BENCH_BUILD_TYPE;
    machine->commit = tn_bench_commit;
}

static tarn_backend_result ask_device(const tarn_backend *backend, struct tn_machine *machine)
{
    tarn_device_properties properties;
    tarn_backend_result result = backend->operations->get_properties(backend->state, &properties);
    if (result.status != TARN_STATUS_OK) return result;
    snprintf(machine->device_name, sizeof machine->device_name, "%s", properties.device_name);
    machine->driver_version = properties.driver_version;
    machine->runtime_version = properties.runtime_version;

    tarn_memory_info memory;
    result = backend->operations->query_memory(backend->state, &memory);
    if (result.status == TARN_STATUS_NOT_SUPPORTED) {
        /* The backend cannot tell. As a rule there is room for one allocation of the largest size. */
        memory =
            (tarn_memory_info){ properties.allocation_bytes_max, properties.allocation_bytes_max };
        result = TARN_BACKEND_RESULT_OK;
    }
    if (result.status != TARN_STATUS_OK) return result;
    machine->device_total_bytes = memory.total_bytes;
    machine->device_free_bytes = memory.free_bytes;
    return result;
}

static bool look_at_device(int device, struct tn_machine *machine, struct tn_reason *reason_out)
{
    machine->backend = tarn_backend_name();
    machine->is_host = strcmp(machine->backend, "host") == 0;
    tarn_backend backend;
    if (tarn_backend_open(device, TARN_MEMORY_KIND_DEVICE, &backend) != TARN_STATUS_OK) {
        tn_reason_set(reason_out, "device %d of the %s backend cannot be opened: %s", device,
                      machine->backend, tarn_last_error().message);
        return false;
    }
    tarn_backend_result result = ask_device(&backend, machine);
    tarn_backend_close(&backend);
    if (result.status != TARN_STATUS_OK) {
        tn_reason_set(reason_out, "device %d of the %s backend does not describe itself: %s",
                      device, machine->backend, tarn_status_sentence(result.status));
        return false;
    }
    return true;
}

bool tn_machine_look(int device, struct tn_machine *machine_out, struct tn_reason *reason_out)
{
    *machine_out = (struct tn_machine){ .compiler = "" };
    look_at_processor(machine_out);
    look_at_system(machine_out);
    machine_out->clock_cost_ns = tn_clock_cost_ns();
    return look_at_device(device, machine_out, reason_out);
}
