/* A device for tests of the executor, under the Khronos validation layer where it is installed, and hooks between
 * heddle and the driver. */
#ifndef HDT_VK_FIXTURE_H
#define HDT_VK_FIXTURE_H

#include <stdatomic.h>

#include <heddle/vk.h>

#include "vk_families.h"

typedef struct hdt_vk {
    hd_vk *vk;
    hd_vk_info info;
    VkDebugUtilsMessengerEXT messenger;
    uint32_t layer;       /* Vulkan version of the validation layer; 0: none */
    atomic_uint messages; /* warnings and errors of the validation layer */
} hdt_vk;

/* Prints what heddle logs. */
hd_log hdt_log(void);

/* Keeps drivers and layers loaded, and lavapipe right (samples/lavapipe.h). For tests that do not call hdt_vk_open, which does it too. */
void hdt_vk_keep_libraries(void);

/* From here on the process opens devices with the validation layer alone: without VK_LAYER_HEDDLE_order, which hands it
 * submits when they can run, above a version that needs it. */
void hdt_vk_layer_alone(void);

/* Makes a device by desc (may be null), with validation and synchronization validation. */
hd_result hdt_vk_open(hdt_vk *f, const hd_vk_desc *desc);
/* Waits, destroys; returns how many messages the validation layer had. */
unsigned hdt_vk_close(hdt_vk *f);
/* The result says that the machine has no device to test with. */
bool hdt_vk_none(hd_result result);

#define HDT_FN(f, name) ((PFN_##name)(f)->info.get_instance_proc((f)->info.instance, #name))

/* Pass as get_instance_proc: counts what heddle creates, and lets the k-th vkQueueSubmit2 fail. Process-wide. */
typedef struct hdt_hooks {
    atomic_uint creations; /* of images, buffers, views, pools, semaphores, events, memory, and command buffers */
    atomic_uint submits;   /* calls */
    atomic_uint batches;   /* VkSubmitInfo2 in them */
    atomic_uint empty_last, empty_before; /* those without commands: at the end of a call, before others in it */
    atomic_uint fail_submit;              /* 1: the next, and all after it; 0: none */
    VkResult failure;
} hdt_hooks;
extern hdt_hooks hdt_vk_hooks;
/* With on, the hooks pretend that the device has queue families for graphics, transfer and compute (vk_families.h), and
 * a seed other than 0 takes submits in any order that their waits allow. */
void hdt_vk_three_families(bool on, uint64_t seed);
PFN_vkVoidFunction VKAPI_PTR hdt_vk_hooked(VkInstance instance, const char *name);

#endif
