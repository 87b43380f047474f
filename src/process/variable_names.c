/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* variable_names: the list, distances between names, and the look at the environment. */
#include "variable_names.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/arith.h"
#include "../base/sync.h"
#include "../base/text/edits.h"
#include "../base/text/escape.h"

#define PREFIX "TARN_"

/* Longer names are of nobody's that this list knows. */
#define NAME_LENGTH_MAX TN_EDITS_LENGTH_MAX

/* --- the list ---------------------------------------------------------------------------------------- */

/* All that a process with pools reads: the library, and the libraries of tarn-run. */
static const char *const of_pools[] = {
    "TARN_ALIGNMENT", "TARN_CHUNK",       "TARN_CONTIGUOUS",   "TARN_DEBUG",
    "TARN_DEVICE",    "TARN_DISABLE",     "TARN_FIT",          "TARN_FREE",
    "TARN_GROWTH",    "TARN_GROWTH_MAX",  "TARN_INITIAL",      "TARN_IDENTIFY_STREAMS",
    "TARN_KIND",      "TARN_LIMIT",       "TARN_LOG",          "TARN_MAP",
    "TARN_PRESET",    "TARN_RANKS",       "TARN_QUARANTINE",   "TARN_RELEASE",
    "TARN_SLICES",    "TARN_STATS",       "TARN_STEP",         "TARN_TRACE",
    "TARN_SHAREABLE", "TARN_VANISH",      "TARN_ZERO_ADDRESS", "TARN_STREAM_SLACK",
    "TARN_RUN_PASS",  "TARN_RUN_REPORT",  "TARN_RUN_UP_TO",    "TARN_RUN_SYNC_FREES",
    "TARN_VENDOR",    "TARN_PENDING_MAX",
};

/* Of tools, recorders, tests, scripts and the build. */
static const char *const of_others[] = {
    "TARN_BACKEND",         "TARN_BENCH",
    "TARN_CHECK_LEVEL",     "TARN_CI_OPTIONAL",
    "TARN_COMMIT",          "TARN_COMPUTE_SANITIZER",
    "TARN_DEBIAN_MIRROR",   "TARN_DUMP_POOL",
    "TARN_DEV_WARNINGS",    "TARN_EXPECT_DEVICE",
    "TARN_FAKE_DRIVER",     "TARN_LINK_VENDOR",
    "TARN_INSTALL",         "TARN_SEED",
    "TARN_SOURCE",          "TARN_HAS_KERNELS",
    "TARN_TEST_FRAMEWORKS", "TARN_TOOLS_IN_SYSTEM_PYTHON",
};
static const char *const begins_of_others[] = {
    "TARN_BUILD_",
    "TARN_KOKKOS_",
    "TARN_RECORD_",
    "TARN_SIM_",
};

/* The build's places of other libraries, and what modules and package managers set for an installed library. */
static const char *const ends_of_others[] = {
    "_ARCHIVE", "_BASE", "_BIN",     "_DIR",    "_HOME", "_INC",  "_INCLUDE",
    "_LIB",     "_LIBS", "_LIBRARY", "_PREFIX", "_PATH", "_ROOT", "_VERSION",
};

static bool begins_with(const char *text, const char *begin)
{
    return strncmp(text, begin, strlen(begin)) == 0;
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), end_length = strlen(end);
    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

static bool is_same(const char *text, const char *other)
{
    return strcmp(text, other) == 0;
}

static bool matches_any(const char *name, const char *const *list, size_t count,
                        bool (*matches)(const char *, const char *))
{
    for (size_t i = 0; i < count; i++) {
        if (matches(name, list[i])) return true;
    }
    return false;
}

#define MATCHES_ANY(name, list, matches) \
    matches_any(name, list, sizeof(list) / sizeof((list)[0]), matches)

bool tn_variable_name_is_known(const char *name)
{
    return MATCHES_ANY(name, of_pools, is_same) || MATCHES_ANY(name, of_others, is_same) ||
           MATCHES_ANY(name, begins_of_others, begins_with) ||
           MATCHES_ANY(name, ends_of_others, ends_with);
}

/* --- distances --------------------------------------------------------------------------------------- */

/* A name that goes on behind another one, as TARN_LIMIT_BYTES does, is near to it, and so is its beginning. */
static size_t distance_of(const char *name, const char *known)
{
    enum {
        BEGIN_LENGTH_MIN = sizeof PREFIX - 1 + 3,
        DISTANCE_OF_BEGIN = 2
    };
    size_t edits = tn_edits_count(name, known);
    bool is_begin =
        strlen(name) >= BEGIN_LENGTH_MIN && (begins_with(name, known) || begins_with(known, name));
    return is_begin ? tn_min(edits, DISTANCE_OF_BEGIN) : edits;
}

/* Half of a short name being right is a coincidence. */
static bool is_near(const char *known, size_t distance)
{
    enum {
        DISTANCE_MAX = 2
    };
    return distance <= DISTANCE_MAX && 2 * distance <= strlen(known) - strlen(PREFIX);
}

const char *tn_variable_name_nearest(const char *name)
{
    const char *nearest = NULL;
    size_t least = SIZE_MAX;
    if (strlen(name) > NAME_LENGTH_MAX) return NULL;
    for (size_t i = 0; i < sizeof of_pools / sizeof of_pools[0]; i++) {
        size_t distance = distance_of(name, of_pools[i]);
        if (distance >= least || !is_near(of_pools[i], distance)) continue;
        least = distance;
        nearest = of_pools[i];
    }
    return nearest;
}

/* --- the environment --------------------------------------------------------------------------------- */

static void tell(const char *name)
{
    char escaped[4 * NAME_LENGTH_MAX];
    const char *nearest = tn_variable_name_nearest(name);
    tn_escape_text(escaped, sizeof escaped, name);
    int cancel_state = tn_thread_begin_uncancelled();
    if (nearest)
        fprintf(stderr, "tarn: %s is no variable of tarn; did you mean %s?\n", escaped, nearest);
    else
        fprintf(stderr, "tarn: %s is no variable of tarn\n", escaped);
    tn_thread_end_uncancelled(cancel_state);
}

/* A variable that is empty counts as not set. */
static void check(const char *variable)
{
    char name[2 * NAME_LENGTH_MAX];
    size_t length = strcspn(variable, "=");
    if (!begins_with(variable, PREFIX) || variable[length] == '\0' || variable[length + 1] == '\0')
        return;
    length = tn_min(length, sizeof name - 1);
    memcpy(name, variable, length);
    name[length] = '\0';
    if (!tn_variable_name_is_known(name)) tell(name);
}

void tn_variable_names_check(void)
{
    static atomic_bool is_checked;
    if (atomic_load_explicit(&is_checked, memory_order_relaxed)) return;
    if (atomic_exchange(&is_checked, true)) return;
    const char *log = getenv("TARN_LOG");
    if (log && strcmp(log, "off") == 0) return;
    for (char **variable = environ; variable && *variable; variable++)
        check(*variable);
}
