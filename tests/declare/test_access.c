#define VK_ENABLE_BETA_EXTENSIONS /* names of video encoding */
#include <criterion/criterion.h>
#include <vulkan/vulkan_core.h>

#include <string.h>

#include "cells.h"
#include "tables.h"
#include "vk_names.h"
#include "vk_numbers.h"
#include "vk_words.h"

/* The numbers of graph/tables/vk_numbers.h are Vulkan's own, and the access table is the contract's. The flags of
 * synchronization2 are constants that no static assertion may use in C, hence a test. */

#define SAME(ours, theirs) cr_assert_eq((uint64_t)(ours), (uint64_t)(theirs), #ours)

Test(access, numbers_are_vulkans)
{
    SAME(HDI_STAGE_DRAW_INDIRECT, VK_PIPELINE_STAGE_2_DRAW_INDIRECT_BIT);
    SAME(HDI_STAGE_VERTEX_SHADER, VK_PIPELINE_STAGE_2_VERTEX_SHADER_BIT);
    SAME(HDI_STAGE_FRAGMENT_SHADER, VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT);
    SAME(HDI_STAGE_EARLY_FRAGMENT_TESTS, VK_PIPELINE_STAGE_2_EARLY_FRAGMENT_TESTS_BIT);
    SAME(HDI_STAGE_LATE_FRAGMENT_TESTS, VK_PIPELINE_STAGE_2_LATE_FRAGMENT_TESTS_BIT);
    SAME(HDI_STAGE_COLOR_ATTACHMENT_OUTPUT, VK_PIPELINE_STAGE_2_COLOR_ATTACHMENT_OUTPUT_BIT);
    SAME(HDI_STAGE_COMPUTE_SHADER, VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT);
    SAME(HDI_STAGE_HOST, VK_PIPELINE_STAGE_2_HOST_BIT);
    SAME(HDI_STAGE_ALL_COMMANDS, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT);
    SAME(HDI_STAGE_COPY, VK_PIPELINE_STAGE_2_COPY_BIT);
    SAME(HDI_STAGE_RESOLVE, VK_PIPELINE_STAGE_2_RESOLVE_BIT);
    SAME(HDI_STAGE_BLIT, VK_PIPELINE_STAGE_2_BLIT_BIT);
    SAME(HDI_STAGE_CLEAR, VK_PIPELINE_STAGE_2_CLEAR_BIT);
    SAME(HDI_STAGE_INDEX_INPUT, VK_PIPELINE_STAGE_2_INDEX_INPUT_BIT);
    SAME(HDI_STAGE_VERTEX_ATTRIBUTE_INPUT, VK_PIPELINE_STAGE_2_VERTEX_ATTRIBUTE_INPUT_BIT);
    SAME(HDI_ACCESS_INDIRECT_COMMAND_READ, VK_ACCESS_2_INDIRECT_COMMAND_READ_BIT);
    SAME(HDI_ACCESS_INDEX_READ, VK_ACCESS_2_INDEX_READ_BIT);
    SAME(HDI_ACCESS_VERTEX_ATTRIBUTE_READ, VK_ACCESS_2_VERTEX_ATTRIBUTE_READ_BIT);
    SAME(HDI_ACCESS_UNIFORM_READ, VK_ACCESS_2_UNIFORM_READ_BIT);
    SAME(HDI_ACCESS_COLOR_READ, VK_ACCESS_2_COLOR_ATTACHMENT_READ_BIT);
    SAME(HDI_ACCESS_COLOR_WRITE, VK_ACCESS_2_COLOR_ATTACHMENT_WRITE_BIT);
    SAME(HDI_ACCESS_DEPTH_STENCIL_READ, VK_ACCESS_2_DEPTH_STENCIL_ATTACHMENT_READ_BIT);
    SAME(HDI_ACCESS_DEPTH_STENCIL_WRITE, VK_ACCESS_2_DEPTH_STENCIL_ATTACHMENT_WRITE_BIT);
    SAME(HDI_ACCESS_TRANSFER_READ, VK_ACCESS_2_TRANSFER_READ_BIT);
    SAME(HDI_ACCESS_TRANSFER_WRITE, VK_ACCESS_2_TRANSFER_WRITE_BIT);
    SAME(HDI_ACCESS_HOST_READ, VK_ACCESS_2_HOST_READ_BIT);
    SAME(HDI_ACCESS_HOST_WRITE, VK_ACCESS_2_HOST_WRITE_BIT);
    SAME(HDI_ACCESS_SHADER_SAMPLED_READ, VK_ACCESS_2_SHADER_SAMPLED_READ_BIT);
    SAME(HDI_ACCESS_SHADER_STORAGE_READ, VK_ACCESS_2_SHADER_STORAGE_READ_BIT);
    SAME(HDI_ACCESS_SHADER_STORAGE_WRITE, VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT);
    SAME(HDI_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_UNDEFINED);
    SAME(HDI_LAYOUT_GENERAL, VK_IMAGE_LAYOUT_GENERAL);
    SAME(HDI_LAYOUT_COLOR_ATTACHMENT, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL);
    SAME(HDI_LAYOUT_DEPTH_STENCIL_ATTACHMENT, VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL);
    SAME(HDI_LAYOUT_DEPTH_STENCIL_READ_ONLY, VK_IMAGE_LAYOUT_DEPTH_STENCIL_READ_ONLY_OPTIMAL);
    SAME(HDI_LAYOUT_SHADER_READ_ONLY, VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL);
    SAME(HDI_LAYOUT_TRANSFER_SRC, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
    SAME(HDI_LAYOUT_TRANSFER_DST, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
    SAME(HDI_LAYOUT_PRESENT_SRC, VK_IMAGE_LAYOUT_PRESENT_SRC_KHR);
    SAME(HDI_IMAGE_USAGE_STORAGE, VK_IMAGE_USAGE_STORAGE_BIT);
    SAME(HDI_IMAGE_USAGE_SAMPLED, VK_IMAGE_USAGE_SAMPLED_BIT);
    SAME(HDI_IMAGE_USAGE_COLOR_ATTACHMENT, VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT);
    SAME(HDI_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT, VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT);
    SAME(HDI_IMAGE_USAGE_TRANSFER_SRC, VK_IMAGE_USAGE_TRANSFER_SRC_BIT);
    SAME(HDI_IMAGE_USAGE_TRANSFER_DST, VK_IMAGE_USAGE_TRANSFER_DST_BIT);
    SAME(HDI_BUFFER_USAGE_TRANSFER_SRC, VK_BUFFER_USAGE_TRANSFER_SRC_BIT);
    SAME(HDI_BUFFER_USAGE_TRANSFER_DST, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
    SAME(HDI_BUFFER_USAGE_UNIFORM, VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT);
    SAME(HDI_BUFFER_USAGE_STORAGE, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT);
    SAME(HDI_BUFFER_USAGE_INDEX, VK_BUFFER_USAGE_INDEX_BUFFER_BIT);
    SAME(HDI_BUFFER_USAGE_VERTEX, VK_BUFFER_USAGE_VERTEX_BUFFER_BIT);
    SAME(HDI_BUFFER_USAGE_INDIRECT, VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT);
}

Test(access, every_row_is_complete)
{
    for (int a = 1; a < HD_ACCESS_COUNT; a++) {
        const hdi_access_info *row = &hdi_access_table[a];
        cr_assert_not_null(row->name, "access %d", a);
        cr_assert(row->reads || row->writes, "%s", row->name);
        cr_assert(row->on_image || row->on_buffer, "%s", row->name);
        cr_assert_neq(row->pass_types, 0, "%s", row->name);
        cr_assert_eq(row->on_image, row->layout != HDI_LAYOUT_UNDEFINED, "%s", row->name);
        if (a == HD_PRESENT)
            continue;
        cr_assert_neq(row->stages, 0u, "%s", row->name);
        cr_assert_neq(row->access, 0u, "%s", row->name);
        bool host = (row->pass_types & 1u << HD_PASS_HOST) != 0;
        cr_assert_eq(host, row->stages == HDI_STAGE_HOST, "%s", row->name);
        if (!host && row->on_image)
            cr_assert_neq(row->image_usage, 0u, "%s", row->name);
        if (!host && row->on_buffer)
            cr_assert_neq(row->buffer_usage, 0u, "%s", row->name);
    }
}

/* The rows are those of the contract, which the reference models judge plans by. */
Test(access, rows_are_those_of_the_contract)
{
    for (int a = 1; a < HD_ACCESS_COUNT; a++) {
        const hdi_access_info *row = &hdi_access_table[a];
        const hdt_access_row *contract = &hdt_access_rows[a];
        cr_expect(row->stages == contract->stages && row->access == contract->access, "%s", row->name);
        cr_expect_eq(row->layout, contract->layout, "%s", row->name);
        cr_expect(row->reads == contract->reads && row->writes == contract->writes, "%s", row->name);
    }
}

/* Rows that a graph makes use of by itself, and the ones of attachments among all. */
Test(access, attachments)
{
    uint32_t attachments = 0, resolves = 0;
    for (uint32_t a = 0; a < HDI_ACCESS_ROWS; a++) {
        uint32_t kind = hdi_access_table[a].attachment;
        cr_assert_eq(hdi_is_attachment(a), kind == HDI_ATTACHMENT_COLOR || kind == HDI_ATTACHMENT_DEPTH, "access %u",
                     a);
        attachments += hdi_is_attachment(a);
        resolves += kind == HDI_ATTACHMENT_RESOLVE;
    }
    cr_assert_eq(attachments, 8);
    cr_assert_eq(resolves, 2);
    cr_assert(!hdi_is_attachment(HDI_ACCESS_CUSTOM_FIRST) && !hdi_is_attachment(UINT16_MAX));
    static const struct {
        uint32_t plain, resolved;
    } rows[] = {{HD_DEPTH_WRITE, HDI_DEPTH_WRITE_RESOLVED},
                {HD_DEPTH_RW, HDI_DEPTH_RW_RESOLVED},
                {HD_DEPTH_READ, HDI_DEPTH_READ_RESOLVED}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const hdi_access_info *plain = &hdi_access_table[rows[i].plain],
                              *resolved = &hdi_access_table[rows[i].resolved];
        cr_assert_eq(resolved->stages, plain->stages | HDI_STAGE_COLOR_ATTACHMENT_OUTPUT);
        cr_assert_eq(resolved->access, plain->access | HDI_ACCESS_COLOR_READ);
        cr_assert(resolved->layout == plain->layout && resolved->reads == plain->reads &&
                  resolved->writes == plain->writes);
    }
}

/* What images and buffers may have has a row of buffers alone, too: without it a buffer would get the layouts of an
 * image. */
Test(access, rows_of_both_have_twins)
{
    for (uint32_t a = 0; a < HDI_ACCESS_ROWS; a++) {
        uint32_t twins = 0;
        for (uint32_t i = 0; i < HDI_ACCESS_TWINS; i++)
            twins += hdi_access_twins[i] == a;
        cr_assert_eq(twins, hdi_access_table[a].on_image && hdi_access_table[a].on_buffer, "access %u", a);
        cr_assert_eq(hdi_access_of(a), a);
    }
    for (uint32_t i = 0; i < HDI_ACCESS_TWINS; i++)
        cr_assert_eq(hdi_access_of(HDI_ACCESS_ROWS + i), hdi_access_twins[i]);
}

Test(access, formats)
{
    static const uint32_t integers[] = {VK_FORMAT_R8_UINT,
                                        VK_FORMAT_R8G8B8A8_SINT,
                                        VK_FORMAT_B8G8R8A8_UINT,
                                        VK_FORMAT_A8B8G8R8_UINT_PACK32,
                                        VK_FORMAT_A2R10G10B10_SINT_PACK32,
                                        VK_FORMAT_A2B10G10R10_UINT_PACK32,
                                        VK_FORMAT_R16_SINT,
                                        VK_FORMAT_R16G16B16A16_UINT,
                                        VK_FORMAT_R32_UINT,
                                        VK_FORMAT_R32G32B32A32_SINT,
                                        VK_FORMAT_R64_SINT,
                                        VK_FORMAT_R64G64B64A64_UINT};
    static const uint32_t others[] = {VK_FORMAT_R5G6B5_UNORM_PACK16,
                                      VK_FORMAT_R8_UNORM,
                                      VK_FORMAT_R8G8B8A8_SRGB,
                                      VK_FORMAT_B8G8R8A8_SSCALED,
                                      VK_FORMAT_A8B8G8R8_SRGB_PACK32,
                                      VK_FORMAT_A2R10G10B10_SSCALED_PACK32,
                                      VK_FORMAT_A2B10G10R10_UNORM_PACK32,
                                      VK_FORMAT_R16_SFLOAT,
                                      VK_FORMAT_R16G16B16A16_SSCALED,
                                      VK_FORMAT_R32_SFLOAT,
                                      VK_FORMAT_R32G32B32A32_SFLOAT,
                                      VK_FORMAT_R64G64B64A64_SFLOAT,
                                      VK_FORMAT_B10G11R11_UFLOAT_PACK32,
                                      VK_FORMAT_E5B9G9R9_UFLOAT_PACK32,
                                      VK_FORMAT_D32_SFLOAT,
                                      VK_FORMAT_BC7_UNORM_BLOCK};
    for (size_t i = 0; i < sizeof(integers) / sizeof(integers[0]); i++)
        cr_expect(hdi_format_is_integer(integers[i]), "format %u", integers[i]);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        cr_expect(!hdi_format_is_integer(others[i]), "format %u", others[i]);
    cr_expect_eq(hdi_format_aspects(VK_FORMAT_D32_SFLOAT_S8_UINT),
                 VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT);
    cr_expect_eq(hdi_format_aspects(VK_FORMAT_X8_D24_UNORM_PACK32), VK_IMAGE_ASPECT_DEPTH_BIT);
    cr_expect_eq(hdi_format_aspects(VK_FORMAT_S8_UINT), VK_IMAGE_ASPECT_STENCIL_BIT);
    cr_expect_eq(hdi_format_aspects(VK_FORMAT_R8G8B8A8_UNORM), 0);
    SAME(HD_ASPECT_DEPTH, VK_IMAGE_ASPECT_DEPTH_BIT);
    SAME(HD_ASPECT_STENCIL, VK_IMAGE_ASPECT_STENCIL_BIT);
    SAME(HDI_LOAD_OP_LOAD, VK_ATTACHMENT_LOAD_OP_LOAD);
    SAME(HDI_LOAD_OP_CLEAR, VK_ATTACHMENT_LOAD_OP_CLEAR);
    SAME(HDI_LOAD_OP_DONT_CARE, VK_ATTACHMENT_LOAD_OP_DONT_CARE);
    SAME(HDI_STORE_OP_STORE, VK_ATTACHMENT_STORE_OP_STORE);
    SAME(HDI_STORE_OP_DONT_CARE, VK_ATTACHMENT_STORE_OP_DONT_CARE);
    SAME(HDI_STORE_OP_NONE, VK_ATTACHMENT_STORE_OP_NONE);
    SAME(HDI_IMAGE_MUTABLE_FORMAT, VK_IMAGE_CREATE_MUTABLE_FORMAT_BIT);
    SAME(HDI_IMAGE_EXTENDED_USAGE, VK_IMAGE_CREATE_EXTENDED_USAGE_BIT);
}

/* ---- accesses that a use brings itself ---- */

static hd_result check(uint64_t stages, uint64_t access, bool writes, hd_pass_type type)
{
    return hdi_access_check(&(hd_custom_access){.stages = stages, .access = access, .reads = true, .writes = writes},
                            type, true, NULL);
}

/* Each row of the table would be allowed as a custom access in the passes that it stands in. */
Test(access, named_ones_would_do_as_custom_ones)
{
    for (uint32_t a = 1; a < HD_ACCESS_COUNT; a++) {
        const hdi_access_info *row = &hdi_access_table[a];
        for (uint32_t type = HD_PASS_GFX; type <= HD_PASS_HOST; type++) {
            hd_result result = check(row->stages, row->access, row->writes, (hd_pass_type)type);
            if (row->pass_types >> type & 1)
                cr_assert_eq(result, HD_OK, "%s in passes of type %u", row->name, type);
        }
    }
}

Test(access, custom_stages_are_those_of_the_pass)
{
    const uint64_t sampled = VK_ACCESS_2_SHADER_SAMPLED_READ_BIT, any = VK_ACCESS_2_MEMORY_READ_BIT;
    const uint64_t fragment = VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT, compute = VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT;
    const uint64_t copy = VK_PIPELINE_STAGE_2_COPY_BIT, all = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
    const uint64_t host = VK_PIPELINE_STAGE_2_HOST_BIT;
    cr_expect_eq(check(fragment, sampled, false, HD_PASS_GFX), HD_OK);
    cr_expect_eq(check(fragment, sampled, false, HD_PASS_COMPUTE), HD_BAD_PASS_TYPE);
    cr_expect_eq(check(compute, sampled, false, HD_PASS_TRANSFER), HD_BAD_PASS_TYPE);
    cr_expect_eq(check(compute | fragment, sampled, false, HD_PASS_COMPUTE), HD_BAD_PASS_TYPE);
    cr_expect_eq(check(copy, any, false, HD_PASS_HOST), HD_BAD_PASS_TYPE);
    cr_expect_eq(check(host, VK_ACCESS_2_HOST_READ_BIT, false, HD_PASS_HOST), HD_OK);
    cr_expect_eq(check(host, VK_ACCESS_2_HOST_READ_BIT, false, HD_PASS_GFX), HD_BAD_PASS_TYPE);
    for (int type = HD_PASS_GFX; type < HD_PASS_HOST; type++)
        cr_expect_eq(check(all, any, true, (hd_pass_type)type), HD_OK);
    cr_expect_eq(check(UINT64_C(1) << 63, any, false, HD_PASS_GFX), HD_BAD_PASS_TYPE);
}

Test(access, faults_of_custom_accesses_name_bits)
{
    char fault[HDI_FAULT_BYTES];
    const hd_custom_access stages = {.stages = VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT,
                                     .access = VK_ACCESS_2_SHADER_READ_BIT,
                                     .layout = 1,
                                     .reads = true};
    const hd_custom_access none = {.stages = VK_PIPELINE_STAGE_2_COPY_BIT,
                                   .access = VK_ACCESS_2_INDEX_READ_BIT,
                                   .layout = 1,
                                   .reads = true};
    cr_expect_eq(hdi_access_check(&stages, HD_PASS_COMPUTE, false, fault), HD_BAD_PASS_TYPE);
    cr_expect_str_eq(fault, "custom->stages: no queue for such a pass has FRAGMENT_SHADER");
    cr_expect_eq(hdi_access_check(&none, HD_PASS_GFX, false, fault), HD_BAD_ACCESS);
    cr_expect_str_eq(fault, "custom->access: none of its stages can do INDEX_READ");
}

Test(access, custom_accesses_are_those_of_their_stages)
{
    static const struct {
        uint64_t access, can, cannot;
    } rows[] = {
        {VK_ACCESS_2_INDEX_READ_BIT, VK_PIPELINE_STAGE_2_INDEX_INPUT_BIT, VK_PIPELINE_STAGE_2_COPY_BIT},
        {VK_ACCESS_2_INDEX_READ_BIT, VK_PIPELINE_STAGE_2_VERTEX_INPUT_BIT, VK_PIPELINE_STAGE_2_VERTEX_SHADER_BIT},
        {VK_ACCESS_2_VERTEX_ATTRIBUTE_READ_BIT, VK_PIPELINE_STAGE_2_VERTEX_ATTRIBUTE_INPUT_BIT,
         VK_PIPELINE_STAGE_2_INDEX_INPUT_BIT},
        {VK_ACCESS_2_INDIRECT_COMMAND_READ_BIT, VK_PIPELINE_STAGE_2_DRAW_INDIRECT_BIT,
         VK_PIPELINE_STAGE_2_VERTEX_SHADER_BIT},
        {VK_ACCESS_2_INPUT_ATTACHMENT_READ_BIT, VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT,
         VK_PIPELINE_STAGE_2_VERTEX_SHADER_BIT},
        {VK_ACCESS_2_SHADER_READ_BIT, VK_PIPELINE_STAGE_2_ACCELERATION_STRUCTURE_BUILD_BIT_KHR,
         VK_PIPELINE_STAGE_2_BLIT_BIT},
        {VK_ACCESS_2_SHADER_WRITE_BIT, VK_PIPELINE_STAGE_2_TESSELLATION_CONTROL_SHADER_BIT,
         VK_PIPELINE_STAGE_2_COLOR_ATTACHMENT_OUTPUT_BIT},
        {VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT, VK_PIPELINE_STAGE_2_RAY_TRACING_SHADER_BIT_KHR,
         VK_PIPELINE_STAGE_2_CLEAR_BIT},
        {VK_ACCESS_2_UNIFORM_READ_BIT, VK_PIPELINE_STAGE_2_PRE_RASTERIZATION_SHADERS_BIT,
         VK_PIPELINE_STAGE_2_RESOLVE_BIT},
        {VK_ACCESS_2_COLOR_ATTACHMENT_WRITE_BIT, VK_PIPELINE_STAGE_2_ALL_GRAPHICS_BIT,
         VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT},
        {VK_ACCESS_2_DEPTH_STENCIL_ATTACHMENT_WRITE_BIT, VK_PIPELINE_STAGE_2_LATE_FRAGMENT_TESTS_BIT,
         VK_PIPELINE_STAGE_2_COLOR_ATTACHMENT_OUTPUT_BIT},
        {VK_ACCESS_2_TRANSFER_WRITE_BIT, VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT, VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT},
        {VK_ACCESS_2_HOST_WRITE_BIT, VK_PIPELINE_STAGE_2_HOST_BIT, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        hd_pass_type type = rows[i].can == VK_PIPELINE_STAGE_2_HOST_BIT ? HD_PASS_HOST : HD_PASS_GFX;
        cr_expect_eq(check(rows[i].can, rows[i].access, true, type), HD_OK, "row %d", (int)i);
        cr_expect_eq(check(rows[i].can | rows[i].cannot, rows[i].access, true, type),
                     type == HD_PASS_GFX ? HD_OK : HD_BAD_PASS_TYPE, "row %d", (int)i);
        cr_expect_eq(check(rows[i].cannot, rows[i].access, true, HD_PASS_GFX), HD_BAD_ACCESS, "row %d", (int)i);
    }
    cr_expect_eq(check(VK_PIPELINE_STAGE_2_TOP_OF_PIPE_BIT, 0, false, HD_PASS_GFX), HD_BAD_ACCESS);
    cr_expect_eq(check(VK_PIPELINE_STAGE_2_BOTTOM_OF_PIPE_BIT, 0, true, HD_PASS_GFX), HD_BAD_ACCESS);
    cr_expect_eq(check(0, 0, true, HD_PASS_GFX), HD_BAD_ACCESS, "a write that nothing could wait for");
    cr_expect_eq(check(0, 0, false, HD_PASS_GFX), HD_OK, "as presenting: a layout only");
    cr_expect_eq(hdi_access_check(&(hd_custom_access){.stages = 0x10000}, HD_PASS_GFX, true, NULL), HD_BAD_ACCESS);
}

/* ---- words ---- */

static void same_word(hdi_words words, uint64_t ours, uint64_t theirs, const char *name)
{
    hdi_text room;
    uint64_t back = 0;
    cr_expect_eq(ours, theirs, "%s", name);
    cr_expect_str_eq(hdi_words_of(words, theirs, &room), name);
    cr_expect(hdi_words_read(words, name, strlen(name), &back) && back == theirs, "%s", name);
}

#define WORD_OF(words, ours, theirs, name) same_word(words, UINT64_C(ours), (uint64_t)(theirs), name);
#define STAGE(n, name) WORD_OF(HDI_WORDS_STAGES, n, VK_PIPELINE_STAGE_2_##name##_BIT, #name)
#define STAGE_OF(n, name, ext) WORD_OF(HDI_WORDS_STAGES, n, VK_PIPELINE_STAGE_2_##name##_BIT_##ext, #name "_" #ext)
#define ACCESS(n, name) WORD_OF(HDI_WORDS_ACCESS, n, VK_ACCESS_2_##name##_BIT, #name)
#define ACCESS_OF(n, name, ext) WORD_OF(HDI_WORDS_ACCESS, n, VK_ACCESS_2_##name##_BIT_##ext, #name "_" #ext)
#define IMAGE_USAGE(n, name) WORD_OF(HDI_WORDS_IMAGE_USAGE, n, VK_IMAGE_USAGE_##name##_BIT, #name)
#define IMAGE_USAGE_OF(n, name, ext)                                                                                   \
    WORD_OF(HDI_WORDS_IMAGE_USAGE, n, VK_IMAGE_USAGE_##name##_BIT_##ext, #name "_" #ext)
#define BUFFER_USAGE(n, name) WORD_OF(HDI_WORDS_BUFFER_USAGE, n, VK_BUFFER_USAGE_##name##_BIT, #name)
#define BUFFER_USAGE_OF(n, name, ext)                                                                                  \
    WORD_OF(HDI_WORDS_BUFFER_USAGE, n, VK_BUFFER_USAGE_##name##_BIT_##ext, #name "_" #ext)
#define IMAGE_FLAG(n, name) WORD_OF(HDI_WORDS_IMAGE_FLAGS, n, VK_IMAGE_CREATE_##name##_BIT, #name)
#define IMAGE_FLAG_OF(n, name, ext)                                                                                    \
    WORD_OF(HDI_WORDS_IMAGE_FLAGS, n, VK_IMAGE_CREATE_##name##_BIT_##ext, #name "_" #ext)
#define MODE(n, name) WORD_OF(HDI_WORDS_RESOLVE_MODE, n, VK_RESOLVE_MODE_##name##_BIT, #name)
#define LAYOUT(n, name) WORD_OF(HDI_WORDS_LAYOUT, n, VK_IMAGE_LAYOUT_##name, #name)
#define LOAD_OP(n, name) WORD_OF(HDI_WORDS_LOAD, n, VK_ATTACHMENT_LOAD_OP_##name, #name)
#define STORE_OP(n, name) WORD_OF(HDI_WORDS_STORE, n, VK_ATTACHMENT_STORE_OP_##name, #name)
#define FORMAT(n, name) WORD_OF(HDI_WORDS_FORMAT, n, VK_FORMAT_##name, #name)

Test(access, words_are_vulkans)
{
    HDI_STAGE_WORDS(STAGE, STAGE_OF)
    HDI_ACCESS_WORDS(ACCESS, ACCESS_OF)
    HDI_IMAGE_USAGE_WORDS(IMAGE_USAGE, IMAGE_USAGE_OF)
    HDI_BUFFER_USAGE_WORDS(BUFFER_USAGE, BUFFER_USAGE_OF)
    HDI_IMAGE_CREATE_WORDS(IMAGE_FLAG, IMAGE_FLAG_OF)
    HDI_RESOLVE_WORDS(MODE)
    HDI_LAYOUT_WORDS(LAYOUT)
    HDI_LOAD_WORDS(LOAD_OP)
    HDI_STORE_WORDS(STORE_OP)
    HDI_FORMAT_WORDS(FORMAT)
}

Test(access, masks_and_numbers_without_a_word)
{
    hdi_text room;
    uint64_t back;
    const uint64_t all = UINT64_MAX;
    cr_expect_str_eq(hdi_words_of(HDI_WORDS_STAGES, 0, &room), "none");
    cr_expect_str_eq(hdi_words_of(HDI_WORDS_STAGES, VK_PIPELINE_STAGE_2_COPY_BIT | UINT64_C(1) << 63, &room),
                     "COPY|0x8000000000000000");
    cr_expect_str_eq(hdi_words_of(HDI_WORDS_LAYOUT, 77, &room), "77");
    for (int words = 0; words < HDI_WORDS_COUNT; words++) { /* there is room for all */
        hdi_words_of((hdi_words)words, all, &room);
        cr_expect(hdi_words_read((hdi_words)words, room.text, strlen(room.text), &back) && back == all, "%d", words);
    }
}
