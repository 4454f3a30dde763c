#include "capture_device.h"

#include <pthread.h>

/* What commands and creations were given, and what changes descriptor sets and queries. */

TestSuite(capture_data, .init = begin_test, .fini = end_test);

/* ---- records ---- */

static VkPipeline make_pipeline(VkPipelineLayout *layout)
{
    VkShaderModule module;
    VkPipeline out;
    static const uint32_t code[] = {1, 2, 3, 4};
    CALL(vkCreateShaderModule)
    (device,
     &(VkShaderModuleCreateInfo){
         .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = sizeof(code), .pCode = code},
     NULL, &module);
    CALL(vkCreatePipelineLayout)
    (device, &(VkPipelineLayoutCreateInfo){.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO}, NULL, layout);
    VkComputePipelineCreateInfo info = {.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
                                        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                                                  .module = module,
                                                  .pName = "main"},
                                        .layout = *layout};
    CALL(vkCreateComputePipelines)(device, VK_NULL_HANDLE, 1, &info, NULL, &out);
    return out;
}

/* Each command has what it was given; objects are named once, and those that nothing names are left out. */
Test(capture_data, commands)
{
    VkPipelineLayout layout;
    open_device();
    allocate(0);
    VkBuffer buffer = make_buffer(256, 1024);
    make_buffer(4096, 64); /* nothing uses it */
    VkPipeline pipeline = make_pipeline(&layout);
    make_pipeline(&layout);
    for (int i = 0; i < 2; i++) {
        CALL(vkCmdBindPipeline)(COMMANDS, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
        CALL(vkCmdDispatch)(COMMANDS, 1, 2, 3 + (uint32_t)i);
    }
    CALL(vkCmdFillBuffer)(COMMANDS, buffer, 4, 8, 0x12345678);
    CALL(vkCmdSetLineStippleEXT)(COMMANDS, 3, 5);
    CALL(vkCmdClearAttachments)(COMMANDS, 0, NULL, 0, NULL);
    CALL(vkCmdDrawIndirectByteCountEXT)(COMMANDS, 1, 0, buffer, 0, 0, 4);
    submit(VK_NULL_HANDLE, 0);
    submit(VK_NULL_HANDLE, 0);
    hd_stream *s = close_device();
    expect_order(s);
    cr_expect_eq(objects_of(s, "vkCreateComputePipelines"), 1);
    cr_expect_eq(objects_of(s, "vkCreateBuffer"), 1);
    cr_expect_eq(objects_of(s, "vkCreateDevice"), 1);
    cr_expect_str_eq(s->strings[s->objects[s->device].name], "vkCreateDevice");
    cr_assert_eq(s->command_count, 16);
    cr_expect_eq(s->unseen, 2, "how a command that is not looked at accesses a buffer");
    for (uint32_t i = 0; i < s->command_count; i++)
        cr_expect_neq(s->commands[i].data, 0, "%s", name_of(s, &s->commands[i]));
    const struct {
        VkCommandBuffer commands;
        uint32_t x, y, z;
    } *dispatch = arguments_of(s, command_of(s, "vkCmdDispatch", 3));
    cr_expect(dispatch->x == 1 && dispatch->y == 2 && dispatch->z == 4);
    const struct {
        VkCommandBuffer commands;
        VkBuffer buffer;
        VkDeviceSize offset, bytes;
        uint32_t word;
    } *fill = arguments_of(s, command_of(s, "vkCmdFillBuffer", 0));
    cr_expect(fill->offset == 4 && fill->bytes == 8 && fill->word == 0x12345678);
    cr_expect_str_eq(object_name(s, (uint64_t)(uintptr_t)fill->buffer), "vkBindBufferMemory");
    uint32_t bound = (uint32_t)((uint64_t)(uintptr_t)fill->buffer - 1000);
    cr_expect_eq(s->resources[0].object, bound);
    hdi_call_reader r = reader_of(s, s->objects[bound].data);
    cr_assert_eq(r.ref_count, 2);
    cr_expect_str_eq(s->strings[s->objects[r.refs[0]].name], "vkCreateBuffer");
    cr_expect_str_eq(s->strings[s->objects[r.refs[1]].name], "vkAllocateMemory");
    uint64_t offset;
    memcpy(&offset, r.bytes, sizeof(offset));
    cr_expect_eq(offset, 256);
    bool core = count_of(s, "vkCmdSetLineStipple"); /* its name since Vulkan 1.4 */
    const hd_stream_command *stipple = command_of(s, core ? "vkCmdSetLineStipple" : "vkCmdSetLineStippleEXT", 0);
    cr_expect_eq(stipple->sets, HD_STREAM_STATE_OTHER);
    cr_expect(command_of(s, "vkCmdClearAttachments", 0)->uses & HD_STREAM_STATE_PIPELINE(0), "it is like a draw");
    cr_expect(command_of(s, "vkCmdDispatch", 0)->uses & HD_STREAM_STATE_OTHER);
    hd_stream_free(s);
}

/* Commands of secondary command buffers stand in the primary one. */
Test(capture_data, secondary)
{
    open_device();
    VkCommandBuffer secondary = SECONDARY;
    CALL(vkCmdDraw)(SECONDARY, 7, 1, 0, 0);
    CALL(vkCmdBeginRendering)
    (COMMANDS, &(VkRenderingInfo){.sType = VK_STRUCTURE_TYPE_RENDERING_INFO,
                                  .flags = VK_RENDERING_CONTENTS_SECONDARY_COMMAND_BUFFERS_BIT,
                                  .layerCount = 1});
    CALL(vkCmdExecuteCommands)(COMMANDS, 1, &secondary);
    CALL(vkCmdEndRendering)(COMMANDS);
    submit(VK_NULL_HANDLE, 0);
    hd_stream *s = close_device();
    cr_assert_eq(s->command_count, 3);
    const struct {
        VkCommandBuffer commands;
        const VkRenderingInfo *info;
    } *begin = arguments_of(s, &s->commands[0]);
    cr_expect_eq(begin->info->layerCount, 1);
    const struct {
        VkCommandBuffer commands;
        uint32_t vertices;
    } *draw = arguments_of(s, &s->commands[1]);
    cr_expect_eq(draw->vertices, 7);
    hd_stream_free(s);
}

/* A call whose objects the capture has not seen, or that cannot be carried, is not replayed, and its name says so. */
Test(capture_data, not_captured)
{
    open_device();
    CALL(vkCmdBindPipeline)(COMMANDS, VK_PIPELINE_BIND_POINT_COMPUTE, (VkPipeline)(uintptr_t)0x777);
    CALL(vkCmdSetEvent)(COMMANDS, VK_NULL_HANDLE, 0);
    CALL(vkGetBufferDeviceAddress)(device, NULL);
    submit(VK_NULL_HANDLE, 0);
    hd_stream *s = close_device();
    static const char *const names[] = {"vkGetBufferDeviceAddress", "vkCmdBindPipeline", "vkCmdSetEvent"};
    cr_assert_eq(s->command_count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        cr_expect(strncmp(name_of(s, &s->commands[i]), "not captured: ", 14) == 0);
        cr_expect_str_eq(name_of(s, &s->commands[i]) + 14, names[i]);
        cr_expect_eq(s->commands[i].data, 0);
    }
    hd_stream_free(s);
}

Test(capture_data, begins_before_the_instance)
{
    hd_stream *stream;
    VkInstance instance;
    const hd_capture_desc desc = {.get_instance_proc = fake_proc, .replay = true};
    cr_assert_eq(hd_capture_open(&desc), HD_OK);
    CALL(vkCreateInstance)
    (&(VkInstanceCreateInfo){.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO}, NULL, &instance);
    cr_expect_eq(hd_capture_begin(), HD_INVALID_ARGUMENT);
    cr_expect_eq(hd_capture_end(&stream), HD_INVALID_ARGUMENT);
    hd_capture_close();
}

/* A command buffer that is recorded again forgets what it was given before. */
Test(capture_data, recorded_again)
{
    VkPipelineLayout layout;
    uint64_t out = 0;
    open_device();
    make_pipeline(&layout);
    for (int i = 0; i < 3000; i++) {
        CALL(vkBeginCommandBuffer)(COMMANDS, NULL);
        CALL(vkCmdPushConstants)(COMMANDS, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, 4, "abc");
        if (i == 10)
            out = limited.bytes;
    }
    cr_expect_eq(limited.bytes, out);
    hd_stream_free(close_device());
}

/* Images of a swapchain are known from when they are asked for; another swapchain may have the same handles. */
Test(capture_data, swapchains)
{
    VkSwapchainCreateInfoKHR info = {.sType = VK_STRUCTURE_TYPE_SWAPCHAIN_CREATE_INFO_KHR,
                                     .imageFormat = VK_FORMAT_R8G8B8A8_UNORM,
                                     .imageArrayLayers = 1};
    open_device();
    for (uint32_t i = 0; i < 2; i++) {
        VkSwapchainKHR swapchain;
        VkImage images[2];
        uint32_t count = 2;
        info.imageExtent.width = 10 + i;
        CALL(vkCreateSwapchainKHR)(device, &info, NULL, &swapchain);
        for (int k = 0; k < 2; k++) {
            CALL(vkGetSwapchainImagesKHR)(device, swapchain, &count, images);
            CALL(vkBeginCommandBuffer)(COMMANDS, NULL);
            clear(images[1]);
            submit(VK_NULL_HANDLE, 0);
        }
    }
    hd_stream *s = close_device();
    expect_order(s);
    cr_assert_eq(s->resource_count, 2);
    cr_expect_eq(objects_of(s, "vkCreateSwapchainKHR"), 2);
    cr_expect_eq(objects_of(s, "vkGetSwapchainImagesKHR"), 2);
    for (uint32_t i = 0; i < 2; i++) {
        hdi_call_reader image = reader_of(s, s->objects[s->resources[i].object].data);
        cr_assert(image.byte_count == 4 && image.ref_count == 1);
        cr_expect_eq(image.bytes[0], 1, "its index");
        hdi_call_reader r = reader_of(s, s->objects[image.refs[0]].data);
        const VkSwapchainCreateInfoKHR *made = hdi_call_read(&r, hdi_call_type_find("VkSwapchainCreateInfoKHR"));
        cr_expect(made && made->imageExtent.width == 10 + i);
    }
    hd_stream_free(s);
}

/* When the stream has ended no other one begins, and nothing more is kept. */
Test(capture_data, after_the_end)
{
    hd_stream *stream;
    open_device();
    allocate(1);
    cr_assert_eq(hd_capture_end(&stream), HD_OK);
    hd_stream_free(stream);
    cr_expect_eq(hd_capture_begin(), HD_INVALID_ARGUMENT);
    uint64_t out = 0;
    for (int i = 0; i < 3000; i++) {
        VkPipelineLayout layout;
        make_pipeline(&layout);
        CALL(vkBeginCommandBuffer)(COMMANDS, NULL);
        CALL(vkCmdPushConstants)(COMMANDS, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, 4, "abc");
        if (i == 10)
            out = limited.bytes;
    }
    cr_expect_eq(limited.bytes, out);
    hd_capture_close();
}

/* ---- descriptor sets and queries ---- */

static void make_sets(VkDescriptorSet sets[3], VkDescriptorSetLayout *layout)
{
    VkDescriptorPool pool;
    CALL(vkCreateDescriptorPool)
    (device, &(VkDescriptorPoolCreateInfo){.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO}, NULL, &pool);
    CALL(vkCreateDescriptorSetLayout)
    (device, &(VkDescriptorSetLayoutCreateInfo){.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO}, NULL,
     layout);
    const VkDescriptorSetLayout layouts[3] = {*layout, *layout, *layout};
    const uint32_t counts[3] = {5, 6, 7};
    VkDescriptorSetVariableDescriptorCountAllocateInfo variable = {
        VK_STRUCTURE_TYPE_DESCRIPTOR_SET_VARIABLE_DESCRIPTOR_COUNT_ALLOCATE_INFO, NULL, 3, counts};
    CALL(vkAllocateDescriptorSets)
    (device,
     &(VkDescriptorSetAllocateInfo){VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO, &variable, pool, 3, layouts}, sets);
}

static VkWriteDescriptorSet write_to(VkDescriptorSet set, uint32_t binding, const VkDescriptorBufferInfo *buffer)
{
    return (VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                  .dstSet = set,
                                  .dstBinding = binding,
                                  .descriptorCount = 1,
                                  .descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER,
                                  .pBufferInfo = buffer};
}

/* Reads the writes of an update; the number of copies behind them. */
static uint32_t read_update(const hd_stream *s, const hd_stream_command *x, uint32_t *count,
                            const VkWriteDescriptorSet *writes[4])
{
    hdi_call_reader r = reader_of(s, x->data);
    const uint32_t *n = hdi_call_read_bytes(&r, 4);
    cr_assert(n && *n <= 4);
    *count = *n;
    for (uint32_t i = 0; i < *count; i++)
        cr_assert(writes[i] = hdi_call_read(&r, hdi_call_type_find("VkWriteDescriptorSet")));
    const uint32_t *copies = hdi_call_read_bytes(&r, 4);
    cr_assert(copies);
    return *copies;
}

Test(capture_data, updates)
{
    VkDescriptorSet sets[3];
    VkDescriptorSetLayout layout;
    const VkWriteDescriptorSet *read[4];
    uint32_t count;
    open_device();
    allocate(0);
    const VkDescriptorBufferInfo a = {make_buffer(0, 64), 16, 32}, b = {make_buffer(64, 64), 0, VK_WHOLE_SIZE};
    make_sets(sets, &layout);
    const VkWriteDescriptorSet writes[4] = {write_to(sets[0], 0, &a), write_to(sets[0], 1, &b),
                                            write_to(sets[1], 2, &a), write_to(sets[0], 3, &b)};
    const VkCopyDescriptorSet copy = {
        .sType = VK_STRUCTURE_TYPE_COPY_DESCRIPTOR_SET, .srcSet = sets[0], .dstSet = sets[2], .descriptorCount = 1};
    CALL(vkUpdateDescriptorSets)(device, 4, writes, 1, &copy);
    hd_stream *s = close_device();
    expect_order(s);
    cr_assert_eq(count_of(s, "vkUpdateDescriptorSets"), 4);
    cr_expect_eq(objects_of(s, "vkAllocateDescriptorSets"), 3);
    static const uint32_t counts[4] = {2, 1, 1, 0};
    for (uint32_t i = 0; i < 4; i++) {
        const hd_stream_command *x = command_of(s, "vkUpdateDescriptorSets", i);
        cr_expect_eq(read_update(s, x, &count, read), i == 3);
        cr_expect_eq(count, counts[i]);
        for (uint32_t k = 0; k < count; k++)
            cr_expect_eq((uint64_t)(uintptr_t)read[k]->dstSet, 1000 + x->changes);
        cr_expect_str_eq(s->strings[s->objects[x->changes].name], "vkAllocateDescriptorSets");
    }
    cr_expect_eq(command_of(s, "vkUpdateDescriptorSets", 0)->changes,
                 command_of(s, "vkUpdateDescriptorSets", 2)->changes);
    read_update(s, command_of(s, "vkUpdateDescriptorSets", 0), &count, read);
    cr_expect(read[0]->pBufferInfo->offset == 16 && read[0]->pBufferInfo->range == 32 && read[1]->dstBinding == 1);
    cr_expect_str_eq(object_name(s, (uint64_t)(uintptr_t)read[1]->pBufferInfo->buffer), "vkBindBufferMemory");
    hdi_call_reader r = reader_of(s, s->objects[command_of(s, "vkUpdateDescriptorSets", 1)->changes].data);
    const VkDescriptorSetAllocateInfo *one = hdi_call_read(&r, hdi_call_type_find("VkDescriptorSetAllocateInfo"));
    cr_assert(one && one->descriptorSetCount == 1 && one->pNext);
    cr_expect_eq(((const VkDescriptorSetVariableDescriptorCountAllocateInfo *)one->pNext)->pDescriptorCounts[0], 6);
    hd_stream_free(s);
}

static VkWriteDescriptorSet shared;

static void *update_shared(void *user)
{
    CALL(vkUpdateDescriptorSets)(device, 1, &shared, 0, NULL);
    return user;
}

/* More threads than a stream has queues. */
Test(capture_data, many_threads)
{
    VkDescriptorSet sets[3];
    VkDescriptorSetLayout layout;
    open_device();
    allocate(0);
    const VkDescriptorBufferInfo a = {make_buffer(0, 64), 16, 32};
    make_sets(sets, &layout);
    shared = write_to(sets[0], 0, &a);
    for (int i = 0; i < 40; i++) {
        pthread_t thread;
        cr_assert_eq(pthread_create(&thread, NULL, update_shared, NULL), 0);
        pthread_join(thread, NULL);
    }
    hd_stream *s = close_device();
    cr_expect_eq(count_of(s, "vkUpdateDescriptorSets"), 40);
    cr_expect_eq(s->queue_count, 1);
    hd_stream_free(s);
}

/* Updates by a template are plain ones, a write for each descriptor. */
Test(capture_data, templates)
{
    VkDescriptorSet sets[3];
    VkDescriptorSetLayout layout;
    VkDescriptorUpdateTemplate by;
    const VkWriteDescriptorSet *read[4];
    uint32_t count;
    open_device();
    allocate(0);
    struct {
        uint64_t gap;
        struct {
            VkDescriptorBufferInfo buffer;
            uint64_t gap;
        } of[2];
    } data = {1, {{{make_buffer(0, 64), 16, 32}, 2}, {{make_buffer(64, 64), 4, 8}, 3}}};
    make_sets(sets, &layout);
    const VkDescriptorUpdateTemplateEntry entry = {
        5, 1, 2, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, sizeof(uint64_t), sizeof(data.of[0])};
    VkDescriptorUpdateTemplateCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_UPDATE_TEMPLATE_CREATE_INFO,
                                                 .descriptorUpdateEntryCount = 1,
                                                 .pDescriptorUpdateEntries = &entry,
                                                 .descriptorSetLayout = layout,
                                                 .pipelineBindPoint = VK_PIPELINE_BIND_POINT_COMPUTE};
    CALL(vkCreateDescriptorUpdateTemplate)(device, &info, NULL, &by);
    CALL(vkUpdateDescriptorSetWithTemplate)(device, sets[1], by, &data);
    VkPipelineLayout pipeline_layout;
    make_pipeline(&pipeline_layout);
    CALL(vkCmdPushDescriptorSetWithTemplateKHR)(COMMANDS, by, pipeline_layout, 0, &data);
    submit(VK_NULL_HANDLE, 0);
    hd_stream *s = close_device();
    cr_expect_eq(read_update(s, command_of(s, "vkUpdateDescriptorSets", 0), &count, read), 0);
    cr_assert_eq(count, 2);
    for (uint32_t i = 0; i < 2; i++) {
        cr_expect(read[i]->dstBinding == 5 && read[i]->dstArrayElement == 1 + i && read[i]->descriptorCount == 1);
        cr_expect_eq(read[i]->pBufferInfo->offset, data.of[i].buffer.offset);
    }
    const hd_stream_command *push = command_of(s, "vkCmdPushDescriptorSetKHR", 0);
    cr_expect_eq(push->sets, HD_STREAM_STATE_SET(1, 0));
    const struct {
        VkCommandBuffer commands;
        VkPipelineBindPoint point;
        VkPipelineLayout layout;
        uint32_t set, count;
        const VkWriteDescriptorSet *writes;
    } *pushed = arguments_of(s, push);
    cr_expect(pushed->point == VK_PIPELINE_BIND_POINT_COMPUTE && pushed->count == 2 &&
              pushed->writes[1].pBufferInfo->offset == 4);
    hd_stream_free(s);
}

