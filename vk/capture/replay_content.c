#include "replay_state.h"

#include <stdio.h>
#include <string.h>

#include "hash.h"
#include "tables.h"

/* What the host does to memory, and what it sees there and in images that are presented. The device is idle at each: no
 * submit that was handed on reads or writes the same bytes. */

/* ---- mapped memory ---- */

/* Bytes of memory that a command names. */
typedef struct hdi_replay_span {
    const hdi_replay_object *memory;
    uint64_t offset; /* as it was captured */
    uint8_t *at;
    uint64_t room; /* bytes from there to the end of the memory */
} hdi_replay_span;

/* Where memory is stretched, the bytes stand in the one resource that has them. */
static bool find_span(const hdi_replay *p, const hd_stream_command *c, hdi_replay_span *span)
{
    const hdi_replay_object *m = span->memory;
    uint64_t offset = span->offset;
    if (m->stretch > 1) {
        bool one = c->kind == HD_STREAM_ACCESS && c->count == 1;
        uint64_t begin = one ? p->s->resources[p->s->accesses[c->begin].resource].offset : UINT64_MAX;
        if (offset < begin)
            return false;
        offset += begin * (m->stretch - 1);
    }
    if (!m->mapped || offset > m->bytes)
        return false;
    span->at = (uint8_t *)m->mapped + offset;
    span->room = m->bytes - offset;
    return true;
}

/* With the device idle; the reader stands behind the offset. */
static bool open_span(hdi_replay *p, uint32_t submit, uint32_t command, hdi_call_reader *reader, hdi_replay_span *span)
{
    char place[HDI_REPLAY_TEXT];
    const void *bytes = NULL;
    hdi_replay_place(p, submit, command, place, sizeof(place));
    if (hdi_replay_open(p, p->s->commands[command].data, p->s->object_count, reader) && reader->ref_count)
        bytes = hdi_call_read_bytes(reader, sizeof(span->offset));
    if (!bytes)
        return hdi_replay_fail(p, HD_INVALID_ARGUMENT, "%s: what it was given cannot be read", place);
    memcpy(&span->offset, bytes, sizeof(span->offset));
    if (!hdi_replay_handle(p, VK_OBJECT_TYPE_DEVICE_MEMORY, reader->refs[0]))
        return hdi_replay_fail(p, HD_INVALID_ARGUMENT, "%s names no memory", place);
    span->memory = &p->objects[reader->refs[0]];
    if (!find_span(p, &p->s->commands[command], span))
        return hdi_replay_fail(p, HD_MISSING_FEATURE, "%s: the host cannot see these bytes here", place);
    return hdi_replay_idle(p);
}

static bool coherent(const hdi_replay *p, uint32_t type)
{
    return p->memory.memoryTypes[type].propertyFlags & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
}

static VkMappedMemoryRange whole(const hdi_replay_object *memory)
{
    return (VkMappedMemoryRange){.sType = VK_STRUCTURE_TYPE_MAPPED_MEMORY_RANGE,
                                 .memory = (VkDeviceMemory)(uintptr_t)memory->handle,
                                 .size = VK_WHOLE_SIZE};
}

static bool write_memory(hdi_replay *p, uint32_t submit, uint32_t command)
{
    char place[HDI_REPLAY_TEXT];
    hdi_call_reader reader;
    hdi_replay_span span;
    if (!open_span(p, submit, command, &reader, &span))
        return false;
    uint32_t count = reader.byte_count - reader.at;
    if (count > span.room)
        return hdi_replay_fail(p, HD_INVALID_ARGUMENT, "%s writes behind its memory",
                               hdi_replay_place(p, submit, command, place, sizeof(place)));
    memcpy(span.at, hdi_call_read_bytes(&reader, count), count);
    VkMappedMemoryRange range = whole(span.memory);
    return coherent(p, span.memory->memory_type) ||
           hdi_replay_check(p, p->fn.vkFlushMappedMemoryRanges(p->device, 1, &range), "vkFlushMappedMemoryRanges");
}

