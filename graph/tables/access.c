#include "tables.h"
#include "vk_numbers.h"
#include "vk_words.h"

#include <inttypes.h>
#include <stdio.h>

/* THE table: what each named access does, in which stages, and which resources and passes may have it. Everything else
 * looks it up here.
 *
 * A resolve runs in COLOR_ATTACHMENT_OUTPUT, also of depth: it reads the attachment with COLOR_ATTACHMENT_READ and
 * writes its target with COLOR_ATTACHMENT_WRITE (Vulkan 1.3, "Render Pass Multisample Resolve Operations"). */

#define GFX (1u << HD_PASS_GFX)
#define COMPUTE (1u << HD_PASS_COMPUTE)
#define TRANSFER (1u << HD_PASS_TRANSFER)
#define HOST (1u << HD_PASS_HOST)

#define DEPTH_STAGES (HDI_STAGE_EARLY_FRAGMENT_TESTS | HDI_STAGE_LATE_FRAGMENT_TESTS)
#define SHADER_STAGES (HDI_STAGE_VERTEX_SHADER | HDI_STAGE_FRAGMENT_SHADER)
#define TRANSFER_STAGES (HDI_STAGE_COPY | HDI_STAGE_BLIT | HDI_STAGE_RESOLVE | HDI_STAGE_CLEAR)
#define DEPTH_RW (HDI_ACCESS_DEPTH_STENCIL_READ | HDI_ACCESS_DEPTH_STENCIL_WRITE)

enum { READ = 1, WRITE = 2, RW = 3 };
enum { IMAGE = 1, BUFFER = 2, BOTH = 3 };

#define ROW_OF(kind, word, what, where, stage_bits, access_bits, image_layout, image_bits, buffer_bits, types)         \
    {                                                                                                                  \
        .name = word, .stages = stage_bits, .access = access_bits, .layout = image_layout, .image_usage = image_bits,  \
        .buffer_usage = buffer_bits, .reads = ((what)&READ) != 0, .writes = ((what)&WRITE) != 0, .pass_types = types,  \
        .on_image = ((where)&IMAGE) != 0, .on_buffer = ((where)&BUFFER) != 0, .attachment = kind                       \
    }
#define ROW(...) ROW_OF(HDI_ATTACHMENT_NONE, __VA_ARGS__)
#define COLOR(word, what, access_bits)                                                                                 \
    ROW_OF(HDI_ATTACHMENT_COLOR, word, what, IMAGE, HDI_STAGE_COLOR_ATTACHMENT_OUTPUT, access_bits,                    \
           HDI_LAYOUT_COLOR_ATTACHMENT, HDI_IMAGE_USAGE_COLOR_ATTACHMENT, 0, GFX)
#define DEPTH(word, what, more_stages, access_bits, image_layout)                                                      \
    ROW_OF(HDI_ATTACHMENT_DEPTH, word, what, IMAGE, DEPTH_STAGES | (more_stages), access_bits, image_layout,           \
           HDI_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT, 0, GFX)
#define RESOLVE(image_layout, image_bits)                                                                              \
    ROW_OF(HDI_ATTACHMENT_RESOLVE, NULL, WRITE, IMAGE, HDI_STAGE_COLOR_ATTACHMENT_OUTPUT, HDI_ACCESS_COLOR_WRITE,      \
           image_layout, image_bits, 0, GFX)

