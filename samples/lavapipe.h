/* Shared by programs that execute frames. */
#ifndef LAVAPIPE_H
#define LAVAPIPE_H

/* Mesa's CPU driver before version 25 drops a barrier that begins or ends a command buffer, also while its threads still
 * rasterize what an earlier command buffer draws: memory that changes hands there holds wrong values now and then. It is
 * right without such threads. Where the system has this driver, this sets LP_NUM_THREADS=0, unless the variable is set.
 * Call it before the first Vulkan instance, and before other threads start. */
void avoid_lavapipe_threads(void);

#endif
