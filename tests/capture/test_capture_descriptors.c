/* What draws and dispatches access through descriptors: streams by hand, with the bytes of calls. */
#include <criterion/criterion.h>

#include <heddle/vk.h>
#include <stdlib.h>
#include <string.h>

#include "capture/call.h"
#include "capture/capture_descriptors.h"
#include "limited.h"
#include "stream.h"

enum {
    BUFFER = 1,
    IMAGE,
    BUFFER_VIEW,
    IMAGE_VIEW,
    LAYOUT,
    SET,
    OTHER_SET,
    MADE,
    MEMORY,
    HELD,
    OTHER_HELD,
    BYTES = 1024
};
enum { HELD_BUFFER, HELD_IMAGE }; /* resources */
#define GRAPHICS_SET HD_STREAM_STATE_SET(0, 0)
#define DRAW (HD_STREAM_STATE_PIPELINE(0) | GRAPHICS_SET | HD_STREAM_STATE_SET(0, 1))
#define DISPATCH (HD_STREAM_STATE_PIPELINE(1) | HD_STREAM_STATE_SET(1, 0))
#define H(type, object) ((type)(uintptr_t)(object)) /* handles are numbers of objects */

static uint32_t object_of(void *user, uint32_t type, uint64_t handle)
{
    (void)user;
    (void)type;
    return (uint32_t)handle;
}

static hdi_call_writer writer(void)
{
    return (hdi_call_writer){.object = object_of};
}

static uint32_t close_data(hd_stream *s, hdi_call_writer *w)
{
    uint32_t data = hdi_stream_data(s, w->bytes, w->byte_count, w->refs, w->ref_count);
    hdi_call_writer_free(w);
    return data;
}

static void make(hd_stream *s, const char *function, const char *type, const void *info)
{
    hdi_call_writer w = writer();
    hdi_call_write(&w, hdi_call_type_find(type), info);
    hd_stream_object object = {hdi_stream_string(s, function), close_data(s, &w)};
    cr_assert(hdi_stream_object(s, &object));
}

static hd_stream_command *add(hd_stream *s, const char *name, uint64_t sets, uint64_t uses)
{
    uint32_t string = hdi_stream_string(s, name);
    hd_stream_command *x = hdi_stream_command(s);
    *x = (hd_stream_command){
        .name = string, .label = HD_NONE, .begin = s->access_count, .buffer = 1, .sets = sets, .uses = uses};
    return x;
}

static void update(hd_stream *s, uint32_t set, const VkWriteDescriptorSet *write, const VkCopyDescriptorSet *copy)
{
    hdi_call_writer w = writer();
    uint32_t counts[2] = {write != NULL, copy != NULL};
    hdi_call_write_bytes(&w, &counts[0], sizeof(counts[0]));
    if (write)
        hdi_call_write(&w, hdi_call_type_find("VkWriteDescriptorSet"), write);
    hdi_call_write_bytes(&w, &counts[1], sizeof(counts[1]));
    if (copy)
        hdi_call_write(&w, hdi_call_type_find("VkCopyDescriptorSet"), copy);
    hd_stream_command *x = add(s, "vkUpdateDescriptorSets", 0, 0);
    x->changes = set;
    x->data = close_data(s, &w);
}

static VkWriteDescriptorSet bytes_at(uint32_t binding, VkDescriptorType type, const VkDescriptorBufferInfo *info)
{
    return (VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                  .dstSet = H(VkDescriptorSet, SET),
                                  .dstBinding = binding,
                                  .descriptorCount = 1,
                                  .descriptorType = type,
                                  .pBufferInfo = info};
}

static VkWriteDescriptorSet image_at(uint32_t binding, VkDescriptorType type, const VkDescriptorImageInfo *info)
{
    VkWriteDescriptorSet write = bytes_at(binding, type, NULL);
    write.pImageInfo = info;
    return write;
}

static const VkDescriptorBufferInfo part = {H(VkBuffer, BUFFER), 256, 128};
static const VkDescriptorImageInfo sampled = {.imageView = H(VkImageView, IMAGE_VIEW),
                                              .imageLayout = VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL};

