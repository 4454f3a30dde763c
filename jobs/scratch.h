/* Scratch memory of jobs: an arena for each worker, so that a job allocates without a lock. What a job allocates stays
 * until the owner resets the scratch, between frames and while none of the owner's jobs runs. One scratch for each
 * owner (a graph): two graphs that share a pool do not share arenas. */
#ifndef HDI_SCRATCH_H
#define HDI_SCRATCH_H

#include "arena.h"

typedef struct hdi_scratch hdi_scratch;

/* For worker indices below worker_count (hd_jobs_worker_count; 1 where there is no pool). HD_OUT_OF_MEMORY leaves
 * nothing behind. */
hd_result hdi_scratch_create(uint32_t worker_count, const hd_allocator *allocator, hdi_scratch **out);
void hdi_scratch_destroy(hdi_scratch *scratch); /* null is allowed */

/* The worker's arena, for the job that runs as this worker. It is reset by hdi_scratch_reset only. A job that waits
 * must expect that others ran on this worker meanwhile and allocated here: hdi_arena_keep must not reach back over a
 * wait. */
hdi_arena *hdi_scratch_arena(hdi_scratch *scratch, uint32_t worker);

/* True when some arena ran out of memory since the last reset: the answer of all workers together. */
bool hdi_scratch_failed(const hdi_scratch *scratch);

/* Forgets everything that was handed out. The same allocations take no new memory from the allocator afterwards,
 * whichever worker makes which of them. */
void hdi_scratch_reset(hdi_scratch *scratch);

#endif
