#include "replay_state.h"

#include <stdio.h>
#include <string.h>

#include "tables.h"

/* Commands of a submit, recorded as they were captured: each command buffer of the stream is one here, because at the
 * next one all state is unset. What secondary command buffers hold stands inline in the stream. */

static const struct {
    const char *name;
    hdi_replay_word word;
} words[] = {
    {"vkCmdPipelineBarrier", HDI_WORD_BARRIER},
    {"vkCmdPipelineBarrier2", HDI_WORD_BARRIER},
    {"vkCmdBeginRendering", HDI_WORD_BEGIN},
    {"vkCmdBeginRenderPass", HDI_WORD_BEGIN_PASS},
    {"vkCmdBeginRenderPass2", HDI_WORD_BEGIN_PASS2},
    {"vkCmdNextSubpass", HDI_WORD_NEXT},
    {"vkCmdNextSubpass2", HDI_WORD_NEXT2},
    {"vkCmdEndRendering", HDI_WORD_END},
    {"vkCmdEndRenderPass", HDI_WORD_END},
    {"vkCmdEndRenderPass2", HDI_WORD_END},
    {"vkCmdCopyImageToBuffer", HDI_WORD_COPY},
    {"vkCmdCopyImageToBuffer2", HDI_WORD_COPY2},
    {"vkQueuePresentKHR", HDI_WORD_PRESENT},
    {"vkUpdateDescriptorSets", HDI_WORD_UPDATE},
    {"vkResetQueryPool", HDI_WORD_RESET},
    {"host write", HDI_WORD_WRITE},
    {"host read", HDI_WORD_READ},
};

const hdi_replay_name *hdi_replay_function(hdi_replay *p, uint32_t string)
{
    static const hdi_replay_name none;
    if (string >= p->s->string_count)
        return &none;
    hdi_replay_name *name = &p->names[string];
    const char *text = p->s->strings[string];
    if (name->known)
        return name;
    size_t bytes = strlen(text);
    if (bytes > 3 && strcmp(text + bytes - 3, "KHR") == 0)
        bytes -= 3;
    name->known = true;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcmp(text, words[i].name) == 0 ||
            (strncmp(text, words[i].name, bytes) == 0 && strlen(words[i].name) == bytes))
            name->word = words[i].word;
    }
    if (strncmp(text, "not captured:", 13) == 0)
        name->word = HDI_WORD_MISSED;
    name->call = hdi_call_find(text);
    if (name->call && name->call->invoke)
        name->function = hdi_call_function(name->call, p->in.vkGetDeviceProcAddr, p->device);
    return name;
}

const char *hdi_replay_place(const hdi_replay *p, uint32_t submit, uint32_t command, char *text, size_t bytes)
{
    const hd_stream *s = p->s;
    const hd_stream_command *c = &s->commands[command];
    snprintf(text, bytes, "submit %u, command %u (%s%s%s%s)", submit, command - s->submits[submit].command_begin,
             c->name == HD_NONE ? "" : s->strings[c->name], c->label == HD_NONE ? "" : " of '",
             c->label == HD_NONE ? "" : s->strings[c->label], c->label == HD_NONE ? "" : "'");
    return text;
}

/* ---- barriers ---- */

/* Families of a barrier as those of this device. A transfer of ownership between two that have become one is a barrier
 * on the side that releases, with its transition of layout; the side that acquires finds it done. */
static void map_ownership(const hdi_replay *p, const hd_stream_barrier *b, uint32_t family, uint32_t *src,
                          uint32_t *dst, bool *done)
{
    uint32_t count = p->captured_family_count;
    *src = *dst = VK_QUEUE_FAMILY_IGNORED;
    *done = false;
    if (b->src_family == b->dst_family || b->src_family >= count || b->dst_family >= count)
        return;
    if (p->own_family[b->src_family] == p->own_family[b->dst_family]) {
        *done = b->dst_family == family;
        return;
    }
    *src = p->own_family[b->src_family];
    *dst = p->own_family[b->dst_family];
}

