/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* crew: threads that do one thing after another. */
#include "crew.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

struct thread {
    pthread_t id;
    struct tn_crew *crew;
    void *member;
};

struct tn_crew {
    pthread_mutex_t start_lock; /* held until all have started */
    bool is_cancelled;          /* under start_lock */
    pthread_barrier_t barrier;  /* of the threads and the caller */
    tn_crew_act act;            /* NULL: the threads end */
    size_t count;
    struct thread threads[];
};

static void *work(void *context)
{
    const struct thread *thread = context;
    struct tn_crew *crew = thread->crew;
    pthread_mutex_lock(&crew->start_lock);
    bool is_cancelled = crew->is_cancelled;
    pthread_mutex_unlock(&crew->start_lock);
    if (is_cancelled) return NULL;

    for (;;) {
        pthread_barrier_wait(&crew->barrier);
        if (!crew->act) return NULL;
        crew->act(thread->member);
        pthread_barrier_wait(&crew->barrier);
    }
}

static void free_crew(struct tn_crew *crew, size_t started_count)
{
    for (size_t i = 0; i < started_count; i++)
        pthread_join(crew->threads[i].id, NULL);
    pthread_barrier_destroy(&crew->barrier);
    pthread_mutex_destroy(&crew->start_lock);
    free(crew);
}

/* Returns how many threads have started. If not all have, those end at once. */
static size_t start_threads(struct tn_crew *crew)
{
    size_t started = 0;
    pthread_mutex_lock(&crew->start_lock);
    while (started < crew->count &&
           pthread_create(&crew->threads[started].id, NULL, work, &crew->threads[started]) == 0)
        started++;
    crew->is_cancelled = started < crew->count;
    pthread_mutex_unlock(&crew->start_lock);
    return started;
}

struct tn_crew *tn_crew_create(void *members, size_t member_bytes, size_t count,
                               struct tn_reason *reason_out)
{
    struct tn_crew *crew = calloc(1, sizeof *crew + count * sizeof crew->threads[0]);
    if (!crew) {
        tn_reason_set(reason_out, "there is not enough host memory for the threads");
        return NULL;
    }
    crew->count = count;
    for (size_t i = 0; i < count; i++)
        crew->threads[i] =
            (struct thread){ .crew = crew, .member = (char *)members + i * member_bytes };
    pthread_mutex_init(&crew->start_lock, NULL);
    pthread_barrier_init(&crew->barrier, NULL, (unsigned)count + 1);
    size_t started = start_threads(crew);
    if (started == count) return crew;
    tn_reason_set(reason_out, "the system has started %zu of %zu threads", started, count);
    free_crew(crew, started);
    return NULL;
}

void tn_crew_begin(struct tn_crew *crew, tn_crew_act act)
{
    crew->act = act;
    pthread_barrier_wait(&crew->barrier);
}

void tn_crew_end(struct tn_crew *crew)
{
    pthread_barrier_wait(&crew->barrier);
}

void tn_crew_destroy(struct tn_crew *crew)
{
    if (!crew) return;
    tn_crew_begin(crew, NULL);
    free_crew(crew, crew->count);
}