static void bind(hd_stream *s, VkPipelineBindPoint point, uint32_t first, uint32_t set)
{
    struct { /* the arguments, as registry.py has them */
        VkCommandBuffer commands;
        VkPipelineBindPoint point;
        VkPipelineLayout layout;
        uint32_t first, count;
        const VkDescriptorSet *sets;
        uint32_t offset_count;
        const uint32_t *offsets;
    } arguments = {.point = point, .first = first, .count = 1, .sets = &(VkDescriptorSet){H(VkDescriptorSet, set)}};
    const hdi_call *call = hdi_call_find("vkCmdBindDescriptorSets");
    hdi_call_writer w = writer();
    cr_assert_eq(call->type->bytes, sizeof(arguments));
    hdi_call_write(&w, call->type, &arguments);
    add(s, "vkCmdBindDescriptorSets", HD_STREAM_STATE_SET((uint32_t)point, first), 0)->data = close_data(s, &w);
}

static void push(hd_stream *s, const VkWriteDescriptorSet *write)
{
    struct {
        VkCommandBuffer commands;
        VkPipelineBindPoint point;
        VkPipelineLayout layout;
        uint32_t set, count;
        const VkWriteDescriptorSet *writes;
    } arguments = {.count = 1, .writes = write};
    const hdi_call *call = hdi_call_find("vkCmdPushDescriptorSetKHR");
    hdi_call_writer w = writer();
    cr_assert_eq(call->type->bytes, sizeof(arguments));
    hdi_call_write(&w, call->type, &arguments);
    add(s, "vkCmdPushDescriptorSetKHR", GRAPHICS_SET, GRAPHICS_SET)->data = close_data(s, &w);
}

/* Two sets of one layout: binding 0 for vertex shaders, 1 for fragment shaders, 2 for compute shaders. */
static hd_stream *open_stream(const hd_allocator *allocator)
{
    if (!hdi_call_find("vkCmdBindDescriptorSets"))
        cr_skip_test("built without the registry");
    hd_stream *s = hdi_stream_make(allocator);
    cr_assert(s);
    make(s, "vkCreateBuffer", "VkBufferCreateInfo",
         &(VkBufferCreateInfo){.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = BYTES});
    make(s, "vkCreateImage", "VkImageCreateInfo",
         &(VkImageCreateInfo){.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO, .mipLevels = 4, .arrayLayers = 2});
    make(s, "vkCreateBufferView", "VkBufferViewCreateInfo",
         &(VkBufferViewCreateInfo){.sType = VK_STRUCTURE_TYPE_BUFFER_VIEW_CREATE_INFO,
                                   .buffer = H(VkBuffer, BUFFER),
                                   .offset = 512,
                                   .range = VK_WHOLE_SIZE});
    make(s, "vkCreateImageView", "VkImageViewCreateInfo",
         &(VkImageViewCreateInfo){.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
                                  .image = H(VkImage, IMAGE),
                                  .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 1, VK_REMAINING_MIP_LEVELS, 1, 1}});
    VkDescriptorSetLayoutBinding bindings[3] = {
        {0, VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, 1, VK_SHADER_STAGE_VERTEX_BIT, NULL},
        {1, VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE, 1, VK_SHADER_STAGE_FRAGMENT_BIT, NULL},
        {2, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL}};
    make(s, "vkCreateDescriptorSetLayout", "VkDescriptorSetLayoutCreateInfo",
         &(VkDescriptorSetLayoutCreateInfo){
             .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, .bindingCount = 3, .pBindings = bindings});
    for (int i = 0; i < 2; i++)
        make(s, "vkAllocateDescriptorSets", "VkDescriptorSetAllocateInfo",
             &(VkDescriptorSetAllocateInfo){.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                            .descriptorSetCount = 1,
                                            .pSetLayouts = &(VkDescriptorSetLayout){H(VkDescriptorSetLayout, LAYOUT)}});
    *hdi_stream_resource(s) =
        (hd_stream_resource){.name = HD_NONE, .bytes = BYTES, .mips = 1, .layers = 1, .object = BUFFER};
    *hdi_stream_resource(s) =
        (hd_stream_resource){.name = HD_NONE, .mips = 4, .layers = 2, .aspects = 1, .object = IMAGE};
    VkWriteDescriptorSet writes[3] = {bytes_at(0, VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, &part),
                                      image_at(1, VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE, &sampled),
                                      bytes_at(2, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, &part)};
    for (int i = 0; i < 3; i++)
        update(s, SET, &writes[i], NULL);
    return s;
}

/* The accesses of the k-th command with this name. */
static const hd_stream_access *accesses_of(const hd_stream *s, const char *name, uint32_t k, uint32_t *count)
{
    for (uint32_t c = 0; c < s->command_count; c++) {
        const hd_stream_command *x = &s->commands[c];
        if (strcmp(s->strings[x->name], name) == 0 && k-- == 0) {
            *count = x->count;
            return s->accesses + x->begin;
        }
    }
    cr_assert(false, "no %s", name);
    return NULL;
}

