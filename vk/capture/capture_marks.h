/* What the executor tells a capture: its queues, what its passes declare, which frame begins, and what its threads tell
 * each other. Each does nothing where no capture is open. */
#ifndef HDI_CAPTURE_MARKS_H
#define HDI_CAPTURE_MARKS_H

#include <heddle/capture.h>

struct hdi_vk_frame;

typedef struct hdi_cap_uses {
    hd_stream_access *accesses; /* resource: of the capture's objects */
    uint32_t count, name;
} hdi_cap_uses;

void hdi_cap_mark_queue(VkQueue queue, uint32_t kind, uint32_t family);
void hdi_cap_mark_frame(uint64_t frame);
/* Numbers of groups for so many passes, the first of them. */
uint32_t hdi_cap_groups(uint32_t count);
void hdi_cap_mark_pass(const struct hdi_vk_frame *frame, VkCommandBuffer commands, uint32_t pass);
void hdi_cap_mark_pass_end(VkCommandBuffer commands);
/* A host pass: what it declares, kept in the arena of the frame's slot; and that it runs now. */
hd_result hdi_cap_keep_host_pass(const struct hdi_vk_frame *frame, uint32_t pass, hdi_cap_uses *out);
void hdi_cap_mark_host_pass(const hdi_cap_uses *uses);
/* Whoever hears a value from a place comes behind whoever told it. */
void hdi_cap_mark_tell(const void *place, uint64_t value);
void hdi_cap_mark_hear(const void *place, uint64_t value);

#endif
