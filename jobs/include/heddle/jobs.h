/* heddle/jobs.h: a small job pool: parallel_for, batches and graphs of jobs, a wait that helps.
 *
 * The threads are the pool's own, or an engine's (hd_jobs_desc.enqueue), or none: every function takes a null pool and
 * then runs everything on the caller, at once, in order. The results are the same in all three. Null jobs, counters,
 * functions and graphs are no work: nothing is done. */
#ifndef HEDDLE_JOBS_H
#define HEDDLE_JOBS_H

#include <stdbool.h>

#include <heddle/base.h>

HD_API_BEGIN

typedef struct hd_jobs hd_jobs;

enum { HD_MAX_WORKERS = 256 };

/* Called on the worker, before and after each job that it runs (after: ended true). name: the job's, may be null. */
typedef void (*hd_profile_fn)(const char *name, uint32_t worker, bool ended, void *user);

/* An engine's own threads in place of the pool's. heddle hands over loops that run its jobs, at most worker_count - 1
 * at a time, not single jobs; a loop returns when there has been nothing to do for some time, or after hd_jobs_rest.
 * The host may call a loop on any thread, at once inside enqueue, late, in any order, inside finish or not at all, but
 * once only and not after finish: the caller of a wait runs the jobs that no other worker takes. Worker indices are the
 * pool's own, and no two loops that run at once have the same. A loop stays on its thread from beginning to end, and so
 * does a call of submit, wait, parallel_for or run_dag: a host with fibers does not move them to another one meanwhile.
 *
 * enqueue: arranges for loop(context) to be called; returns a handle for finish, or null if it has been called already.
 * Called inside submits, waits, parallel_for, run_dag and warm of any thread, loops included.
 * finish: returns when the loop of this handle has returned or will not be called any more. Called once for each
 * handle: for a loop that has come to its end from where enqueue is called, for the others inside hd_jobs_rest and
 * destroy. */
typedef void (*hd_loop_fn)(void *context);
typedef void *(*hd_enqueue_fn)(hd_loop_fn loop, void *context, void *user);
typedef void (*hd_finish_fn)(void *handle, void *user);

typedef struct hd_jobs_desc {
    uint32_t worker_count;     /* threads that work, the caller of a wait included; 0: one a processor that the process
                                  may use (affinity and cgroup quota); at most HD_MAX_WORKERS */
    hd_allocator allocator;    /* used by create and destroy only */
    hd_log log;
    const char *name;          /* prefix of the thread names; null: "heddle" */
    bool pin;                  /* thread i stays on the i-th processor that the process may use, where it is let */
    hd_profile_fn profile;     /* null: none */
    void *profile_user;
    hd_enqueue_fn enqueue;     /* both null: threads of the pool's own, to which name and pin apply */
    hd_finish_fn finish;
    void *host_user;
} hd_jobs_desc;

/* Starts worker_count - 1 threads, unless the host's are used. desc may be null. The pool belongs to the caller.
 * HD_OUT_OF_MEMORY when a thread cannot be made, HD_TOO_LARGE beyond HD_MAX_WORKERS, HD_INVALID_ARGUMENT for one of
 * enqueue and finish without the other; then nothing is left behind. */
hd_result hd_jobs_create(const hd_jobs_desc *desc, hd_jobs **out);

/* Joins the threads. Nothing may be submitted or waited for any more. Before an hd_vk that uses the pool is destroyed
 * it is a mistake: the log has it, and the pool ends with the last hd_vk. Null is allowed. */
void hd_jobs_destroy(hd_jobs *jobs);

/* Workers, the caller included: worker indices are below this. 1 for a null pool. */
uint32_t hd_jobs_worker_count(const hd_jobs *jobs);

