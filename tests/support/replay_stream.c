#include "replay_stream.h"

#include <criterion/criterion.h>

#include <string.h>

static uint32_t object_of(void *user, uint32_t type, uint64_t handle)
{
    (void)user, (void)type;
    return (uint32_t)handle;
}

static uint32_t string(hdt_maker *m, const char *text)
{
    uint32_t number = hdi_stream_string(m->s, text);
    cr_assert_neq(number, HD_NONE);
    return number;
}

static void write_struct(hdt_maker *m, const char *type, const void *value)
{
    cr_assert_not_null(hdi_call_type_find(type), "%s", type);
    hdi_call_write(&m->w, hdi_call_type_find(type), value);
}

uint32_t hdt_maker_data(hdt_maker *m)
{
    cr_assert(!m->w.failed);
    uint32_t data = hdi_stream_data(m->s, m->w.bytes, m->w.byte_count, m->w.refs, m->w.ref_count);
    m->w.byte_count = m->w.ref_count = 0;
    cr_assert_neq(data, 0);
    return data;
}

uint32_t hdt_maker_object(hdt_maker *m, const char *function)
{
    uint32_t data = hdt_maker_data(m);
    uint32_t object = hdi_stream_object(m->s, &(hd_stream_object){.name = string(m, function), .data = data});
    cr_assert_neq(object, 0);
    return object;
}

hdt_maker hdt_maker_begin(const VkQueueFlags *families, uint32_t family_count)
{
    hdt_maker m = {.s = hdi_stream_make(NULL)};
    m.w.object = object_of;
    VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_1};
    write_struct(
        &m, "VkInstanceCreateInfo",
        &(VkInstanceCreateInfo){.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &application});
    uint32_t instance = hdt_maker_object(&m, "vkCreateInstance");
    VkPhysicalDeviceMemoryProperties memory = {
        .memoryTypeCount = 1,
        .memoryTypes = {{VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT, 0}},
        .memoryHeapCount = 1};
    hdi_call_write_ref(&m.w, instance);
    write_struct(&m, "VkDeviceCreateInfo", &(VkDeviceCreateInfo){.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO});
    hdi_call_write_bytes(&m.w, &memory, sizeof(memory));
    hdi_call_write_bytes(&m.w, &family_count, sizeof(family_count));
    hdi_call_write_bytes(&m.w, families, family_count * (uint32_t)sizeof(*families));
    m.s->device = hdt_maker_object(&m, "vkCreateDevice");
    return m;
}

hd_stream *hdt_maker_end(hdt_maker *m)
{
    hdi_call_writer_free(&m->w);
    return m->s;
}

uint32_t hdt_maker_plain(hdt_maker *m, const char *function, const void *info)
{
    const hdi_call *call = hdi_call_find(function);
    cr_assert(call && call->makes, "%s", function);
    hdi_call_write(&m->w, call->type, info);
    return hdt_maker_object(m, function);
}

uint32_t hdt_maker_memory(hdt_maker *m, uint64_t bytes)
{
    write_struct(m, "VkMemoryAllocateInfo",
                 &(VkMemoryAllocateInfo){.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = bytes});
    return hdt_maker_object(m, "vkAllocateMemory");
}

uint32_t hdt_maker_bind(hdt_maker *m, bool is_image, uint32_t object, uint32_t memory, uint64_t offset)
{
    hdi_call_write_ref(&m->w, object);
    hdi_call_write_ref(&m->w, memory);
    hdi_call_write_bytes(&m->w, &offset, sizeof(offset));
    return hdt_maker_object(m, is_image ? "vkBindImageMemory" : "vkBindBufferMemory");
}

static uint32_t resource(hdt_maker *m, const char *name, const hd_stream_resource *as)
{
    hd_stream_resource *r = hdi_stream_resource(m->s);
    cr_assert_not_null(r);
    *r = *as;
    r->name = string(m, name);
    return m->s->resource_count - 1;
}