static VkImageMemoryBarrier2 image_barrier(const hd_stream_barrier *b, const hd_stream_resource *res, VkImage image,
                                           uint32_t src, uint32_t dst, bool done)
{
    return (VkImageMemoryBarrier2){.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER_2,
                                   .srcStageMask = b->src_stages,
                                   .srcAccessMask = b->src_access,
                                   .dstStageMask = b->dst_stages,
                                   .dstAccessMask = b->dst_access,
                                   .oldLayout = (VkImageLayout)(done ? b->new_layout : b->old_layout),
                                   .newLayout = (VkImageLayout)b->new_layout,
                                   .srcQueueFamilyIndex = src,
                                   .dstQueueFamilyIndex = dst,
                                   .image = image,
                                   .subresourceRange = {b->range.aspect ? b->range.aspect : res->aspects,
                                                        b->range.mip_base, b->range.mip_count, b->range.layer_base,
                                                        b->range.layer_count}};
}

static VkBufferMemoryBarrier2 buffer_barrier(const hd_stream_barrier *b, VkBuffer buffer, uint32_t src, uint32_t dst)
{
    return (VkBufferMemoryBarrier2){.sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER_2,
                                    .srcStageMask = b->src_stages,
                                    .srcAccessMask = b->src_access,
                                    .dstStageMask = b->dst_stages,
                                    .dstAccessMask = b->dst_access,
                                    .srcQueueFamilyIndex = src,
                                    .dstQueueFamilyIndex = dst,
                                    .buffer = buffer,
                                    .offset = b->range.offset,
                                    .size = b->range.bytes};
}

/* The barriers of a command as a dependency, in the arena. */
static bool dependency_of(hdi_replay *p, const hd_stream_command *c, uint32_t family, VkDependencyInfo *out)
{
    const hd_stream *s = p->s;
    VkMemoryBarrier2 *memory = HDI_ARENA_ARRAY(&p->arena, VkMemoryBarrier2, c->count);
    VkBufferMemoryBarrier2 *buffers = HDI_ARENA_ARRAY(&p->arena, VkBufferMemoryBarrier2, c->count);
    VkImageMemoryBarrier2 *images = HDI_ARENA_ARRAY(&p->arena, VkImageMemoryBarrier2, c->count);
    *out = (VkDependencyInfo){.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                              .pMemoryBarriers = memory,
                              .pBufferMemoryBarriers = buffers,
                              .pImageMemoryBarriers = images};
    if (!memory || !buffers || !images)
        return hdi_replay_fail(p, HD_OUT_OF_MEMORY, "%s", hd_result_text(HD_OUT_OF_MEMORY));
    for (uint32_t i = c->begin; i < c->begin + c->count; i++) {
        const hd_stream_barrier *b = &s->barriers[i];
        uint32_t src, dst;
        bool done;
        if (b->resource == HD_NONE) {
            memory[out->memoryBarrierCount++] = (VkMemoryBarrier2){.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
                                                                   .srcStageMask = b->src_stages,
                                                                   .srcAccessMask = b->src_access,
                                                                   .dstStageMask = b->dst_stages,
                                                                   .dstAccessMask = b->dst_access};
            continue;
        }
        const hd_stream_resource *res = &s->resources[b->resource];
        uint64_t handle =
            hdi_replay_handle(p, res->aspects ? VK_OBJECT_TYPE_IMAGE : VK_OBJECT_TYPE_BUFFER, res->object);
        if (!handle)
            return hdi_replay_fail(p, HD_INVALID_ARGUMENT, "the stream does not say how resource %u was made",
                                   b->resource);
        map_ownership(p, b, family, &src, &dst, &done);
        if (res->aspects)
            images[out->imageMemoryBarrierCount++] = image_barrier(b, res, (VkImage)(uintptr_t)handle, src, dst, done);
        else
            buffers[out->bufferMemoryBarrierCount++] = buffer_barrier(b, (VkBuffer)(uintptr_t)handle, src, dst);
    }
    return true;
}

/* ---- events ---- */

/* The last set of an event of the stream; null: none yet. */
static hdi_replay_event *event_of(const hdi_replay *p, uint32_t number)
{
    for (uint32_t i = 0; i < p->event_count; i++) {
        if (p->events[i].number == number)
            return &p->events[i];
    }
    return NULL;
}