/* Counts what was looked at, and tells it. */
static void tell(hdi_replay *p, hd_replay_content *content)
{
    content->hash = hdi_hash_bytes(content->bytes, (size_t)content->byte_count, 0);
    p->report.contents++;
    p->report.different += content->hash != content->captured_hash;
    if (p->desc->content)
        p->desc->content(content, p->desc->user);
}

/* Where the bytes are all that a copy of an image left in the one buffer that has them, they are texels. */
static void find_picture(const hdi_replay *p, uint32_t command, uint64_t offset, hd_replay_content *content)
{
    const hd_stream *s = p->s;
    const hd_stream_command *c = &s->commands[command];
    if (c->kind != HD_STREAM_ACCESS || c->count != 1)
        return;
    content->resource = s->accesses[c->begin].resource;
    const hdi_replay_picture *picture = &p->pictures[content->resource];
    uint64_t texel = hdi_format_bytes(picture->format);
    if (offset != s->resources[content->resource].offset + picture->offset || !picture->width ||
        texel * picture->width * picture->height != content->byte_count)
        return;
    content->format = picture->format;
    content->width = picture->width;
    content->height = picture->height;
}

static bool read_memory(hdi_replay *p, uint32_t submit, uint32_t command)
{
    char place[HDI_REPLAY_TEXT];
    hdi_call_reader reader;
    uint64_t more[2];
    hdi_replay_span span;
    if (!open_span(p, submit, command, &reader, &span))
        return false;
    const void *bytes = hdi_call_read_bytes(&reader, sizeof(more));
    if (bytes)
        memcpy(more, bytes, sizeof(more));
    if (!bytes || more[0] > span.room)
        return hdi_replay_fail(p, HD_INVALID_ARGUMENT, "%s reads behind its memory",
                               hdi_replay_place(p, submit, command, place, sizeof(place)));
    VkMappedMemoryRange range = whole(span.memory);
    if (!coherent(p, span.memory->memory_type) &&
        !hdi_replay_check(p, p->fn.vkInvalidateMappedMemoryRanges(p->device, 1, &range),
                          "vkInvalidateMappedMemoryRanges"))
        return false;
    hd_replay_content content = {.submit = submit,
                                 .command = command,
                                 .resource = HD_NONE,
                                 .bytes = span.at,
                                 .byte_count = more[0],
                                 .captured_hash = more[1]};
    find_picture(p, command, span.offset, &content);
    tell(p, &content);
    return true;
}

/* ---- other calls of the host ---- */

/* A count and as many structures; null: they cannot be read. */
static void *read_list(hdi_replay *p, hdi_call_reader *reader, const char *type_name, uint32_t *count)
{
    const hdi_call_type *type = hdi_call_type_find(type_name);
    const void *bytes = hdi_call_read_bytes(reader, sizeof(*count));
    if (bytes)
        memcpy(count, bytes, sizeof(*count));
    if (!bytes || !type || *count > reader->byte_count)
        return NULL;
    uint8_t *list = hdi_arena_array(&p->arena, *count, type->bytes);
    for (uint32_t i = 0; i < *count && list; i++) {
        const void *item = hdi_call_read(reader, type);
        if (item)
            memcpy(list + (size_t)i * type->bytes, item, type->bytes);
        else
            list = NULL;
    }
    return list;
}

static bool update_sets(hdi_replay *p, hdi_call_reader *reader)
{
    uint32_t write_count, copy_count;
    const VkWriteDescriptorSet *writes = read_list(p, reader, "VkWriteDescriptorSet", &write_count);
    const VkCopyDescriptorSet *copies = writes ? read_list(p, reader, "VkCopyDescriptorSet", &copy_count) : NULL;
    if (!copies || p->result != HD_OK)
        return false;
    p->fn.vkUpdateDescriptorSets(p->device, write_count, writes, copy_count, copies);
    return true;
}

static bool reset_queries(hdi_replay *p, const hdi_replay_name *name, hdi_call_reader *reader)
{
    reader->commands = (uint64_t)(uintptr_t)p->device;
    const void *arguments = name->call && name->function ? hdi_call_read(reader, name->call->type) : NULL;
    if (!arguments || p->result != HD_OK)
        return false;
    name->call->invoke(name->function, arguments);
    return true;
}