const hdi_access_info hdi_access_table[HDI_ACCESS_ROWS] = {
    [HD_ACCESS_NONE] = {.name = "none"},
    [HD_COLOR_WRITE] = COLOR("color_write", WRITE, HDI_ACCESS_COLOR_WRITE),
    [HD_COLOR_RW] = COLOR("color_rw", RW, HDI_ACCESS_COLOR_READ | HDI_ACCESS_COLOR_WRITE),
    [HD_DEPTH_WRITE] = DEPTH("depth_write", WRITE, 0, DEPTH_RW, HDI_LAYOUT_DEPTH_STENCIL_ATTACHMENT),
    [HD_DEPTH_RW] = DEPTH("depth_rw", RW, 0, DEPTH_RW, HDI_LAYOUT_DEPTH_STENCIL_ATTACHMENT),
    [HD_DEPTH_READ] = DEPTH("depth_read", READ, 0, HDI_ACCESS_DEPTH_STENCIL_READ, HDI_LAYOUT_DEPTH_STENCIL_READ_ONLY),
    [HD_SAMPLED_GRAPHICS] = ROW("sampled_graphics", READ, IMAGE, SHADER_STAGES, HDI_ACCESS_SHADER_SAMPLED_READ,
                                HDI_LAYOUT_SHADER_READ_ONLY, HDI_IMAGE_USAGE_SAMPLED, 0, GFX),
    [HD_SAMPLED_COMPUTE] = ROW("sampled_compute", READ, IMAGE, HDI_STAGE_COMPUTE_SHADER, HDI_ACCESS_SHADER_SAMPLED_READ,
                               HDI_LAYOUT_SHADER_READ_ONLY, HDI_IMAGE_USAGE_SAMPLED, 0, GFX | COMPUTE),
    [HD_STORAGE_READ_COMPUTE] =
        ROW("storage_read_compute", READ, BOTH, HDI_STAGE_COMPUTE_SHADER, HDI_ACCESS_SHADER_STORAGE_READ,
            HDI_LAYOUT_GENERAL, HDI_IMAGE_USAGE_STORAGE, HDI_BUFFER_USAGE_STORAGE, GFX | COMPUTE),
    [HD_STORAGE_WRITE_COMPUTE] =
        ROW("storage_write_compute", WRITE, BOTH, HDI_STAGE_COMPUTE_SHADER, HDI_ACCESS_SHADER_STORAGE_WRITE,
            HDI_LAYOUT_GENERAL, HDI_IMAGE_USAGE_STORAGE, HDI_BUFFER_USAGE_STORAGE, GFX | COMPUTE),
    [HD_STORAGE_RW_COMPUTE] = ROW("storage_rw_compute", RW, BOTH, HDI_STAGE_COMPUTE_SHADER,
                                  HDI_ACCESS_SHADER_STORAGE_READ | HDI_ACCESS_SHADER_STORAGE_WRITE, HDI_LAYOUT_GENERAL,
                                  HDI_IMAGE_USAGE_STORAGE, HDI_BUFFER_USAGE_STORAGE, GFX | COMPUTE),
    [HD_UNIFORM_READ] = ROW("uniform_read", READ, BUFFER, SHADER_STAGES, HDI_ACCESS_UNIFORM_READ, HDI_LAYOUT_UNDEFINED,
                            0, HDI_BUFFER_USAGE_UNIFORM, GFX),
    [HD_UNIFORM_READ_COMPUTE] =
        ROW("uniform_read_compute", READ, BUFFER, HDI_STAGE_COMPUTE_SHADER, HDI_ACCESS_UNIFORM_READ,
            HDI_LAYOUT_UNDEFINED, 0, HDI_BUFFER_USAGE_UNIFORM, GFX | COMPUTE),
    [HD_VERTEX_READ] = ROW("vertex_read", READ, BUFFER, HDI_STAGE_VERTEX_ATTRIBUTE_INPUT,
                           HDI_ACCESS_VERTEX_ATTRIBUTE_READ, HDI_LAYOUT_UNDEFINED, 0, HDI_BUFFER_USAGE_VERTEX, GFX),
    [HD_INDEX_READ] = ROW("index_read", READ, BUFFER, HDI_STAGE_INDEX_INPUT, HDI_ACCESS_INDEX_READ,
                          HDI_LAYOUT_UNDEFINED, 0, HDI_BUFFER_USAGE_INDEX, GFX),
    [HD_INDIRECT_READ] = ROW("indirect_read", READ, BUFFER, HDI_STAGE_DRAW_INDIRECT, HDI_ACCESS_INDIRECT_COMMAND_READ,
                             HDI_LAYOUT_UNDEFINED, 0, HDI_BUFFER_USAGE_INDIRECT, GFX | COMPUTE),
    [HD_TRANSFER_SRC] =
        ROW("transfer_src", READ, BOTH, TRANSFER_STAGES, HDI_ACCESS_TRANSFER_READ, HDI_LAYOUT_TRANSFER_SRC,
            HDI_IMAGE_USAGE_TRANSFER_SRC, HDI_BUFFER_USAGE_TRANSFER_SRC, GFX | COMPUTE | TRANSFER),
    [HD_TRANSFER_DST] =
        ROW("transfer_dst", WRITE, BOTH, TRANSFER_STAGES, HDI_ACCESS_TRANSFER_WRITE, HDI_LAYOUT_TRANSFER_DST,
            HDI_IMAGE_USAGE_TRANSFER_DST, HDI_BUFFER_USAGE_TRANSFER_DST, GFX | COMPUTE | TRANSFER),
    [HD_HOST_READ] = ROW("host_read", READ, BOTH, HDI_STAGE_HOST, HDI_ACCESS_HOST_READ, HDI_LAYOUT_GENERAL, 0, 0, HOST),
    [HD_HOST_WRITE] =
        ROW("host_write", WRITE, BOTH, HDI_STAGE_HOST, HDI_ACCESS_HOST_WRITE, HDI_LAYOUT_GENERAL, 0, 0, HOST),
    [HD_PRESENT] = ROW("present", READ, IMAGE, 0, 0, HDI_LAYOUT_PRESENT_SRC, 0, 0, GFX),
    [HD_SAMPLED_VERTEX] = ROW("sampled_vertex", READ, IMAGE, HDI_STAGE_VERTEX_SHADER, HDI_ACCESS_SHADER_SAMPLED_READ,
                              HDI_LAYOUT_SHADER_READ_ONLY, HDI_IMAGE_USAGE_SAMPLED, 0, GFX),
    [HD_SAMPLED_FRAGMENT] =
        ROW("sampled_fragment", READ, IMAGE, HDI_STAGE_FRAGMENT_SHADER, HDI_ACCESS_SHADER_SAMPLED_READ,
            HDI_LAYOUT_SHADER_READ_ONLY, HDI_IMAGE_USAGE_SAMPLED, 0, GFX),
    [HD_STORAGE_READ_GRAPHICS] = ROW("storage_read_graphics", READ, BOTH, SHADER_STAGES, HDI_ACCESS_SHADER_STORAGE_READ,
                                     HDI_LAYOUT_GENERAL, HDI_IMAGE_USAGE_STORAGE, HDI_BUFFER_USAGE_STORAGE, GFX),
    [HD_STORAGE_WRITE_GRAPHICS] =
        ROW("storage_write_graphics", WRITE, BOTH, SHADER_STAGES, HDI_ACCESS_SHADER_STORAGE_WRITE, HDI_LAYOUT_GENERAL,
            HDI_IMAGE_USAGE_STORAGE, HDI_BUFFER_USAGE_STORAGE, GFX),
    [HD_STORAGE_RW_GRAPHICS] = ROW("storage_rw_graphics", RW, BOTH, SHADER_STAGES,
                                   HDI_ACCESS_SHADER_STORAGE_READ | HDI_ACCESS_SHADER_STORAGE_WRITE, HDI_LAYOUT_GENERAL,
                                   HDI_IMAGE_USAGE_STORAGE, HDI_BUFFER_USAGE_STORAGE, GFX),
    [HDI_DEPTH_WRITE_RESOLVED] = DEPTH(NULL, WRITE, HDI_STAGE_COLOR_ATTACHMENT_OUTPUT, DEPTH_RW | HDI_ACCESS_COLOR_READ,
                                       HDI_LAYOUT_DEPTH_STENCIL_ATTACHMENT),
    [HDI_DEPTH_RW_RESOLVED] = DEPTH(NULL, RW, HDI_STAGE_COLOR_ATTACHMENT_OUTPUT, DEPTH_RW | HDI_ACCESS_COLOR_READ,
                                    HDI_LAYOUT_DEPTH_STENCIL_ATTACHMENT),
    [HDI_DEPTH_READ_RESOLVED] =
        DEPTH(NULL, READ, HDI_STAGE_COLOR_ATTACHMENT_OUTPUT, HDI_ACCESS_DEPTH_STENCIL_READ | HDI_ACCESS_COLOR_READ,
              HDI_LAYOUT_DEPTH_STENCIL_READ_ONLY),
    [HDI_DEPTH_RESOLVE] = RESOLVE(HDI_LAYOUT_DEPTH_STENCIL_ATTACHMENT, HDI_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT),
    [HD_RESOLVE_WRITE] = RESOLVE(HDI_LAYOUT_COLOR_ATTACHMENT, HDI_IMAGE_USAGE_COLOR_ATTACHMENT),
};