/* Each set has an event of its own: nothing need be unset. */
static bool set_event(hdi_replay *p, uint32_t command, VkCommandBuffer commands, const VkDependencyInfo *info)
{
    uint32_t number = p->s->commands[command].event;
    const VkEventCreateInfo create = {.sType = VK_STRUCTURE_TYPE_EVENT_CREATE_INFO,
                                      .flags = VK_EVENT_CREATE_DEVICE_ONLY_BIT};
    if (hdi_grow(&p->allocator, (void **)&p->events, &p->event_room, p->event_count + 1, sizeof(*p->events)) != HD_OK ||
        hdi_grow(&p->allocator, (void **)&p->old, &p->old_room, p->old_count + 1, sizeof(*p->old)) != HD_OK)
        return hdi_replay_fail(p, HD_OUT_OF_MEMORY, "%s", hd_result_text(HD_OUT_OF_MEMORY));
    hdi_replay_event made = {.number = number, .set = command}, *before = event_of(p, number);
    if (!hdi_replay_check(p, p->fn.vkCreateEvent(p->device, &create, NULL, &made.event), "vkCreateEvent"))
        return false;
    if (before)
        p->old[p->old_count++] = *before;
    *(before ? before : &p->events[p->event_count++]) = made;
    p->fn.vkCmdSetEvent2(commands, made.event, info);
    return true;
}

/* A wait has the barriers of its set, whatever part of them a reduced stream keeps. */
static bool wait_for_event(hdi_replay *p, uint32_t command, uint32_t family, VkCommandBuffer commands)
{
    const hdi_replay_event *event = event_of(p, p->s->commands[command].event);
    VkDependencyInfo info;
    if (!event)
        return hdi_replay_fail(p, HD_INVALID_ARGUMENT, "a command waits for event %u, which none sets",
                               p->s->commands[command].event);
    if (!dependency_of(p, &p->s->commands[event->set], family, &info))
        return false;
    p->fn.vkCmdWaitEvents2(commands, 1, &event->event, &info);
    return true;
}

/* ---- commands with arguments ---- */

/* The arguments that are looked at, as call.h has them: in the order of the function. */
typedef struct copy_arguments {
    VkCommandBuffer commands;
    VkImage image;
    VkImageLayout layout;
    VkBuffer buffer;
    uint32_t count;
    const VkBufferImageCopy *regions;
} copy_arguments;
typedef struct copy2_arguments {
    VkCommandBuffer commands;
    const VkCopyImageToBufferInfo2 *info;
} copy2_arguments;
typedef struct rendering_arguments {
    VkCommandBuffer commands;
    VkRenderingInfo *info;
} rendering_arguments;
typedef struct pass_arguments {
    VkCommandBuffer commands;
    const VkRenderPassBeginInfo *info;
    VkSubpassContents contents;
} pass_arguments;
typedef struct pass2_arguments {
    VkCommandBuffer commands;
    const VkRenderPassBeginInfo *info;
    VkSubpassBeginInfo *subpass;
} pass2_arguments;
typedef struct next_arguments {
    VkCommandBuffer commands;
    VkSubpassContents contents;
} next_arguments;
typedef struct next2_arguments {
    VkCommandBuffer commands;
    VkSubpassBeginInfo *subpass;
} next2_arguments;

/* Secondary command buffers stand inline. */
static void put_inline(hdi_replay_word word, void *arguments)
{
    if (word == HDI_WORD_BEGIN && ((rendering_arguments *)arguments)->info)
        ((rendering_arguments *)arguments)->info->flags &=
            ~(VkRenderingFlags)VK_RENDERING_CONTENTS_SECONDARY_COMMAND_BUFFERS_BIT;
    else if (word == HDI_WORD_BEGIN_PASS)
        ((pass_arguments *)arguments)->contents = VK_SUBPASS_CONTENTS_INLINE;
    else if (word == HDI_WORD_BEGIN_PASS2 && ((pass2_arguments *)arguments)->subpass)
        ((pass2_arguments *)arguments)->subpass->contents = VK_SUBPASS_CONTENTS_INLINE;
    else if (word == HDI_WORD_NEXT)
        ((next_arguments *)arguments)->contents = VK_SUBPASS_CONTENTS_INLINE;
    else if (word == HDI_WORD_NEXT2 && ((next2_arguments *)arguments)->subpass)
        ((next2_arguments *)arguments)->subpass->contents = VK_SUBPASS_CONTENTS_INLINE;
}