bool hdi_replay_host(hdi_replay *p, uint32_t submit, uint32_t command)
{
    char place[HDI_REPLAY_TEXT];
    const hd_stream_command *c = &p->s->commands[command];
    const hdi_replay_name *name = hdi_replay_function(p, c->name);
    hdi_call_reader reader;
    if (name->word == HDI_WORD_WRITE)
        return write_memory(p, submit, command);
    if (name->word == HDI_WORD_READ)
        return read_memory(p, submit, command);
    if (name->word == HDI_WORD_MISSED)
        return hdi_replay_fail(p, HD_MISSING_FEATURE, "%s", hdi_replay_place(p, submit, command, place, sizeof(place)));
    if (name->word != HDI_WORD_UPDATE && name->word != HDI_WORD_RESET)
        return true;
    if (!hdi_replay_idle(p))
        return false;
    bool done = hdi_replay_open(p, c->data, p->s->object_count, &reader) &&
                (name->word == HDI_WORD_UPDATE ? update_sets(p, &reader) : reset_queries(p, name, &reader));
    p->report.commands += done;
    return done || hdi_replay_fail(p, p->arena.failed ? HD_OUT_OF_MEMORY : HD_INVALID_ARGUMENT,
                                   "%s: what it was given cannot be read",
                                   hdi_replay_place(p, submit, command, place, sizeof(place)));
}

/* ---- what is presented ---- */

/* A mapped buffer of at least so many bytes. */
static bool need_look(hdi_replay *p, uint64_t bytes)
{
    VkMemoryRequirements needs;
    if (bytes <= p->look_bytes)
        return true;
    p->fn.vkDestroyBuffer(p->device, p->look, NULL);
    p->fn.vkFreeMemory(p->device, p->look_memory, NULL);
    p->look = VK_NULL_HANDLE;
    p->look_memory = VK_NULL_HANDLE;
    p->look_bytes = 0;
    VkBuffer buffer;
    VkDeviceMemory memory;
    VkBufferCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = bytes, .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    if (!hdi_replay_check(p, p->fn.vkCreateBuffer(p->device, &info, NULL, &buffer), "vkCreateBuffer"))
        return false;
    p->look = buffer;
    p->fn.vkGetBufferMemoryRequirements(p->device, p->look, &needs);
    VkMemoryPropertyFlags cached = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
    uint32_t type = hdi_replay_memory_type(p, needs.memoryTypeBits, cached, VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT);
    VkMemoryAllocateInfo allocate = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = needs.size, .memoryTypeIndex = type};
    if (!hdi_replay_check(p, p->fn.vkAllocateMemory(p->device, &allocate, NULL, &memory), "vkAllocateMemory"))
        return false;
    p->look_memory = memory;
    if (!hdi_replay_check(p, p->fn.vkBindBufferMemory(p->device, p->look, memory, 0), "vkBindBufferMemory") ||
        !hdi_replay_check(p, p->fn.vkMapMemory(p->device, memory, 0, VK_WHOLE_SIZE, 0, &p->look_mapped), "vkMapMemory"))
        return false;
    p->look_coherent = coherent(p, type);
    p->look_bytes = bytes;
    return true;
}

static void change_layout(const hdi_replay *p, VkCommandBuffer commands, VkImage image, VkImageLayout from,
                          VkImageLayout to)
{
    VkImageMemoryBarrier2 barrier = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER_2,
        .srcStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
        .srcAccessMask = VK_ACCESS_2_MEMORY_WRITE_BIT,
        .dstStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
        .dstAccessMask = VK_ACCESS_2_MEMORY_READ_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT,
        .oldLayout = from,
        .newLayout = to,
        .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .image = image,
        .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, VK_REMAINING_ARRAY_LAYERS}};
    p->fn.vkCmdPipelineBarrier2(commands, &(VkDependencyInfo){.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                                              .imageMemoryBarrierCount = 1,
                                                              .pImageMemoryBarriers = &barrier});
}

