#include "tables.h"

/* What heddle must know of VkFormat numbers: texel bytes of the uncompressed and block-compressed core formats (blocks
 * are given per texel rounded up, an upper bound), blocks for what copies and clears, and the aspects of the
 * depth-stencil formats. Only the default sizes depend on the first; a device's own sizes come through the size
 * callback. */

/* From the first block-compressed format on: 1. */
enum { LAST_COMPRESSED = 184 };
const uint8_t hdi_texel_bytes[HDI_FIRST_COMPRESSED] = {
    0, 1, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2,
    2, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4,
    4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4,
    4, 4, 4, 4, 2, 2, 2, 2, 2, 2, 2, 4, 4, 4, 4, 4, 4, 4, 6, 6, 6, 6,
    6, 6, 6, 8, 8, 8, 8, 8, 8, 8, 4, 4, 4, 8, 8, 8, 12, 12, 12, 16, 16, 16,
    8, 8, 8, 16, 16, 16, 24, 24, 24, 32, 32, 32, 4, 4, 2, 4, 4, 1, 3, 4, 8,
};

uint32_t hdi_format_bytes(uint32_t format)
{
    return format < HDI_FIRST_COMPRESSED ? hdi_texel_bytes[format] : format <= LAST_COMPRESSED;
}

hdi_texel_block hdi_format_block(uint32_t format)
{
    static const uint8_t astc[14][2] = {{4, 4}, {5, 4}, {5, 5}, {6, 5}, {6, 6}, {8, 5}, {8, 6},
                                        {8, 8}, {10, 5}, {10, 6}, {10, 8}, {10, 10}, {12, 10}, {12, 12}};
    static const struct {
        uint32_t format, bytes;
    } later[] = {
        {1000156007, 2}, {1000156008, 4}, /* R10X6, R10X6G10X6 */
        {1000156017, 2}, {1000156018, 4}, /* R12X4, R12X4G12X4 */
        {1000340000, 2}, {1000340001, 2}, /* A4R4G4B4, A4B4G4R4 */
        {1000464000, 4},                  /* R16G16 of 5 bits behind the point */
        {1000470000, 2}, {1000470001, 1}, /* A1B5G5R5, A8 */
    };
    const uint32_t first_astc = 157, first_float = 1000066000; /* of ASTC, one by one */
    if (format >= first_float && format < first_float + 14)
        return (hdi_texel_block){astc[format - first_float][0], astc[format - first_float][1], 16};
    for (uint32_t i = 0; i < sizeof(later) / sizeof(later[0]) && format > LAST_COMPRESSED; i++) {
        if (later[i].format == format)
            return (hdi_texel_block){1, 1, later[i].bytes};
    }
    if (format < HDI_FIRST_COMPRESSED || format > LAST_COMPRESSED)
        return (hdi_texel_block){1, 1, hdi_format_bytes(format)};
    if (format >= first_astc)
        return (hdi_texel_block){astc[(format - first_astc) / 2][0], astc[(format - first_astc) / 2][1], 16};
    bool small = format <= 134 ||                  /* BC1 */
                 format == 139 || format == 140 || /* BC4 */
                 (format >= 147 && format <= 150) || /* ETC2 without alpha, or with one bit of it */
                 format == 153 || format == 154;   /* EAC of one channel */
    return (hdi_texel_block){4, 4, small ? 8 : 16};
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

static uint64_t shrink(uint32_t side, uint32_t mip)
{
    return side >> mip ? side >> mip : 1;
}

/* Of resources and of what size callbacks are told of them: the fields have the same names. */
#define DEFAULT_BYTES(info, is_buffer)                                                                                 \
    ((is_buffer) ? align_up((info)->bytes, HDI_BUFFER_ALIGNMENT)                                                       \
                 : image_bytes((info)->width, (info)->height, (info)->depth, (info)->format, (info)->mips,             \
                               (uint64_t)(info)->layers * (info)->samples))

static inline uint64_t image_bytes(uint32_t width, uint32_t height, uint32_t depth, uint32_t format, uint32_t mips,
                                   uint64_t copies)
{
    uint64_t texels = (uint64_t)width * height * depth;
    for (uint32_t m = 1; m < mips; m++)
        texels += shrink(width, m) * shrink(height, m) * shrink(depth, m);
    uint32_t bytes = hdi_format_bytes(format);
    return align_up(texels * copies * (bytes ? bytes : 16), HDI_IMAGE_ALIGNMENT);
}

uint64_t hdi_default_bytes(const hdi_res_info *info)
{
    return DEFAULT_BYTES(info, info->bytes != 0);
}

void hdi_default_need(const hd_resource_info *info, hd_memory_need *need)
{
    need->heap = info->host_visible ? 1 : 0;
    need->alignment = info->is_buffer ? HDI_BUFFER_ALIGNMENT : HDI_IMAGE_ALIGNMENT;
    need->bytes = DEFAULT_BYTES(info, info->is_buffer);
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
        .usage = hdi_res_usage(decl, res),
        .bytes = info->bytes,
        .view_format = flags & HDI_RES_EXTERNAL || info->seen == HDI_SEVERAL_FORMATS ? 0 : info->seen,
    };
    if (pair != HDI_NONE) { /* the two take turns: each must do for both */
        out->usage |= hdi_res_usage(decl, pair);
        out->host_visible |= (decl->res_flags[pair] & HDI_RES_HOST) != 0;
    }
}