Test(capture_data, queries)
{
    VkQueryPool pool;
    open_device();
    CALL(vkCreateQueryPool)
    (device, &(VkQueryPoolCreateInfo){.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO, .queryCount = 4}, NULL, &pool);
    CALL(vkResetQueryPool)(device, pool, 1, 3);
    CALL(vkCmdResetQueryPool)(COMMANDS, pool, 0, 1);
    CALL(vkCmdBeginQuery)(COMMANDS, pool, 0, 0);
    CALL(vkCmdBeginQuery)(COMMANDS, pool, 1, 0);
    CALL(vkCmdDraw)(COMMANDS, 1, 1, 0, 0);
    CALL(vkCmdEndQuery)(COMMANDS, pool, 0);
    CALL(vkCmdEndQuery)(COMMANDS, pool, 1);
    CALL(vkCmdDraw)(COMMANDS, 1, 1, 0, 0);
    submit(VK_NULL_HANDLE, 0);
    hd_stream *s = close_device();
    cr_assert_eq(objects_of(s, "vkCreateQueryPool"), 1);
    static const char *const changing[] = {"vkResetQueryPool", "vkCmdResetQueryPool", "vkCmdBeginQuery",
                                           "vkCmdEndQuery"};
    for (int i = 0; i < 4; i++)
        cr_expect_str_eq(s->strings[s->objects[command_of(s, changing[i], 0)->changes].name], "vkCreateQueryPool");
    for (uint32_t i = 0; i < 2; i++) {
        const hd_stream_command *begin = command_of(s, "vkCmdBeginQuery", i), *end = command_of(s, "vkCmdEndQuery", i);
        cr_expect(begin->pair && begin->pair == end->pair);
        cr_expect(begin->sets & HD_STREAM_STATE_QUERY && end->uses & HD_STREAM_STATE_QUERY);
    }
    const hd_stream_command *inside = command_of(s, "vkCmdDraw", 0), *behind = command_of(s, "vkCmdDraw", 1);
    cr_expect(inside->sets & HD_STREAM_STATE_QUERY && inside->uses & HD_STREAM_STATE_QUERY);
    cr_expect(!((behind->sets | behind->uses) & HD_STREAM_STATE_QUERY));
    const struct {
        VkDevice device;
        VkQueryPool pool;
        uint32_t first, count;
    } *reset = arguments_of(s, command_of(s, "vkResetQueryPool", 0));
    cr_expect(reset->first == 1 && reset->count == 3);
    hd_stream_free(s);
}