/* A copy of one whole layer without gaps leaves a picture in its buffer. */
static void note_picture(hdi_replay *p, const hd_stream_command *c, hdi_replay_word word, const void *arguments)
{
    const hd_stream *s = p->s;
    uint32_t image = HD_NONE, buffer = HD_NONE;
    uint64_t offset;
    uint32_t row, rows;
    VkExtent3D extent;
    for (uint32_t i = c->begin; i < c->begin + c->count; i++) {
        uint32_t resource = s->accesses[i].resource;
        *(s->resources[resource].aspects ? &image : &buffer) = resource;
    }
    if (word == HDI_WORD_COPY) {
        const copy_arguments *a = arguments;
        if (a->count != 1 || !a->regions)
            return;
        offset = a->regions->bufferOffset, row = a->regions->bufferRowLength, rows = a->regions->bufferImageHeight;
        extent = a->regions->imageExtent;
    } else {
        const VkCopyImageToBufferInfo2 *info = ((const copy2_arguments *)arguments)->info;
        if (!info || info->regionCount != 1 || !info->pRegions)
            return;
        offset = info->pRegions->bufferOffset, row = info->pRegions->bufferRowLength;
        rows = info->pRegions->bufferImageHeight, extent = info->pRegions->imageExtent;
    }
    const VkImageCreateInfo *from = image == HD_NONE ? NULL : hdi_replay_image(p, s->resources[image].object);
    if (buffer == HD_NONE || !from || (row && row != extent.width) || (rows && rows != extent.height) ||
        extent.depth != 1)
        return;
    p->pictures[buffer] = (hdi_replay_picture){offset, (uint32_t)from->format, extent.width, extent.height};
}

static bool fail_call(hdi_replay *p, uint32_t submit, uint32_t command, hd_result result, const char *why)
{
    char place[HDI_REPLAY_TEXT];
    return hdi_replay_fail(p, result, "%s%s", hdi_replay_place(p, submit, command, place, sizeof(place)), why);
}

static bool call(hdi_replay *p, uint32_t submit, uint32_t command, VkCommandBuffer commands)
{
    const hd_stream_command *c = &p->s->commands[command];
    const hdi_replay_name *name = hdi_replay_function(p, c->name);
    hdi_call_reader reader;
    void *arguments = NULL;
    if (name->word == HDI_WORD_MISSED)
        return fail_call(p, submit, command, HD_MISSING_FEATURE, "");
    if (!name->call || !name->call->invoke)
        return fail_call(p, submit, command, HD_INVALID_ARGUMENT, " is no function that can be replayed");
    if (!name->function)
        return fail_call(p, submit, command, HD_MISSING_FEATURE, ": the device has no such function");
    if (hdi_replay_open(p, c->data, p->s->object_count, &reader)) {
        reader.commands = (uint64_t)(uintptr_t)commands;
        arguments = hdi_call_read(&reader, name->call->type);
    }
    if (!arguments)
        return fail_call(p, submit, command, p->arena.failed ? HD_OUT_OF_MEMORY : HD_INVALID_ARGUMENT,
                         ": what it was given cannot be read");
    if (p->result != HD_OK)
        return false;
    put_inline(name->word, arguments);
    if (name->word == HDI_WORD_COPY || name->word == HDI_WORD_COPY2)
        note_picture(p, c, name->word, arguments);
    name->call->invoke(name->function, arguments);
    p->report.commands++;
    return p->result == HD_OK;
}

/* ---- command buffers ---- */

VkCommandBuffer hdi_replay_begin(hdi_replay *p, uint32_t family)
{
    hdi_replay_family *f = &p->families[family];
    const VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                           .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    if (f->used == f->made) {
        VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                                .commandPool = f->pool,
                                                .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                                .commandBufferCount = 1};
        if (hdi_grow(&p->allocator, (void **)&f->buffers, &f->room, f->made + 1, sizeof(*f->buffers)) != HD_OK) {
            hdi_replay_fail(p, HD_OUT_OF_MEMORY, "%s", hd_result_text(HD_OUT_OF_MEMORY));
            return NULL;
        }
        if (!hdi_replay_check(p, p->fn.vkAllocateCommandBuffers(p->device, &allocate, &f->buffers[f->made]),
                              "vkAllocateCommandBuffers"))
            return NULL;
        f->made++;
    }
    VkCommandBuffer commands = f->buffers[f->used++];
    VkResult result = p->fn.vkBeginCommandBuffer(commands, &info);
    return hdi_replay_check(p, result, "vkBeginCommandBuffer") ? commands : NULL;
}

/* A command buffer that is recorded. */
typedef struct recording {
    VkCommandBuffer commands; /* null: none is open */
    uint32_t buffer, label;   /* of the stream */
    bool inside;              /* of a rendering */
} recording;

