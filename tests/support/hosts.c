#include "hosts.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One lock for everything: these hosts are to be strange, not fast. A handle is the address of its task. */

static uint32_t next_random(hdt_host *host)
{
    host->random = host->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(host->random >> 33);
}

static bool has_threads(const hdt_host *host)
{
    return host->kind >= HDT_HOST_THREADS;
}

/* Under the lock; gives it up meanwhile. */
static void call_loop(hdt_host *host, hdt_task *task)
{
    task->calls_left -= task->calls_left > 0;
    task->inside++;
    pthread_mutex_unlock(&host->lock);
    task->loop(task->context);
    pthread_mutex_lock(&host->lock);
    task->inside--;
    pthread_cond_broadcast(&host->changed);
}

/* A task whose loop is still to be called; null: none. */
static hdt_task *next_task(hdt_host *host)
{
    uint32_t oldest = host->made > HDT_HOST_TASKS ? host->made - HDT_HOST_TASKS : 0;

    for (uint32_t i = 0; i < host->made - oldest; i++) {
        uint32_t at = host->kind == HDT_HOST_REVERSED ? host->made - 1 - i : oldest + i;
        hdt_task *task = &host->tasks[at % HDT_HOST_TASKS];
        if (task->calls_left > 0)
            return task;
    }
    return NULL;
}

static void *work(void *argument)
{
    hdt_host *host = argument;

    pthread_mutex_lock(&host->lock);
    while (!host->stop) {
        if (host->kind == HDT_HOST_SLOW) {
            useconds_t pause = next_random(host) % 300;
            pthread_mutex_unlock(&host->lock);
            usleep(pause);
            pthread_mutex_lock(&host->lock);
        }
        hdt_task *task = next_task(host);
        if (task)
            call_loop(host, task);
        else if (!host->stop)
            pthread_cond_wait(&host->changed, &host->lock);
    }
    pthread_mutex_unlock(&host->lock);
    return NULL;
}

static void *enqueue(hd_loop_fn loop, void *context, void *user)
{
    hdt_host *host = user;

    if (host->kind == HDT_HOST_INLINE) {
        loop(context);
        return NULL;
    }
    if (host->kind == HDT_HOST_AFTER_FINISH)
        hdt_host_late(host);
    pthread_mutex_lock(&host->lock);
    hdt_task *task = &host->tasks[host->made % HDT_HOST_TASKS];
    if (host->made >= HDT_HOST_TASKS && (!task->finished || task->inside > 0))
        host->wrong++; /* thousands at once */
    host->made++;
    *task = (hdt_task){.loop = loop, .context = context, .calls_left = host->kind == HDT_HOST_CROWD ? 2 : 1};
    if (host->kind == HDT_HOST_INLINE_HANDLE)
        call_loop(host, task);
    pthread_cond_broadcast(&host->changed);
    pthread_mutex_unlock(&host->lock);
    return task;
}

static void finish(void *handle, void *user)
{
    hdt_host *host = user;
    hdt_task *task = handle;

    pthread_mutex_lock(&host->lock);
    if (!task || task->finished)
        host->wrong++;
    if (host->kind == HDT_HOST_SLOW || host->kind == HDT_HOST_NEVER)
        task->calls_left = 0;
    if (host->kind == HDT_HOST_CROWD)
        task->calls_left++;
    if (host->kind == HDT_HOST_AT_FINISH || host->kind == HDT_HOST_REVERSED || host->kind == HDT_HOST_CROWD)
        while (task->calls_left > 0)
            call_loop(host, task);
    while (has_threads(host) && (task->calls_left > 0 || task->inside > 0))
        pthread_cond_wait(&host->changed, &host->lock);
    task->finished = true;
    host->finished++;
    pthread_mutex_unlock(&host->lock);
}

void hdt_host_start(hdt_host *host, hdt_host_kind kind, uint32_t thread_count, uint64_t seed)
{
    memset(host, 0, sizeof *host);
    host->kind = kind;
    host->random = seed;
    pthread_mutex_init(&host->lock, NULL);
    pthread_cond_init(&host->changed, NULL);
    for (uint32_t i = 0; has_threads(host) && i < thread_count && i < HDT_HOST_THREADS_MOST; i++) {
        if (pthread_create(&host->threads[i], NULL, work, host) != 0)
            abort();
        host->thread_count++;
    }
}

void hdt_host_late(hdt_host *host)
{
    hdt_task *task;

    if (host->kind != HDT_HOST_AFTER_FINISH)
        return;
    pthread_mutex_lock(&host->lock);
    for (uint32_t i = 0; i < host->made && i < HDT_HOST_TASKS; i++) {
        task = &host->tasks[i];
        if (task->finished && task->calls_left > 0)
            call_loop(host, task);
    }
    pthread_mutex_unlock(&host->lock);
}

bool hdt_host_stop(hdt_host *host)
{
    pthread_mutex_lock(&host->lock);
    host->stop = true;
    pthread_cond_broadcast(&host->changed);
    pthread_mutex_unlock(&host->lock);
    for (uint32_t i = 0; i < host->thread_count; i++)
        pthread_join(host->threads[i], NULL);
    bool good = host->wrong == 0 && host->finished == host->made;
    pthread_cond_destroy(&host->changed);
    pthread_mutex_destroy(&host->lock);
    return good;
}

void hdt_host_describe(hdt_host *host, hd_jobs_desc *desc)
{
    desc->enqueue = enqueue;
    desc->finish = finish;
    desc->host_user = host;
}

const char *hdt_host_name(hdt_host_kind kind)
{
    static const char *const names[HDT_HOST_KINDS] = {
        "inline", "inline with handle", "never", "at finish", "after finish", "threads", "reversed", "slow", "crowd"};

    return names[kind];
}
