/* What helpers.c and upload.c share. */
#ifndef HDI_VK_HELPERS_H
#define HDI_VK_HELPERS_H

#include "state.h"

/* A part of a resource. */
typedef struct hdi_vk_part {
    const hdi_res_info *info;
    bool buffer;
    hd_range range;
} hdi_vk_part;

/* Bytes in staging memory. */
typedef struct hdi_vk_staged {
    VkBuffer buffer;
    uint64_t offset, bytes;
} hdi_vk_staged;

/* Makes counts explicit; false: the resource has no such range. */
bool hdi_vk_fit_part(hdi_vk_part *part);
/* Null, or why so many bytes cannot be copied there; of images the range becomes the one level that is meant. */
const char *hdi_vk_upload_fault(hdi_vk_part *part, uint64_t bytes);
void hdi_vk_record_upload(hd_recorder *recorder, hd_resource to, const hd_range *range, const hdi_vk_staged *from);

#endif