static void put_label(hdi_replay *p, recording *r, uint32_t label)
{
    if (!p->begin_label || !p->end_label || r->label == label)
        return;
    if (r->label != HD_NONE)
        p->end_label(r->commands);
    r->label = label;
    if (label != HD_NONE)
        p->begin_label(r->commands, &(VkDebugUtilsLabelEXT){.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT,
                                                            .pLabelName = p->s->strings[label]});
}

static bool close_buffer(hdi_replay *p, recording *r)
{
    if (!r->commands)
        return true;
    put_label(p, r, HD_NONE);
    VkCommandBuffer commands = r->commands;
    r->commands = NULL;
    return hdi_replay_check(p, p->fn.vkEndCommandBuffer(commands), "vkEndCommandBuffer");
}

static bool open_buffer(hdi_replay *p, recording *r, uint32_t buffer, uint32_t family, uint32_t *count)
{
    if (r->commands && r->buffer == buffer)
        return true;
    if (!close_buffer(p, r))
        return false;
    if (hdi_grow(&p->allocator, (void **)&p->buffers, &p->buffer_room, *count + 1, sizeof(*p->buffers)) != HD_OK)
        return hdi_replay_fail(p, HD_OUT_OF_MEMORY, "%s", hd_result_text(HD_OUT_OF_MEMORY));
    *r = (recording){.commands = hdi_replay_begin(p, p->own_family[family]), .buffer = buffer, .label = HD_NONE};
    p->buffers[*count] = (VkCommandBufferSubmitInfo){.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
                                                     .commandBuffer = r->commands};
    *count += r->commands != NULL;
    return r->commands != NULL;
}

/* Whether a command is one for Vulkan: not a barrier of a render pass object, which its begin and end have, nor what a
 * pass declares or an engine tells the capture. */
static bool is_recorded(hdi_replay *p, const hd_stream_command *c)
{
    const hdi_replay_name *name = hdi_replay_function(p, c->name);
    if (c->kind != HD_STREAM_ACCESS)
        return c->kind != HD_STREAM_BARRIER || (name->word == HDI_WORD_BARRIER && c->count);
    if (name->word == HDI_WORD_PRESENT)
        return false;
    bool next = name->word == HDI_WORD_NEXT || name->word == HDI_WORD_NEXT2; /* the end of a subpass has no data */
    return c->data || name->word == HDI_WORD_MISSED || (name->call && name->call->invoke && !next);
}

static bool record(hdi_replay *p, uint32_t submit, uint32_t command, uint32_t family, recording *r)
{
    const hd_stream_command *c = &p->s->commands[command];
    hdi_replay_word word = hdi_replay_function(p, c->name)->word;
    VkDependencyInfo info;
    put_label(p, r, c->label);
    if (c->kind == HD_STREAM_ACCESS) {
        r->inside |= word >= HDI_WORD_BEGIN && word <= HDI_WORD_BEGIN_PASS2;
        r->inside &= word != HDI_WORD_END;
        return call(p, submit, command, r->commands);
    }
    p->report.commands++;
    if (c->kind == HD_STREAM_WAIT)
        return wait_for_event(p, command, family, r->commands);
    if (!dependency_of(p, c, family, &info))
        return false;
    if (c->kind == HD_STREAM_SET)
        return set_event(p, command, r->commands, &info);
    info.dependencyFlags = r->inside ? VK_DEPENDENCY_BY_REGION_BIT : 0;
    p->fn.vkCmdPipelineBarrier2(r->commands, &info);
    return true;
}

bool hdi_replay_record(hdi_replay *p, uint32_t submit, uint32_t *buffer_count)
{
    const hd_stream_submit *from = &p->s->submits[submit];
    uint32_t family = p->s->queues[from->queue].family;
    recording r = {.commands = NULL};
    *buffer_count = 0;
    for (uint32_t i = from->command_begin; i < from->command_begin + from->command_count; i++) {
        const hd_stream_command *c = &p->s->commands[i];
        hdi_arena_reset(&p->arena);
        if (!is_recorded(p, c))
            continue;
        if (!open_buffer(p, &r, c->buffer, family, buffer_count) || !record(p, submit, i, family, &r)) {
            close_buffer(p, &r);
            return false;
        }
    }
    return close_buffer(p, &r);
}