uint32_t hdt_maker_buffer(hdt_maker *m, const char *name, uint64_t bytes, uint32_t memory, uint64_t offset)
{
    uint32_t buffer = hdt_maker_plain(
        m, "vkCreateBuffer",
        &(VkBufferCreateInfo){.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                              .size = bytes,
                              .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT});
    return resource(m, name,
                    &(hd_stream_resource){.memory = memory,
                                          .offset = offset,
                                          .bytes = bytes,
                                          .mips = 1,
                                          .layers = 1,
                                          .flags = HD_STREAM_MAPPED,
                                          .object = hdt_maker_bind(m, false, buffer, memory, offset)});
}

uint32_t hdt_maker_image(hdt_maker *m, const char *name, uint32_t width, uint32_t height)
{
    uint32_t image = hdt_maker_plain(
        m, "vkCreateImage",
        &(VkImageCreateInfo){.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                             .imageType = VK_IMAGE_TYPE_2D,
                             .format = VK_FORMAT_R8G8B8A8_UNORM,
                             .extent = {width, height, 1},
                             .mipLevels = 1,
                             .arrayLayers = 1,
                             .samples = VK_SAMPLE_COUNT_1_BIT,
                             .usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT});
    uint32_t memory = hdt_maker_memory(m, UINT64_C(4) * width * height + 65536);
    return resource(m, name,
                    &(hd_stream_resource){.memory = memory,
                                          .mips = 1,
                                          .layers = 1,
                                          .aspects = VK_IMAGE_ASPECT_COLOR_BIT,
                                          .object = hdt_maker_bind(m, true, image, memory, 0)});
}

uint32_t hdt_maker_queue(hdt_maker *m, hd_queue_kind kind, uint32_t family)
{
    hd_stream_queue *queue = hdi_stream_queue(m->s);
    cr_assert_not_null(queue);
    *queue = (hd_stream_queue){kind, family};
    return m->s->queue_count - 1;
}

uint32_t hdt_maker_semaphore(hdt_maker *m, bool binary)
{
    hd_stream_semaphore *semaphore = hdi_stream_semaphore(m->s);
    cr_assert_not_null(semaphore);
    *semaphore = (hd_stream_semaphore){.binary = binary};
    return m->s->semaphore_count - 1;
}

void hdt_maker_submit(hdt_maker *m, uint32_t queue, hd_stream_sync wait, hd_stream_sync signal)
{
    hd_stream_submit *submit = hdi_stream_submit(m->s);
    cr_assert_not_null(submit);
    *submit = (hd_stream_submit){.queue = queue,
                                 .thread = HD_NONE,
                                 .name = string(m, "vkQueueSubmit2"),
                                 .wait_begin = m->s->sync_count,
                                 .command_begin = m->s->command_count,
                                 .signal_begin = m->s->sync_count};
    for (int i = 0; i < 2; i++) {
        const hd_stream_sync *from = i ? &signal : &wait;
        hd_stream_sync *sync = from->semaphore == HD_NONE ? NULL : hdi_stream_sync(m->s);
        submit->signal_begin = i ? submit->signal_begin : submit->signal_begin + (sync != NULL);
        *(i ? &submit->signal_count : &submit->wait_count) = sync != NULL;
        if (sync)
            *sync = *from;
        if (sync && !sync->stages)
            sync->stages = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
    }
}

hd_stream_command *hdt_maker_command(hdt_maker *m, hd_stream_kind kind, const char *name)
{
    uint32_t number = string(m, name), data = m->w.byte_count ? hdt_maker_data(m) : 0;
    hd_stream_command *command = hdi_stream_command(m->s);
    cr_assert_not_null(command);
    *command = (hd_stream_command){.kind = kind,
                                   .name = number,
                                   .label = HD_NONE,
                                   .begin = kind == HD_STREAM_ACCESS ? m->s->access_count : m->s->barrier_count,
                                   .data = data,
                                   .buffer = m->s->submit_count};
    m->s->submits[m->s->submit_count - 1].command_count++;
    return command;
}

