/* What bench_jobs measures, one function a figure: nanoseconds of one round on the pool in use. */
#ifndef JOBS_MEASURE_H
#define JOBS_MEASURE_H

#include <stdint.h>

#include <heddle/jobs.h>

enum { JOBS_BATCH = 1000, JOBS_MOST_ITEMS = 100000, JOBS_MOST_NODES = 10000 };

typedef uint64_t (*jobs_measure)(void);

/* What the next rounds use. */
extern hd_jobs *jobs_pool;
extern uint32_t jobs_work;  /* steps of the busy loop that an item or a job takes */
extern uint32_t jobs_items; /* of a parallel_for */
extern uint32_t jobs_grain;
extern uint32_t jobs_nodes; /* of a graph: layers of 50 nodes, each with two successors in the next layer */

/* Of 41 rounds, after one that does not count. */
double jobs_median(jobs_measure measure);
double jobs_least(jobs_measure measure);
/* Steps that take so long on one thread. */
uint32_t jobs_steps_of(double nanoseconds);
/* Of a cache line between two threads; 0 where there is one processor. */
double jobs_round_trip(void);

uint64_t jobs_one_job(void); /* submit and wait */
uint64_t jobs_batch(void);
uint64_t jobs_batch_serial(void);
uint64_t jobs_batch_cold(void); /* the workers have gone to sleep before: what a frame's first batch pays */
uint64_t jobs_range(void);
uint64_t jobs_range_serial(void);
uint64_t jobs_range_cold(void);
uint64_t jobs_range_warm(void); /* the same after hd_jobs_warm, a tenth of a millisecond before */
uint64_t jobs_graph(void);      /* making the adjacency is part of the time */
uint64_t jobs_graph_serial(void);
uint64_t jobs_start(void);      /* from the submit to the job's start, on a worker that searches */
uint64_t jobs_start_cold(void); /* on one that sleeps */
uint64_t jobs_submit_cold(void); /* what waking it costs the submitter */

#endif