/* ---- no memory ---- */

static void do_all(void)
{
    VkPipelineLayout layout;
    VkDescriptorSet sets[3];
    VkDescriptorSetLayout set_layout;
    void *mapped;
    finished = 0;
    allocate(1);
    const VkDescriptorBufferInfo a = {make_buffer(0, 4096), 0, 32};
    VkSemaphore semaphore = make_timeline();
    CALL(vkMapMemory)(device, memory, 0, VK_WHOLE_SIZE, 0, &mapped);
    make_sets(sets, &set_layout);
    const VkWriteDescriptorSet write = write_to(sets[0], 0, &a);
    CALL(vkUpdateDescriptorSets)(device, 1, &write, 0, NULL);
    CALL(vkCmdBindPipeline)(COMMANDS, VK_PIPELINE_BIND_POINT_COMPUTE, make_pipeline(&layout));
    CALL(vkCmdBindDescriptorSets)(COMMANDS, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, sets, 0, NULL);
    CALL(vkCmdDispatch)(COMMANDS, 1, 1, 1);
    CALL(vkCmdFillBuffer)(COMMANDS, a.buffer, 8, 16, 0);
    content[1000] = 1;
    submit(semaphore, 1);
    finished = 1;
    CALL(vkGetSemaphoreCounterValue)(device, semaphore, &(uint64_t){0});
    CALL(vkUnmapMemory)(device, memory);
}

/* The program goes on; the capture says that it is not whole. */
Test(capture_data, no_memory)
{
    uint64_t at = 1;
    for (hd_result result = HD_OUT_OF_MEMORY; result != HD_OK; at++) {
        hd_stream *stream = NULL;
        open_device();
        limited.fail_at = limited.made + at;
        do_all();
        result = hd_capture_end(&stream);
        limited.fail_at = 0;
        cr_expect_eq(stream == NULL, result != HD_OK);
        cr_assert(result == HD_OK || result == HD_OUT_OF_MEMORY);
        hd_stream_free(stream);
        hd_capture_close();
        cr_assert_eq(limited.out, 0, "%llu", (unsigned long long)at);
    }
    cr_expect(at > 40, "%llu", (unsigned long long)at);
}
