/* The door of vk/frame: cutting, recording and handing over a frame, the host thread, waits. */
#ifndef HDI_VK_FRAME_H
#define HDI_VK_FRAME_H

#include "state.h"

/* ---- pool.c ---- */
/* Pools for `buffers` command buffers of a kind, of which at most `at_once` are in recording at the same time. */
hd_result hdi_vk_pools_need(hd_vk *vk, hdi_vk_slot *slot, uint32_t kind, uint32_t buffers, uint32_t at_once);
hdi_vk_pool *hdi_vk_pool_take(hd_vk *vk, hdi_vk_slot *slot, uint32_t kind, hd_result *result);
void hdi_vk_pool_give(hd_vk *vk, hdi_vk_slot *slot, hdi_vk_pool *pool);
/* A command buffer in recording state. inheritance: null for primary ones. */
hd_result hdi_vk_pool_begin(hd_vk *vk, hdi_vk_pool *pool, const VkCommandBufferInheritanceInfo *inheritance,
                            VkCommandBuffer *out);
hd_result hdi_vk_events(hd_vk *vk, hdi_vk_slot *slot, uint32_t count);
/* Everything back for the slot's next frame, whose last one has finished. */
hd_result hdi_vk_slot_reset(hd_vk *vk, hdi_vk_slot *slot);
void hdi_vk_slot_free(hd_vk *vk, hdi_vk_slot *slot);

/* ---- cut.c ---- */
/* Batches, strands and the order in which they are recorded. */
hd_result hdi_vk_cut(hdi_vk_frame *frame);
/* The first scope that begins at or behind a command. */
uint32_t hdi_vk_scope_from(const hdi_vk_frame *frame, uint32_t command);

/* ---- record.c, rendering.c, barriers.c ---- */
hd_result hdi_vk_record(hdi_vk_frame *frame);
void hdi_vk_note_failure(hdi_vk_slot *slot, hd_result result);
/* A record function, which may be null, between the engine's callbacks. queue: of hd_vk. */
void hdi_vk_call_pass(hd_recorder *recorder, const char *name, uint32_t queue, hd_record_fn record, void *user);
/* Begins the rendering of a scope. Any worker; each is begun once a frame. */
hd_result hdi_vk_begin_rendering(hdi_vk_frame *frame, VkCommandBuffer commands, uint32_t scope, VkRenderingFlags flags);
/* What secondary command buffers inherit of the scope. */
typedef struct hdi_vk_inherited {
    VkCommandBufferInheritanceInfo info;
    VkCommandBufferInheritanceRenderingInfo rendering;
} hdi_vk_inherited;
/* Format and usage of a view of an image of that key, by the uses of a pass; format 0: that of the first. False: none
 * has that format. */
bool hdi_vk_see(const hdi_vk_frame *frame, uint32_t pass, uint32_t res, const hdi_vk_key *key, uint32_t format,
                hdi_vk_shape *out);
/* Of a use, with explicit counts. */
hd_range hdi_vk_use_range(const hdi_vk_frame *frame, uint32_t use);
void hdi_vk_inherit_rendering(const hdi_vk_frame *frame, uint32_t scope, hdi_vk_inherited *out);
/* Puts the bound objects into the barriers of the plan; records a batch of them. */
void hdi_vk_patch_barriers(hdi_vk_frame *frame);
void hdi_vk_record_barriers(const hdi_vk_frame *frame, VkCommandBuffer commands, const hd_plan_command *command);

/* ---- execute.c ---- */
/* What hd_vk_compile makes of its desc (may be null); queues: room for HD_MAX_QUEUES. */
hd_compile_desc hdi_vk_complete_desc(hd_vk *vk, const hd_compile_desc *desc, hd_queue_desc *queues);

/* ---- submit.c ---- */
/* The histories' clears are submitted, so the timelines' values are known. */
void hdi_vk_find_ends(hdi_vk_frame *frame);
hd_result hdi_vk_submit(hdi_vk_frame *frame);
/* Waits of a queue for everything that was handed over, but for what it knows; room for queue_count + 1. */
uint32_t hdi_vk_base_waits(const hd_vk *vk, uint32_t queue, VkSemaphoreSubmitInfo *waits);
/* CPU wait for timeline values (0: none) of all queues. even_lost: waits on for a bounded time on a lost device. */
hd_result hdi_vk_wait_values(hd_vk *vk, const uint64_t *values, bool even_lost);
/* After a call that ran out of memory but must not fail: waits a little, for a bounded time in all. */
bool hdi_vk_try_again(VkResult result, uint32_t *tries);
/* For the last frame of a slot; for all frames. */
hd_result hdi_vk_wait_slot(hd_vk *vk, const hdi_vk_slot *slot);
hd_result hdi_vk_wait_all(hd_vk *vk);
/* All that the driver was given has finished, or the device is lost and time is up. */
void hdi_vk_drain(hd_vk *vk);

/* ---- recorder.c ---- */
/* What host passes need to know handles of lists by. */
hd_result hdi_vk_keep_aliases(const hdi_vk_frame *frame);

/* ---- host.c ---- */
hd_result hdi_vk_make_timeline(hd_vk *vk, const char *name, VkSemaphore *out);
hd_result hdi_vk_host_start(hd_vk *vk);
void hdi_vk_host_push(hd_vk *vk, hdi_vk_slot *slot);
/* Waits for a frame that was pushed, all its queues included. */
hd_result hdi_vk_host_wait(hd_vk *vk, uint64_t frame);
/* Waits until the host's timeline has a value that a frame which was pushed signals; 0: does not wait. */
hd_result hdi_vk_host_wait_value(hd_vk *vk, uint64_t value);
void hdi_vk_host_stop(hd_vk *vk);

#endif
