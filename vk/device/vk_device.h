/* The door of vk/device: life of an hd_vk, its device, its functions, its errors. */
#ifndef HDI_VK_DEVICE_H
#define HDI_VK_DEVICE_H

#include "state.h"

/* ---- loader.c ---- */
PFN_vkGetInstanceProcAddr hdi_vk_find_loader(void);
/* Null, or the name of the first function that is missing. */
const char *hdi_vk_load_instance(hd_vk *vk);
const char *hdi_vk_load_device(hd_vk *vk);
/* Turns a VkResult into a result; what failed is a failure as by hdi_vk_fail. */
hd_result hdi_vk_result(hd_vk *vk, VkResult result, const char *what);
/* The device cannot go on; result comes back from every later call. Any thread. */
void hdi_vk_lose(hd_vk *vk, hd_result result);

/* ---- error.c ---- */
/* Around each call of the engine's. HD_INVALID_ARGUMENT: it must not be done, nor left. */
hd_result hdi_vk_enter(hd_vk *vk, const char *call);
/* Gives result back. graph: whose error it may be; null: none's. */
hd_result hdi_vk_leave(hd_vk *vk, hd_result result, const hd_graph *graph);
/* Logs a sentence and keeps it as the error of the call that runs, unless it has one. pass, resource: indices, or
 * HD_NONE. Gives result back. Any thread. */
hd_result hdi_vk_fail(hd_vk *vk, hd_result result, uint32_t pass, uint32_t resource, const char *format, ...)
    HDI_PRINTF(5, 6);
/* Adds to the error of the call that runs whose fault it is. */
void hdi_vk_blame(hd_vk *vk, uint32_t pass, uint32_t use, const char *format, ...) HDI_PRINTF(4, 5);
/* The same by a host pass of a slot's frame; once that has finished, the other one takes it and gives it back. */
void hdi_vk_fail_later(hd_vk *vk, hdi_vk_slot *slot, const hd_error *error);
hd_result hdi_vk_failed_before(hd_vk *vk, hdi_vk_slot *slot);

/* ---- names.c ---- */
typedef struct hdi_vk_text {
    char text[320];
} hdi_vk_text;
/* As Vulkan calls them; the room is for what has no name of its own. */
const char *hdi_vk_format_name(uint32_t format, hdi_vk_text *room);
const char *hdi_vk_usage_names(uint32_t usage, hdi_vk_text *room);

/* ---- device.c ---- */
hd_result hdi_vk_make(hd_vk *vk, const hd_vk_desc *desc);
hd_result hdi_vk_adopt(hd_vk *vk, const hd_vk_desc *desc);

/* ---- wishes.c ---- */
/* Names the first feature that the engine wants and the device lacks. */
hd_result hdi_vk_check_features(hd_vk *vk, const hd_vk_desc *desc);
/* Names the first feature that heddle needs and an adopted device was made without, as far as the engine says. */
hd_result hdi_vk_check_adopted(hd_vk *vk, const hd_vk_desc *desc);
/* After a failure for lack of one: logs which extensions of the engine's are not there. */
void hdi_vk_name_missing_extensions(hd_vk *vk, const hd_vk_desc *desc, bool device);

/* ---- vk.c ---- */
/* Checks version and features, remembers limits. */
hd_result hdi_vk_use_physical_device(hd_vk *vk, VkPhysicalDevice device);

#endif