const uint8_t hdi_access_twins[HDI_ACCESS_TWINS] = {
    HD_STORAGE_READ_COMPUTE,  HD_STORAGE_WRITE_COMPUTE,  HD_STORAGE_RW_COMPUTE,  HD_TRANSFER_SRC, HD_TRANSFER_DST,
    HD_STORAGE_READ_GRAPHICS, HD_STORAGE_WRITE_GRAPHICS, HD_STORAGE_RW_GRAPHICS, HD_HOST_READ,    HD_HOST_WRITE,
};

/* ---- accesses that a use brings itself ---- */

const hd_custom_access hd_token_signal = {
    .stages = HDI_STAGE_ALL_COMMANDS, .access = HDI_ACCESS_MEMORY_WRITE, .writes = true};
const hd_custom_access hd_token_wait = {
    .stages = HDI_STAGE_ALL_COMMANDS, .access = HDI_ACCESS_MEMORY_READ | HDI_ACCESS_MEMORY_WRITE, .reads = true};

/* Bits of VkPipelineStageFlags2 (Vulkan 1.3, "Supported pipeline stage flags"): what queues of each kind can run. */
#define STAGES_TOP_BOTTOM UINT64_C(0x2001)
#define STAGES_OF_TRANSFER (HDI_STAGE_ALL_COMMANDS | UINT64_C(0x1000) | TRANSFER_STAGES)
#define STAGES_OF_COMPUTE                                                                                              \
    (STAGES_OF_TRANSFER | HDI_STAGE_DRAW_INDIRECT | HDI_STAGE_COMPUTE_SHADER | UINT64_C(0x20000) /* preprocessing */ | \
     UINT64_C(0x40000) /* conditional rendering */ | UINT64_C(0x200000) /* ray tracing */ |                            \
     UINT64_C(0x52000000) /* building and copying acceleration structures, micromaps */)
