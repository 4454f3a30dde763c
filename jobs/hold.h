/* A pool that parts of heddle go on using between calls outlives its hd_jobs_destroy; in create.c. */
#ifndef HDI_JOBS_HOLD_H
#define HDI_JOBS_HOLD_H

#include <heddle/jobs.h>

/* Null is allowed. The last to let go ends the pool, where it has been destroyed. */
void hdi_jobs_hold(hd_jobs *jobs);
void hdi_jobs_let_go(hd_jobs *jobs);

#endif