/* Copies all layers to p->look, and waits for that. */
static bool copy_image(hdi_replay *p, uint32_t family, VkImage image, VkImageLayout layout, uint32_t layers,
                       const VkExtent3D *extent)
{
    VkCommandBuffer commands = hdi_replay_begin(p, family);
    if (!commands)
        return false;
    change_layout(p, commands, image, layout, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
    VkBufferImageCopy region = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, layers}, .imageExtent = *extent};
    p->fn.vkCmdCopyImageToBuffer(commands, image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, p->look, 1, &region);
    VkMemoryBarrier2 to_host = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
                                .srcStageMask = VK_PIPELINE_STAGE_2_COPY_BIT,
                                .srcAccessMask = VK_ACCESS_2_TRANSFER_WRITE_BIT,
                                .dstStageMask = VK_PIPELINE_STAGE_2_HOST_BIT,
                                .dstAccessMask = VK_ACCESS_2_HOST_READ_BIT};
    p->fn.vkCmdPipelineBarrier2(commands, &(VkDependencyInfo){.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                                              .memoryBarrierCount = 1,
                                                              .pMemoryBarriers = &to_host});
    change_layout(p, commands, image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, layout);
    VkCommandBufferSubmitInfo buffer = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
                                        .commandBuffer = commands};
    VkSubmitInfo2 info = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2, .commandBufferInfoCount = 1, .pCommandBufferInfos = &buffer};
    VkMappedMemoryRange range = {
        .sType = VK_STRUCTURE_TYPE_MAPPED_MEMORY_RANGE, .memory = p->look_memory, .size = VK_WHOLE_SIZE};
    p->under_way++;
    return hdi_replay_check(p, p->fn.vkEndCommandBuffer(commands), "vkEndCommandBuffer") &&
           hdi_replay_check(p, p->fn.vkQueueSubmit2(p->families[family].queue, 1, &info, VK_NULL_HANDLE),
                            "vkQueueSubmit2") &&
           hdi_replay_idle(p) &&
           (p->look_coherent || hdi_replay_check(p, p->fn.vkInvalidateMappedMemoryRanges(p->device, 1, &range),
                                                 "vkInvalidateMappedMemoryRanges"));
}

bool hdi_replay_present(hdi_replay *p, uint32_t submit, uint32_t command)
{
    const hd_stream *s = p->s;
    const hd_stream_command *c = &s->commands[command];
    hd_replay_content content = {.submit = submit, .command = command};
    hdi_call_reader reader;
    hdi_arena_reset(&p->arena);
    if (c->kind != HD_STREAM_ACCESS || !c->count || !hdi_replay_open(p, c->data, s->object_count, &reader))
        return true; /* what is presented was not looked at */
    const void *hash = hdi_call_read_bytes(&reader, sizeof(content.captured_hash));
    const hd_stream_access *access = &s->accesses[c->begin];
    uint32_t object = s->resources[access->resource].object;
    const VkImageCreateInfo *info = hdi_replay_image(p, object);
    uint64_t image = hdi_replay_handle(p, VK_OBJECT_TYPE_IMAGE, object);
    uint32_t texel = info ? hdi_format_bytes((uint32_t)info->format) : 0;
    if (!hash || !image || !texel)
        return hdi_replay_fail(p, HD_INVALID_ARGUMENT, "submit %u presents an image that cannot be looked at", submit);
    memcpy(&content.captured_hash, hash, sizeof(content.captured_hash));
    content.resource = access->resource;
    content.format = (uint32_t)info->format;
    content.width = info->extent.width;
    content.height = info->extent.height * info->arrayLayers;
    content.byte_count = (uint64_t)texel * content.width * content.height;
    if (!hdi_replay_idle(p) || !need_look(p, content.byte_count) ||
        !copy_image(p, p->own_family[s->queues[s->submits[submit].queue].family], (VkImage)(uintptr_t)image,
                    (VkImageLayout)access->layout, info->arrayLayers, &info->extent))
        return false;
    content.bytes = p->look_mapped;
    tell(p, &content);
    return true;
}