hd_stream_command *hdt_maker_call(hdt_maker *m, const char *name, const void *arguments)
{
    const hdi_call *call = hdi_call_find(name);
    cr_assert(call && call->invoke, "%s", name);
    hdi_call_write(&m->w, call->type, arguments);
    return hdt_maker_command(m, HD_STREAM_ACCESS, name);
}

static hd_range range_of(const hdt_maker *m, uint32_t resource)
{
    const hd_stream_resource *r = &m->s->resources[resource];
    if (r->aspects)
        return (hd_range){.mip_count = (uint16_t)r->mips, .layer_count = r->layers};
    return (hd_range){.offset = 0, .bytes = r->bytes};
}

hd_stream_access *hdt_maker_access(hdt_maker *m, uint32_t resource, uint64_t stages, uint64_t access)
{
    hd_stream_access *a = hdi_stream_access(m->s);
    cr_assert_not_null(a);
    *a = (hd_stream_access){.stages = stages, .access = access, .resource = resource, .range = range_of(m, resource)};
    m->s->commands[m->s->command_count - 1].count++;
    return a;
}

hd_stream_barrier *hdt_maker_barrier(hdt_maker *m, uint32_t resource)
{
    hd_stream_barrier *b = hdi_stream_barrier(m->s);
    cr_assert_not_null(b);
    *b = (hd_stream_barrier){.src_stages = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
                             .src_access = VK_ACCESS_2_MEMORY_WRITE_BIT,
                             .dst_stages = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
                             .dst_access = VK_ACCESS_2_MEMORY_READ_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT,
                             .resource = resource,
                             .src_family = HD_NONE,
                             .dst_family = HD_NONE};
    if (resource != HD_NONE)
        b->range = range_of(m, resource);
    m->s->commands[m->s->command_count - 1].count++;
    return b;
}

void hdt_maker_write(hdt_maker *m, uint32_t memory, uint32_t resource, uint64_t offset, const void *bytes,
                     uint32_t count)
{
    hdi_call_write_ref(&m->w, memory);
    hdi_call_write_bytes(&m->w, &offset, sizeof(offset));
    hdi_call_write_bytes(&m->w, bytes, count);
    hdt_maker_command(m, HD_STREAM_ACCESS, "host write");
    hdt_maker_access(m, resource, VK_PIPELINE_STAGE_2_HOST_BIT, VK_ACCESS_2_HOST_WRITE_BIT)->flags = HD_STREAM_OBSERVED;
}

void hdt_maker_read(hdt_maker *m, uint32_t memory, uint32_t resource, uint64_t offset, uint64_t count, uint64_t hash)
{
    const uint64_t values[] = {offset, count, hash};
    hdi_call_write_ref(&m->w, memory);
    hdi_call_write_bytes(&m->w, values, sizeof(values));
    hdt_maker_command(m, HD_STREAM_ACCESS, "host read");
    hdt_maker_access(m, resource, VK_PIPELINE_STAGE_2_HOST_BIT, VK_ACCESS_2_HOST_READ_BIT)->flags = HD_STREAM_OBSERVED;
}

void hdt_maker_clear(hdt_maker *m, uint32_t image, float red, uint32_t layout)
{
    VkClearColorValue colour = {.float32 = {red, 0, 0, 1}};
    VkImageSubresourceRange range = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
    struct {
        VkCommandBuffer commands;
        VkImage image;
        VkImageLayout layout;
        const VkClearColorValue *colour;
        uint32_t count;
        const VkImageSubresourceRange *ranges;
    } arguments = {NULL, HDT_NUMBER(VkImage, m->s->resources[image].object), (VkImageLayout)layout, &colour, 1, &range};
    hdt_maker_call(m, "vkCmdClearColorImage", &arguments);
    hdt_maker_access(m, image, VK_PIPELINE_STAGE_2_CLEAR_BIT, VK_ACCESS_2_TRANSFER_WRITE_BIT)->layout = layout;
}
