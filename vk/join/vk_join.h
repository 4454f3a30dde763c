/* The door of vk/join: what earlier frames left and what a frame waits for. */
#ifndef HDI_VK_JOIN_H
#define HDI_VK_JOIN_H

#include "state.h"

/* ---- known.c ---- */
/* wait: values by queue, 0: none. Those go that are known, or that the end of a queue's last frame stands behind, which
 * is waited for as well. */
void hdi_vk_drop_known(const hd_vk *vk, const uint64_t *known, uint64_t *wait);
/* Barriers that an earlier one of the same queue contains go. */
void hdi_vk_drop_contained(hdi_vk_frame *frame);
/* Waits that the submit itself or an earlier wait of its queue contains go. */
void hdi_vk_drop_implied(hdi_vk_frame *frame);

/* ---- join.c ---- */
/* Finds what the frame must wait for of earlier ones: before, joins, join_values. The ends are known. */
hd_result hdi_vk_join_frames(hdi_vk_frame *frame);
/* Brings the spans up to date before a frame of another plan; while the heaps of the last one are there. */
void hdi_vk_catch_up(hd_vk *vk);
/* import.c: before a frame joins an import; before: what is known of the object. */
hd_result hdi_vk_check_import(const hdi_vk_frame *frame, uint32_t res, hdi_vk_import *before);
/* After a failure or work outside of plans: every queue waits for everything before it goes on. */
void hdi_vk_forget_left(hd_vk *vk);

#endif