static void expect_count(const hd_stream *s, const char *name, uint32_t k, uint32_t wanted)
{
    uint32_t count;
    accesses_of(s, name, k, &count);
    cr_expect_eq(count, wanted, "%s %u: %u accesses", name, k, count);
}

Test(capture_descriptors, by_stage_and_kind)
{
    hd_stream *s = open_stream(NULL);
    uint32_t count;
    bind(s, VK_PIPELINE_BIND_POINT_GRAPHICS, 0, SET);
    add(s, "vkCmdDraw", 0, DRAW);
    bind(s, VK_PIPELINE_BIND_POINT_COMPUTE, 0, SET);
    add(s, "vkCmdDispatch", 0, DISPATCH);
    cr_assert_eq(hdi_capture_descriptors(s), HD_OK);
    const hd_stream_access *a = accesses_of(s, "vkCmdDraw", 0, &count);
    cr_assert_eq(count, 2);
    cr_expect(a[0].resource == HELD_BUFFER && a[0].flags == HD_STREAM_BOUND);
    cr_expect(a[0].range.offset == 256 && a[0].range.bytes == 128);
    cr_expect(a[0].stages == VK_PIPELINE_STAGE_2_VERTEX_SHADER_BIT && a[0].access == VK_ACCESS_2_UNIFORM_READ_BIT);
    cr_expect(a[1].resource == HELD_IMAGE && a[1].layout == VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL);
    cr_expect(a[1].range.mip_base == 1 && a[1].range.mip_count == 3);
    cr_expect(a[1].range.layer_base == 1 && a[1].range.layer_count == 1);
    cr_expect(a[1].stages == VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT);
    cr_expect(a[1].access == VK_ACCESS_2_SHADER_SAMPLED_READ_BIT);
    a = accesses_of(s, "vkCmdDispatch", 0, &count);
    cr_assert_eq(count, 1);
    cr_expect(a[0].stages == VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT &&
              a[0].access == (VK_ACCESS_2_SHADER_STORAGE_READ_BIT | VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT));
    hd_stream_free(s);
}

/* What is written again, copied, pushed, bound in another command buffer, or of no use to the command. */
Test(capture_descriptors, sets_change)
{
    hd_stream *s = open_stream(NULL);
    uint32_t count;
    VkBufferView view = H(VkBufferView, BUFFER_VIEW);
    VkWriteDescriptorSet texels = bytes_at(0, VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER, NULL);
    texels.pTexelBufferView = &view;
    update(s, OTHER_SET, NULL,
           &(VkCopyDescriptorSet){.sType = VK_STRUCTURE_TYPE_COPY_DESCRIPTOR_SET,
                                  .srcSet = H(VkDescriptorSet, SET),
                                  .srcBinding = 0,
                                  .dstSet = H(VkDescriptorSet, OTHER_SET),
                                  .dstBinding = 1,
                                  .descriptorCount = 1});
    update(s, SET, &texels, NULL);
    update(s, OTHER_SET, NULL, /* within one set: another element of the same binding */
           &(VkCopyDescriptorSet){.sType = VK_STRUCTURE_TYPE_COPY_DESCRIPTOR_SET,
                                  .srcSet = H(VkDescriptorSet, OTHER_SET),
                                  .srcBinding = 1,
                                  .dstSet = H(VkDescriptorSet, OTHER_SET),
                                  .dstBinding = 1,
                                  .dstArrayElement = 1,
                                  .descriptorCount = 1});
    add(s, "vkCmdDraw", 0, DRAW); /* 0: nothing is bound */
    bind(s, VK_PIPELINE_BIND_POINT_GRAPHICS, 0, SET);
    bind(s, VK_PIPELINE_BIND_POINT_GRAPHICS, 1, OTHER_SET);
    add(s, "vkCmdDraw", 0, DRAW);
    push(s, &(VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                    .descriptorCount = 1,
                                    .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC,
                                    .pBufferInfo = &part});
    add(s, "vkCmdDraw", 0, HD_STREAM_STATE_PIPELINE(0) | GRAPHICS_SET);
    add(s, "vkCmdDraw", 0, DRAW)->buffer = 2;
    cr_assert_eq(hdi_capture_descriptors(s), HD_OK);
    expect_count(s, "vkCmdDraw", 0, 0);
    const hd_stream_access *a = accesses_of(s, "vkCmdDraw", 1, &count);
    cr_assert_eq(count, 4);
    cr_expect(a[3].range.offset == 256 && a[3].stages == a[2].stages);
    cr_expect(a[0].range.offset == 512 && a[0].range.bytes == BYTES - 512); /* of the view, in place of the buffer */
    cr_expect(a[1].resource == HELD_IMAGE);
    cr_expect(a[2].range.offset == 256 && a[2].stages == VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT); /* the copy */
    a = accesses_of(s, "vkCmdDraw", 2, &count);
    cr_assert_eq(count, 1);
    cr_expect(a[0].range.offset == 256 && a[0].range.bytes == BYTES - 256); /* its offset is not known */
    expect_count(s, "vkCmdDraw", 3, 0);
    hd_stream_free(s);
}