#define STAGES_OF_GFX (((UINT64_C(1) << 48) - 1) & ~(HDI_STAGE_HOST | STAGES_TOP_BOTTOM))

/* Stages that can do an access ("Supported access types"); of extensions: all. */
static uint64_t stages_that_do(uint64_t access)
{
    const uint64_t all = HDI_STAGE_ALL_COMMANDS, graphics = all | UINT64_C(0x8000), input = graphics | UINT64_C(0x4);
    const uint64_t build = UINT64_C(0x2000000), transfers = all | UINT64_C(0x1000) | TRANSFER_STAGES;
    const uint64_t shaders =
        graphics | HDI_STAGE_COMPUTE_SHADER | UINT64_C(0xf8) /* of drawing */ | UINT64_C(0x4000380000) /* mesh, rays */;
    switch (access) {
    case HDI_ACCESS_INDIRECT_COMMAND_READ:
        return graphics | HDI_STAGE_DRAW_INDIRECT | build;
    case HDI_ACCESS_INDEX_READ:
        return input | HDI_STAGE_INDEX_INPUT;
    case HDI_ACCESS_VERTEX_ATTRIBUTE_READ:
        return input | HDI_STAGE_VERTEX_ATTRIBUTE_INPUT;
    case UINT64_C(0x10): /* INPUT_ATTACHMENT_READ */
        return graphics | HDI_STAGE_FRAGMENT_SHADER;
    case UINT64_C(0x20): /* SHADER_READ */
        return shaders | build;
    case HDI_ACCESS_UNIFORM_READ:
    case UINT64_C(0x40): /* SHADER_WRITE */
    case HDI_ACCESS_SHADER_SAMPLED_READ:
    case HDI_ACCESS_SHADER_STORAGE_READ:
    case HDI_ACCESS_SHADER_STORAGE_WRITE:
        return shaders;
    case HDI_ACCESS_COLOR_READ:
    case HDI_ACCESS_COLOR_WRITE:
        return graphics | HDI_STAGE_COLOR_ATTACHMENT_OUTPUT;
    case HDI_ACCESS_DEPTH_STENCIL_READ:
    case HDI_ACCESS_DEPTH_STENCIL_WRITE:
        return graphics | DEPTH_STAGES;
    case HDI_ACCESS_TRANSFER_READ:
    case HDI_ACCESS_TRANSFER_WRITE:
        return transfers | UINT64_C(0x12000000);
    case HDI_ACCESS_HOST_READ:
    case HDI_ACCESS_HOST_WRITE:
        return HDI_STAGE_HOST;
    default:
        return ~UINT64_C(0);
    }
}

