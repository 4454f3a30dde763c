/* What the executor tells an observer of its calls, such as vk/capture: queues, frames, passes, and the order of its own
 * threads. The executor asks the engine's get_instance_proc for the function HDI_VK_OBSERVER, which a Vulkan loader does
 * not have and a capture's has. Any thread that records or runs passes may call. */
#ifndef HDI_VK_OBSERVER_H
#define HDI_VK_OBSERVER_H

#include <heddle/vk.h>

struct hdi_vk_frame;

typedef struct hdi_vk_observer {
    void (*queue)(VkQueue queue, uint32_t kind, uint32_t family);
    /* A frame begins. Returns the number of the first of its passes; numbers of frames do not overlap. */
    uint32_t (*frame)(uint64_t frame, uint32_t pass_count);
    void (*pass_begin)(const struct hdi_vk_frame *frame, VkCommandBuffer commands, uint32_t pass);
    void (*pass_end)(VkCommandBuffer commands);
    /* A host pass: what it declares, kept in the arena of the frame's slot until it has run; and that it runs now. */
    hd_result (*host_pass_kept)(const struct hdi_vk_frame *frame, uint32_t pass, void **kept);
    void (*host_pass)(const void *kept);
    /* The thread that hears a value from a place comes behind the thread that told it. */
    void (*told)(const void *place, uint64_t value);
    void (*heard)(const void *place, uint64_t value);
} hdi_vk_observer;

#define HDI_VK_OBSERVER "hdi_vk_observer"
typedef const hdi_vk_observer *(VKAPI_PTR *hdi_vk_observer_fn)(void);

#endif