/* At the start and at the end of the part of a frame that uses jobs. A worker that sleeps takes 15 to 30 us to wake up;
 * after warm the workers are awake (no more of them than processors) and search for work until rest, but no longer than
 * 2 ms without any. rest lets workers without work sleep at once and takes loops back from a host. rest does not wait
 * for jobs that still run, except in a host's loops. Neither has to be called, nor in pairs. Any thread, not inside a
 * job. */
void hd_jobs_warm(hd_jobs *jobs);
void hd_jobs_rest(hd_jobs *jobs);

/* Counts unfinished jobs. All zero is a counter with none. Must live until hd_jobs_wait returned. */
typedef struct hd_counter {
    uint64_t state; /* private: unfinished jobs, and the waiter that sleeps until there are none */
} hd_counter;

typedef void (*hd_job_fn)(void *user, uint32_t worker);

/* A job in the caller's memory; must live, unchanged, until its counter was waited for. */
typedef struct hd_job {
    hd_job_fn fn;
    void *user;
    const char *name;    /* for the profiler; null: none */
    hd_counter *counter; /* private, as the next two: set by submit */
    struct hd_job *next;
    uint32_t run;
    bool critical; /* goes before jobs that are not: what most of a frame waits for. Of 64 jobs that a worker takes one
                      is of the others, if there are any, so that nothing waits for ever. */
} hd_job;

/* Submits count jobs that run in any order on any worker, critical ones first. Allocates nothing. Any thread, jobs
 * themselves included. counter is not null, and may be used for several submits before one wait. */
void hd_jobs_submit(hd_jobs *jobs, hd_job *job, uint32_t count, hd_counter *counter);

/* Runs jobs, also of other counters, until counter is down to zero. What the counter's jobs wrote is then visible. Any
 * thread: of the threads that are not the pool's own one works at a time (as worker 0); others that wait meanwhile
 * sleep. Jobs of one pool may wait for jobs of another pool, but not in a circle: a wait runs jobs of its pool alone.
 * Inside a job, wait only for jobs that this job submitted: another job that the wait picks up runs on top of the
 * waiting job, and must not wait for it in turn. */
void hd_jobs_wait(hd_jobs *jobs, hd_counter *counter);

/* fn gets [begin, end) of 0 .. count - 1; worker is the index of the worker that runs fn, below hd_jobs_worker_count.
 * The split depends on count and grain alone: chunk c is [c * grain, min(count, (c + 1) * grain)). grain 0 is taken as
 * 1. Inside a critical job its helpers are critical. */
typedef void (*hd_range_fn)(uint32_t begin, uint32_t end, uint32_t worker, void *user);
void hd_jobs_parallel_for(hd_jobs *jobs, uint32_t count, uint32_t grain, hd_range_fn fn, void *user);

/* Jobs that depend on one another. fn runs once for each node, after it has returned for all nodes that have this one
 * among their successors; what those wrote is visible. Nodes on or behind a circle never run. */
typedef void (*hd_node_fn)(uint32_t node, uint32_t worker, void *user);
typedef struct hd_dag {
    uint32_t node_count;
    /* node_count + 1 elements: the successors of node n are succ[succ_begin[n]] .. succ[succ_begin[n + 1] - 1] */
    const uint32_t *succ_begin;
    const uint32_t *succ;
    const uint32_t *pred_count; /* how often each node stands in succ */
    hd_node_fn fn;
    void *user;
    const char *name; /* of all its jobs, for the profiler; null: none. With one worker there are no jobs to tell of. */
    const bool *critical; /* one a node: ready nodes with true run before other ready nodes; null: none is critical */
} hd_dag;

/* Private; need not be initialised. */
typedef struct hd_node {
    hd_job job;
    void *dag;
    uint32_t pending;
} hd_node;

/* Runs all nodes and returns when they are done; allocates nothing. nodes: node_count of them, the caller's, until
 * then. Waits as hd_jobs_wait does. */
void hd_jobs_run_dag(hd_jobs *jobs, const hd_dag *dag, hd_node *nodes);

HD_API_END
#endif
