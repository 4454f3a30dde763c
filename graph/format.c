#include "tables.h"

/* What heddle must know of VkFormat numbers: texel bytes of the uncompressed and block-compressed core formats (blocks
 * are given per texel rounded up, an upper bound), and the aspects of the depth-stencil formats. Only the default sizes
 * depend on it; a device's own sizes come through the size callback. */

typedef struct format_range {
    uint16_t first, last;
    uint8_t bytes;
} format_range;

/* Ranges of VkFormat with equal texel size, ascending. */
static const format_range ranges[] = {
    {1, 1, 1},     {2, 8, 2},      {9, 15, 1},     {16, 22, 2},    {23, 36, 3},   {37, 69, 4},    {70, 76, 2},
    {77, 83, 4},   {84, 90, 6},    {91, 97, 8},    {98, 100, 4},   {101, 103, 8}, {104, 106, 12}, {107, 109, 16},
    {110, 112, 8}, {113, 115, 16}, {116, 118, 24}, {119, 121, 32}, {122, 123, 4}, {124, 124, 2},  {125, 126, 4},
    {127, 127, 1}, {128, 128, 3},  {129, 129, 4},  {130, 130, 8},  {131, 184, 1},
};

uint32_t hdi_format_bytes(uint32_t format)
{
    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
        if (format >= ranges[i].first && format <= ranges[i].last)
            return ranges[i].bytes;
    }
    return 0;
}

bool hdi_format_has_depth(uint32_t format)
{
    return format >= 124 && format <= 130 && format != 127;
}

bool hdi_format_has_stencil(uint32_t format)
{
    return format >= 127 && format <= 130;
}

uint32_t hdi_format_aspects(uint32_t format)
{
    return (hdi_format_has_depth(format) ? HD_ASPECT_DEPTH : 0u) |
           (hdi_format_has_stencil(format) ? HD_ASPECT_STENCIL : 0u);
}

/* Colors of one layout stand side by side, UINT and SINT among them at the same places. */
bool hdi_format_is_integer(uint32_t format)
{
    if (format >= 9 && format <= 57) /* R8 to A8B8G8R8: UNORM, SNORM, USCALED, SSCALED, UINT, SINT, SRGB */
        return (format - 9) % 7 == 4 || (format - 9) % 7 == 5;
    if (format >= 58 && format <= 69) /* the two of 10 bits: without SRGB */
        return (format - 58) % 6 >= 4;
    if (format >= 70 && format <= 97) /* 16 bits: SFLOAT in the place of SRGB */
        return (format - 70) % 7 == 4 || (format - 70) % 7 == 5;
    return format >= 98 && format <= 121 && (format - 98) % 3 < 2; /* 32 and 64 bits: UINT, SINT, SFLOAT */
}

static uint64_t align_up(uint64_t value, uint64_t alignment)
{
    return (value + alignment - 1) & ~(alignment - 1);
}

void hdi_default_need(const hd_resource_info *info, hd_memory_need *need)
{
    need->heap = info->host_visible ? 1 : 0;
    if (info->is_buffer) {
        need->alignment = 256;
        need->bytes = align_up(info->bytes, 256);
        return;
    }
    uint64_t texels = 0;
    for (uint32_t m = 0; m < info->mips; m++) {
        uint64_t w = info->width >> m, h = info->height >> m, d = info->depth >> m;
        texels += (w ? w : 1) * (h ? h : 1) * (d ? d : 1);
    }
    uint32_t texel_bytes = hdi_format_bytes(info->format);
    need->alignment = 65536;
    need->bytes = align_up(texels * info->layers * info->samples * (texel_bytes ? texel_bytes : 16), 65536);
}

void hdi_resource_info(const hdi_decl *decl, uint32_t res, hd_resource_info *out)
{
    const hdi_res_info *info = &decl->res_info[res];
    uint32_t pair = decl->res_pair[res];
    uint32_t flags = decl->res_flags[res];
    *out = (hd_resource_info){
        .is_buffer = (flags & HDI_RES_BUFFER) != 0,
        .host_visible = (flags & HDI_RES_HOST) != 0,
        .concurrent_possible = info->sharing != HD_SHARING_EXCLUSIVE,
        .width = info->width,
        .height = info->height,
        .depth = info->depth,
        .format = info->format,
        .mips = info->mips,
        .layers = info->layers,
        .samples = info->samples,
        .flags = info->flags,
        .usage = info->usage,
        .bytes = info->bytes,
    };
    if (pair != HDI_NONE) { /* the two take turns: each must do for both */
        out->usage |= decl->res_info[pair].usage;
        out->host_visible |= (decl->res_flags[pair] & HDI_RES_HOST) != 0;
    }
}