static void make_bound(hd_stream *s, uint64_t offset)
{
    uint32_t refs[] = {MADE, MEMORY};
    hd_stream_object object = {hdi_stream_string(s, "vkBindBufferMemory"),
                               hdi_stream_data(s, &offset, sizeof(offset), refs, 2)};
    cr_assert(hdi_stream_object(s, &object));
}

/* A buffer that the stream does not know becomes a resource, in the memory that others of it have. */
Test(capture_descriptors, buffers_of_shaders_alone)
{
    hd_stream *s = open_stream(NULL);
    uint32_t count;
    make(s, "vkCreateBuffer", "VkBufferCreateInfo",
         &(VkBufferCreateInfo){.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = 96});
    make(s, "vkAllocateMemory", "VkMemoryAllocateInfo",
         &(VkMemoryAllocateInfo){.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = BYTES});
    make_bound(s, 0);
    make_bound(s, 512);
    *hdi_stream_resource(s) =
        (hd_stream_resource){.name = HD_NONE, .memory = 5, .bytes = 96, .mips = 1, .layers = 1, .object = HELD};
    VkWriteDescriptorSet write = bytes_at(0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                          &(VkDescriptorBufferInfo){H(VkBuffer, OTHER_HELD), 32, VK_WHOLE_SIZE});
    update(s, SET, &write, NULL);
    bind(s, VK_PIPELINE_BIND_POINT_GRAPHICS, 0, SET);
    add(s, "vkCmdDraw", 0, DRAW);
    cr_assert_eq(hdi_capture_descriptors(s), HD_OK);
    const hd_stream_access *a = accesses_of(s, "vkCmdDraw", 0, &count);
    cr_assert(count == 2 && s->resource_count == 4 && a[0].resource == 3);
    cr_expect(s->resources[3].memory == 5 && s->resources[3].offset == 512 && s->resources[3].bytes == 96);
    cr_expect(s->resources[3].object == OTHER_HELD && a[0].range.offset == 32 && a[0].range.bytes == 64);
    hd_stream_free(s);
}

static void touch(hd_stream *s, hd_stream_command *x, uint32_t resource, uint32_t flags, uint32_t scope)
{
    hd_range range =
        resource == HELD_BUFFER ? (hd_range){.bytes = BYTES} : (hd_range){.mip_count = 1, .layer_count = 1};
    x->count = 1;
    *hdi_stream_access(s) = (hd_stream_access){.stages = VK_PIPELINE_STAGE_2_COPY_BIT,
                                               .access = VK_ACCESS_2_TRANSFER_READ_BIT,
                                               .resource = resource,
                                               .flags = flags,
                                               .scope = scope,
                                               .range = range};
}

