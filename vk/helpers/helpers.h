/* What helpers.c, parts.c and upload.c share. */
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
/* Null, or why one part cannot be copied to the other; blitted. Both are of images. */
const char *hdi_vk_copy_fault(const hdi_vk_part *from, const hdi_vk_part *to);
const char *hdi_vk_blit_fault(const hdi_vk_part *from, const hdi_vk_part *to, VkFilter filter);
extern const char *const hdi_vk_unknown_texels, *const hdi_vk_multisampled;

/* The range becomes the level that is meant where one level is; of depth and stencil the one aspect that is. */
void hdi_vk_one_level(hdi_vk_part *part);
VkExtent3D hdi_vk_extent(const hdi_res_info *info, uint32_t mip);
/* Packed bytes of a level; 0: not known. */
uint64_t hdi_vk_level_bytes(const hdi_vk_part *part);

void hdi_vk_record_upload(hd_recorder *recorder, hd_resource to, const hd_range *range, const hdi_vk_staged *from);

#endif
