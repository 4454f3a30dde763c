/* The door of vk/window: swapchains and semaphores of the engine. */
#ifndef HDI_VK_WINDOW_H
#define HDI_VK_WINDOW_H

#include "state.h"

/* ---- sync.c ---- */
/* hd_vk_sync_import, with told. */
hd_result hdi_vk_sync_import(hd_vk *vk, const hd_graph *graph, hd_resource import, const hd_vk_sync *sync,
                             hdi_vk_told *told);
/* Those of a graph's frame, which was executed or failed, or those that tell told; the other one is null. */
void hdi_vk_drop_syncs(hd_vk *vk, const hd_graph *graph, const hdi_vk_told *told);
/* First command of a plan's submit that waits for such a semaphore; what stands before it need not. HD_NONE: none, or
 * the submit begins with it. */
uint32_t hdi_vk_synced_command(const hdi_vk_frame *frame, uint32_t submit);
/* The frame was handed over. */
void hdi_vk_tell_syncs(const hdi_vk_frame *frame);
/* Before a frame is handed over: what the binary semaphores of the engine that it waits for may depend on. */
hd_result hdi_vk_await_before(const hdi_vk_frame *frame);
/* After it was: what the binary semaphores of the engine that it signals depend on. */
hd_result hdi_vk_await_after(const hdi_vk_frame *frame);

/* ---- swapchain.c ---- */
/* Those that live longer than the hd_vk lose what they have of it. */
void hdi_vk_drop_swapchains(hd_vk *vk);

#endif
