/* Engines' job systems, as bad as they are allowed to be: what they do with the loops that a pool hands over. */
#ifndef HDT_HOSTS_H
#define HDT_HOSTS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <heddle/jobs.h>

typedef enum hdt_host_kind {
    HDT_HOST_INLINE,        /* inside enqueue, no handle */
    HDT_HOST_INLINE_HANDLE, /* inside enqueue, and a handle all the same */
    HDT_HOST_NEVER,         /* finish comes, and the loop was never called */
    HDT_HOST_AT_FINISH,     /* inside finish, on whose thread that is */
    HDT_HOST_AFTER_FINISH,  /* not before finish: when the next is enqueued, and the last ones at hdt_host_late */
    HDT_HOST_THREADS,       /* threads, oldest first; finish waits */
    HDT_HOST_REVERSED,      /* threads, newest first; finish runs what has not begun itself */
    HDT_HOST_SLOW,          /* threads that sleep a while before each loop; finish drops what has not begun */
    HDT_HOST_CROWD,         /* every loop is called on two threads at once, and once more inside finish */
    HDT_HOST_KINDS
} hdt_host_kind;

enum { HDT_HOST_TASKS = 4096, HDT_HOST_THREADS_MOST = 16 };

typedef struct hdt_task {
    hd_loop_fn loop;
    void *context;
    uint32_t inside, calls_left;
    bool finished;
} hdt_task;

typedef struct hdt_host {
    hdt_host_kind kind;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    hdt_task tasks[HDT_HOST_TASKS]; /* a ring: those that are not finished are far fewer */
    uint32_t made, finished;
    uint32_t wrong; /* handles that were finished twice, or never were given */
    uint64_t random;
    bool stop;
    uint32_t thread_count;
    pthread_t threads[HDT_HOST_THREADS_MOST];
} hdt_host;

/* thread_count: for the kinds that have threads. */
void hdt_host_start(hdt_host *host, hdt_host_kind kind, uint32_t thread_count, uint64_t seed);
/* Calls the loops that are left although their handles are finished. Before the pool is destroyed. */
void hdt_host_late(hdt_host *host);
/* Ends the threads; true if every handle was finished once. After the pool is destroyed. */
bool hdt_host_stop(hdt_host *host);
/* Fills in enqueue, finish and host_user. */
void hdt_host_describe(hdt_host *host, hd_jobs_desc *desc);
const char *hdt_host_name(hdt_host_kind kind);

#endif