/* what: with the words, unless they are null, behind it. */
static hd_result refuse(hd_result result, char *fault, const char *what, const char *words)
{
    if (fault)
        snprintf(fault, HDI_FAULT_BYTES, "custom%s%s%s", what, words ? " " : "", words ? words : "");
    return result;
}

hd_result hdi_access_check(const hd_custom_access *custom, uint32_t pass_type, bool is_buffer, char *fault)
{
    static const uint64_t of_type[] = {STAGES_OF_GFX, STAGES_OF_COMPUTE, STAGES_OF_TRANSFER, HDI_STAGE_HOST};
    if (!custom)
        return refuse(HD_BAD_ACCESS, fault, " is null", NULL);
    if (!is_buffer && custom->layout == HDI_LAYOUT_UNDEFINED)
        return refuse(HD_BAD_ACCESS, fault, "->layout is UNDEFINED, and the resource an image", NULL);
    if (!is_buffer && custom->layout == HDI_LAYOUT_PREINITIALIZED)
        return refuse(HD_BAD_ACCESS, fault, "->layout is PREINITIALIZED, in which images only begin", NULL);
    if (!custom->reads && !custom->writes)
        return refuse(HD_BAD_ACCESS, fault, "->reads and ->writes are both false", NULL);
    if (custom->stages & STAGES_TOP_BOTTOM)
        return refuse(HD_BAD_ACCESS, fault, "->stages has TOP or BOTTOM_OF_PIPE", NULL);
    if (custom->stages == 0 && (custom->writes || custom->access)) /* nothing could be ordered behind it */
        return refuse(HD_BAD_ACCESS, fault, "->stages is 0, and there is a write or an access", NULL);
    for (uint64_t left = custom->access; left; left &= left - 1) {
        if (!(stages_that_do(left & -left) & custom->stages))
            return refuse(HD_BAD_ACCESS, fault, "->access: none of its stages can do",
                          HDI_ACCESS_TEXT(left & -left));
    }
    uint64_t lacking = custom->stages & ~of_type[pass_type];
    return lacking ? refuse(HD_BAD_PASS_TYPE, fault, "->stages: no queue for such a pass has", HDI_STAGE_TEXT(lacking))
                   : HD_OK;
}

/* ---- kinds ---- */

void hdi_make_kind(uint64_t stages, uint64_t access, uint32_t layout, uint32_t flags, bool is_buffer, hdi_kind *kind,
                   hdi_link *link)
{
    uint32_t reads = is_buffer ? HDI_LEFT_READS : HDI_LEFT_READS + layout;
    bool writes = (flags & HDI_EPOCH_WRITES) != 0, alone = writes || layout > INT32_MAX; /* no layout that there is */
    *kind = (hdi_kind){.left_access = writes ? access : 0,
                       .src_stages = hdi_stages_or_all(stages),
                       .src_access = access & HDI_WRITE_BITS,
                       .dst_stages = hdi_stages_or_all(stages),
                       .dst_access = access,
                       .stages = stages,
                       .layout = is_buffer ? HDI_LAYOUT_UNDEFINED : layout,
                       .keeps = flags == HDI_EPOCH_WRITES ? 0 : UINT32_MAX,
                       .flags = flags};
    *link = (hdi_link){alone ? HDI_LEFT_NEVER : reads, !flags   ? HDI_LEFT_NOTHING
                                                       : writes ? HDI_LEFT_WRITE
                                                       : alone  ? HDI_LEFT_OTHER
                                                                : reads};
}

void hdi_make_kinds(const hdi_access_info *access, uint32_t access_count, hdi_kind *kind, hdi_link *link)
{
    for (uint32_t i = 0; i < access_count; i++, access++) {
        uint32_t flags = (access->reads ? HDI_EPOCH_READS : 0) | (access->writes ? HDI_EPOCH_WRITES : 0);
        hdi_make_kind(access->stages, access->access, access->layout, flags, !access->on_image, kind++, link++);
    }
}
