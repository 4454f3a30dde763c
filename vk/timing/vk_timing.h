/* The door of vk/timing: times of frames. */
#ifndef HDI_VK_TIMING_H
#define HDI_VK_TIMING_H

#include "state.h"

/* ---- timing.c ---- */
/* An object's name for tools, where they listen; name may be null. */
void hdi_vk_name(const hd_vk *vk, VkObjectType type, uint64_t handle, const char *name);
hd_result hdi_vk_timing_open(hd_vk *vk, uint32_t frames);
void hdi_vk_timing_close(hd_vk *vk);
/* Queries and room for a frame; before it is recorded. Does nothing where frames are not timed. */
hd_result hdi_vk_timing_begin(hdi_vk_frame *frame);
/* Notes what there is to measure; the frame has been recorded. */
hd_result hdi_vk_timing_note(hdi_vk_frame *frame);
void hdi_vk_timing_note_submit(hdi_vk_frame *frame, uint32_t queue, uint64_t begin_ns, uint64_t end_ns);
/* Any worker. after: 0 before the pass, 1 behind it. */
void hdi_vk_timing_stamp(const hdi_vk_frame *frame, VkCommandBuffer commands, uint32_t queue, uint32_t pass,
                         uint32_t after);
/* The slot's frame has finished. */
void hdi_vk_timing_collect(hd_vk *vk, hdi_vk_slot *slot);

#endif
