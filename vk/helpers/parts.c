#include "helpers.h"

#include "vk_memory.h"

/* Which parts of resources helpers copy to which: what Vulkan cannot copy is refused before a pass is declared. */

bool hdi_vk_fit_part(hdi_vk_part *p)
{
    hd_range *range = &p->range;
    if (p->buffer) {
        if (range->offset > p->info->bytes)
            return false;
        if (range->bytes == 0)
            range->bytes = p->info->bytes - range->offset;
        return range->bytes <= p->info->bytes - range->offset;
    }
    if (range->mip_base >= p->info->mips || range->layer_base >= p->info->layers)
        return false;
    if (range->mip_count == 0)
        range->mip_count = (uint16_t)(p->info->mips - range->mip_base);
    if (range->layer_count == 0)
        range->layer_count = p->info->layers - range->layer_base;
    return range->mip_count <= p->info->mips - range->mip_base &&
           range->layer_count <= p->info->layers - range->layer_base;
}

/* The level that is meant where one level is; of depth and stencil the one aspect that is. */
void hdi_vk_one_level(hdi_vk_part *p)
{
    if (p->buffer)
        return;
    p->range.mip_count = 1;
    const uint32_t both = HD_ASPECT_DEPTH | HD_ASPECT_STENCIL;
    if (hdi_format_aspects(p->info->format) == both && (!p->range.aspect || p->range.aspect == both))
        p->range.aspect = HD_ASPECT_DEPTH;
}

VkExtent3D hdi_vk_extent(const hdi_res_info *info, uint32_t mip)
{
    uint32_t w = info->width >> mip, h = info->height >> mip, d = info->depth >> mip;
    return (VkExtent3D){w ? w : 1, h ? h : 1, d ? d : 1};
}

/* Packed bytes of a level; 0: not known. */
uint64_t hdi_vk_level_bytes(const hdi_vk_part *p)
{
    VkExtent3D e = hdi_vk_extent(p->info, p->range.mip_base);
    hdi_texel_block block = hdi_format_block(p->info->format);
    if (p->range.aspect == HD_ASPECT_STENCIL)
        block.bytes = 1;
    else if (p->range.aspect == HD_ASPECT_DEPTH && hdi_format_has_stencil(p->info->format))
        block.bytes = p->info->format == VK_FORMAT_D16_UNORM_S8_UINT ? 2 : 4;
    uint64_t slices = (uint64_t)e.depth * p->range.layer_count;
    return hdi_texel_blocks(e.width, block.width) * hdi_texel_blocks(e.height, block.height) * slices * block.bytes;
}

/* How much memory the device reads or writes is then not known either. */
const char *const hdi_vk_unknown_texels = "heddle does not know the size of such texels";

const char *const hdi_vk_multisampled = "copy: several samples go to or from an image with as many only";

/* Null, or why one image cannot be copied to the other. Colors to depth of as many bytes: an extension does that. */
const char *hdi_vk_copy_fault(const hdi_vk_part *from, const hdi_vk_part *to)
{
    VkExtent3D x = hdi_vk_extent(from->info, from->range.mip_base), y = hdi_vk_extent(to->info, to->range.mip_base);
    if (from->range.mip_count != to->range.mip_count || from->range.layer_count != to->range.layer_count ||
        x.width != y.width || x.height != y.height || x.depth != y.depth)
        return "copy: the two images have other sizes or counts";
    if (from->info->samples != to->info->samples)
        return hdi_vk_multisampled;
    uint32_t a = from->info->format, b = to->info->format;
    bool a_depth = hdi_format_aspects(a) != 0, b_depth = hdi_format_aspects(b) != 0;
    if (a_depth && b_depth)
        return a == b ? NULL : "copy: depth and stencil of another format";
    hdi_texel_block a_block = hdi_format_block(a), b_block = hdi_format_block(b);
    if (a_block.width != b_block.width || a_block.height != b_block.height) /* of as many texels, one has more blocks */
        return "copy: the texels of the two images come in other blocks";
    return a_depth || b_depth || a_block.bytes == b_block.bytes || a_block.bytes == 0 || b_block.bytes == 0
               ? NULL
               : "copy: the texels of the two images have other numbers of bytes";
}

/* Of formats of one layout UINT comes before SINT, and what has a fraction before that. */
static bool is_signed_integer(uint32_t format)
{
    return hdi_format_is_integer(format) && hdi_format_is_integer(format - 1);
}

/* The same of a blit, which converts. */
const char *hdi_vk_blit_fault(const hdi_vk_part *from, const hdi_vk_part *to, VkFilter filter)
{
    uint32_t a = from->info->format, b = to->info->format;
    bool depth = hdi_format_aspects(a) || hdi_format_aspects(b);
    if ((uint32_t)filter > VK_FILTER_LINEAR && filter != VK_FILTER_CUBIC_EXT)
        return "blit: filter is no VkFilter";
    if (from->range.layer_count != to->range.layer_count)
        return "blit: the two images have other counts of layers";
    if (from->info->samples != 1 || to->info->samples != 1)
        return "blit: of an image with several samples";
    if (depth && a != b)
        return "blit: depth and stencil go to the same format only";
    if (hdi_format_is_integer(a) != hdi_format_is_integer(b))
        return "blit: integers go to integers only";
    if (is_signed_integer(a) != is_signed_integer(b))
        return "blit: UINT goes to UINT and SINT to SINT only";
    if (hdi_format_is_integer(a) && filter != VK_FILTER_NEAREST)
        return "blit: integers take VK_FILTER_NEAREST";
    return depth && filter != VK_FILTER_NEAREST ? "blit: depth and stencil take VK_FILTER_NEAREST" : NULL;
}

const char *hdi_vk_upload_fault(hdi_vk_part *p, uint64_t bytes)
{
    if (!p->buffer && p->info->samples != 1)
        return "upload: to an image with several samples";
    hdi_vk_one_level(p);
    uint64_t room = p->buffer ? p->range.bytes : hdi_vk_level_bytes(p);
    if (!p->buffer && room == 0)
        return hdi_vk_unknown_texels;
    if (p->buffer ? bytes > room : bytes != room)
        return "upload: the data has another size than what it goes to";
    if (p->buffer)
        p->range.bytes = bytes;
    return NULL;
}