/* Draws of one rendering go together; those of a pass touch what it declares as it says. */
Test(capture_descriptors, draws_of_a_rendering_and_of_a_pass)
{
    hd_stream *s = open_stream(NULL);
    bind(s, VK_PIPELINE_BIND_POINT_GRAPHICS, 0, SET);
    touch(s, add(s, "vkCmdBeginRendering", 0, 0), HELD_IMAGE, 0, 1);
    add(s, "vkCmdDraw", 0, DRAW);
    add(s, "vkCmdDraw", 0, DRAW); /* 1 */
    bind(s, VK_PIPELINE_BIND_POINT_GRAPHICS, 0, SET);
    add(s, "vkCmdDraw", 0, DRAW);
    touch(s, add(s, "vkCmdCopyBuffer", 0, 0), HELD_BUFFER, 0, 0);
    add(s, "vkCmdDraw", 0, DRAW); /* 3: no rendering is known */
    add(s, "vkCmdDraw", 0, DRAW);
    hd_stream_command *pass = add(s, "pass", 0, 0);
    pass->group = 7;
    touch(s, pass, HELD_BUFFER, HD_STREAM_DECLARED, 0);
    add(s, "vkCmdDraw", 0, DRAW)->group = 7; /* 5 */
    add(s, "vkCmdDraw", 0, DRAW)->group = 8;
    cr_assert_eq(hdi_capture_descriptors(s), HD_OK);
    const uint32_t wanted[] = {2, 0, 2, 2, 2, 1, 2};
    for (uint32_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
        expect_count(s, "vkCmdDraw", i, wanted[i]);
    expect_count(s, "vkCmdBeginRendering", 0, 1);
    expect_count(s, "vkCmdCopyBuffer", 0, 1);
    hd_stream_free(s);
}

static void bind_pipeline(hd_stream *s, uint32_t pipeline)
{
    uint32_t data = hdi_stream_data(s, NULL, 0, &pipeline, 1);
    add(s, "vkCmdBindPipeline", HD_STREAM_STATE_PIPELINE(0), 0)->data = data;
}

static void draw_vertices(hd_stream *s)
{
    touch(s, add(s, "vkCmdDraw", 0, HD_STREAM_STATE_PIPELINE(0)), HELD_BUFFER, 0, 0);
    s->accesses[s->access_count - 1].access = VK_ACCESS_2_VERTEX_ATTRIBUTE_READ_BIT;
}

/* A pipeline without vertices reads no vertex buffers, though some are bound. */
Test(capture_descriptors, pipelines_without_vertices)
{
    hd_stream *s = open_stream(NULL);
    VkVertexInputBindingDescription binding = {.stride = 4};
    VkDynamicState dynamic_input = VK_DYNAMIC_STATE_VERTEX_INPUT_EXT;
    VkPipelineDynamicStateCreateInfo dynamic = {.sType = VK_STRUCTURE_TYPE_PIPELINE_DYNAMIC_STATE_CREATE_INFO,
                                                .dynamicStateCount = 1,
                                                .pDynamicStates = &dynamic_input};
    for (int i = 0; i < 3; i++) { /* without, with, and as it is set */
        VkPipelineVertexInputStateCreateInfo input = {.sType =
                                                          VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO,
                                                      .vertexBindingDescriptionCount = i == 1,
                                                      .pVertexBindingDescriptions = &binding};
        make(s, "vkCreateGraphicsPipelines", "VkGraphicsPipelineCreateInfo",
             &(VkGraphicsPipelineCreateInfo){.sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO,
                                             .pVertexInputState = &input,
                                             .pDynamicState = i == 2 ? &dynamic : NULL});
    }
    draw_vertices(s);
    for (uint32_t i = 0; i < 3; i++) {
        bind_pipeline(s, OTHER_SET + 1 + i);
        draw_vertices(s);
    }
    cr_assert_eq(hdi_capture_descriptors(s), HD_OK);
    const uint32_t wanted[] = {1, 0, 1, 1};
    for (uint32_t i = 0; i < 4; i++)
        expect_count(s, "vkCmdDraw", i, wanted[i]);
    hd_stream_free(s);
}

/* Whatever stands in the bytes: they are read, or not. */
Test(capture_descriptors, any_bytes_and_no_memory)
{
    for (uint64_t fail = 0;; fail++) {
        hdt_limited limit = {.fail_at = 0};
        hd_allocator allocator = hdt_limited_allocator(&limit);
        hd_stream *s = open_stream(&allocator);
        bind(s, VK_PIPELINE_BIND_POINT_GRAPHICS, 0, SET);
        add(s, "vkCmdDraw", 0, DRAW);
        for (uint32_t i = 0; i < s->byte_count && fail % 4 == 3; i++)
            s->bytes[i] ^= (uint8_t)(i * 31 + fail) % 7 == 0 ? 0xff : 0;
        uint64_t made = limit.made;
        limit.fail_at = fail < 60 ? made + fail / 4 + 1 : 0;
        hd_result result = hdi_capture_descriptors(s);
        cr_assert(result == HD_OK || result == HD_OUT_OF_MEMORY);
        cr_assert(fail < 60 || result == HD_OK);
        hd_stream_free(s);
        cr_assert(limit.out == 0 && limit.wrong == 0);
        if (fail == 200)
            break;
    }
}
