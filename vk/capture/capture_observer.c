#include "capture_state.h"

#include "vk_memory.h"

/* What the executor says of its passes: each use that a pass declares becomes an access of one command, at the stages,
 * accesses and layout of its kind of access. Reads of one image by one pass that agree on a layout (depth that is also
 * sampled) have that one. */

/* What a host pass declares. */
typedef struct host_uses {
    hd_stream_access *accesses; /* resource: of the capture's objects */
    uint32_t count, name;
} host_uses;

static uint64_t access_bits(const hdi_access_info *info)
{
    uint64_t bits = 0;
    const uint64_t writes = VK_ACCESS_2_SHADER_WRITE_BIT | VK_ACCESS_2_COLOR_ATTACHMENT_WRITE_BIT |
                            VK_ACCESS_2_DEPTH_STENCIL_ATTACHMENT_WRITE_BIT | VK_ACCESS_2_TRANSFER_WRITE_BIT |
                            VK_ACCESS_2_HOST_WRITE_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT |
                            VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT;
    for (uint64_t left = info->access; left; left &= left - 1) {
        uint64_t bit = left & -left;
        if (bit & writes ? info->writes : info->reads)
            bits |= bit;
    }
    return bits;
}

static uint32_t layout_of(const hdi_decl *decl, uint32_t pass, uint32_t use)
{
    const hdi_access_info *info = &decl->access[decl->use_access[use]];
    for (uint32_t u = decl->pass_use_begin[pass]; u < decl->pass_use_begin[pass + 1]; u++) {
        const hdi_access_info *other = &decl->access[decl->use_access[u]];
        if (decl->use_res[u] == decl->use_res[use] && !info->writes && !other->writes &&
            other->layout == (uint32_t)VK_IMAGE_LAYOUT_DEPTH_STENCIL_READ_ONLY_OPTIMAL)
            return other->layout;
    }
    return info->layout;
}

/* The object behind a resource; one that the capture did not see being made gets the measures that are declared. */
static const hdi_cap_object *object_locked(const hdi_vk_frame *frame, uint32_t res)
{
    const hdi_vk_object *bound = frame->bound[res];
    if (!bound->image && !bound->buffer) /* a token */
        return NULL;
    hdi_cap_kind kind = bound->image ? HDI_CAP_IMAGE : HDI_CAP_BUFFER;
    uint64_t handle = bound->image ? HDI_CAP_HANDLE(bound->image) : HDI_CAP_HANDLE(bound->buffer);
    hdi_cap_object *object = hdi_cap_resource_locked(kind, handle);
    if (!object)
        return NULL;
    if (object->serial == 0 && bound->image) {
        object->format = bound->key.format;
        object->res.mips = bound->key.mips > object->res.mips ? bound->key.mips : object->res.mips;
        object->res.layers = bound->key.layers > object->res.layers ? bound->key.layers : object->res.layers;
        object->res.aspects = hdi_vk_aspects(bound->key.format);
    }
    if (frame->decl.res_info[res].name && object->name == HD_NONE)
        object->name = hdi_cap_string_locked(frame->decl.res_info[res].name);
    return object;
}

static bool fill_locked(const hdi_vk_frame *frame, uint32_t pass, uint32_t use, hd_stream_access *out)
{
    const hdi_decl *decl = &frame->decl;
    const hdi_access_info *info = &decl->access[decl->use_access[use]];
    const hdi_cap_object *object = object_locked(frame, decl->use_res[use]);
    if (!object)
        return false;
    *out = (hd_stream_access){.stages = info->stages,
                              .access = access_bits(info),
                              .resource = hdi_cap_index_locked(object),
                              .flags = HD_STREAM_DECLARED};
    bool buffer = object->kind == HDI_CAP_BUFFER, whole = decl->use_range[use] == HDI_NONE;
    if (!buffer)
        out->layout = layout_of(decl, pass, use);
    if (!whole) {
        out->range = decl->range[decl->use_range[use]];
    } else if (buffer) { /* what is bound may be larger than what is declared */
        out->range.offset = 0;
        out->range.bytes = decl->res_info[decl->use_res[use]].bytes;
    } else {
        out->range.mip_count = (uint16_t)object->res.mips;
        out->range.layer_count = object->res.layers;
    }
    if (buffer && out->range.bytes > object->res.bytes - out->range.offset)
        out->range.bytes = object->res.bytes - out->range.offset;
    return true;
}

static uint32_t mark_frame(uint64_t frame, uint32_t pass_count)
{
    hdi_cap_lock();
    uint32_t first = hdi_cap.groups + 1;
    hdi_cap.groups += pass_count;
    hdi_cap.frame = frame;
    hdi_cap_unlock();
    return first;
}

static void mark_pass(const hdi_vk_frame *frame, VkCommandBuffer commands, uint32_t pass)
{
    const hdi_decl *decl = &frame->decl;
    const char *name = decl->pass_exec[pass].name;
    hdi_cap_lock();
    hdi_cap_commands *c = hdi_cap_commands_locked(commands);
    if (c) {
        if (c->label_count < HDI_CAP_LABELS)
            c->labels[c->label_count] = hdi_cap_string_locked(name ? name : "");
        c->label_count++;
        c->group = frame->first_observed + pass; /* that of all its parts */
        hd_stream_command *command = hdi_cap_command_locked(c, HD_STREAM_ACCESS, "pass");
        for (uint32_t u = decl->pass_use_begin[pass]; command && u < decl->pass_use_begin[pass + 1]; u++) {
            hd_stream_access access, *slot;
            if (!fill_locked(frame, pass, u, &access))
                continue;
            uint32_t kind = decl->access[decl->use_access[u]].attachment;
            access.scope = kind != HDI_ATTACHMENT_NONE ? c->scope : 0;
            slot = hdi_stream_access(c->list);
            if (!slot) {
                hdi_cap_fail_locked(HD_OUT_OF_MEMORY);
                break;
            }
            *slot = access;
            command->count++;
        }
    }
    hdi_cap_unlock();
}

static void mark_pass_end(VkCommandBuffer commands)
{
    hdi_cap_lock();
    hdi_cap_commands *c = hdi_cap_commands_locked(commands);
    if (c) {
        c->group = 0;
        c->label_count -= c->label_count != 0;
    }
    hdi_cap_unlock();
}

static hd_result keep_host_pass(const hdi_vk_frame *frame, uint32_t pass, void **kept)
{
    uint32_t begin = frame->decl.pass_use_begin[pass], end = frame->decl.pass_use_begin[pass + 1];
    const char *name = frame->decl.pass_exec[pass].name;
    host_uses *out = hdi_arena_alloc(&frame->slot->arena, sizeof(*out));
    if (!(*kept = out))
        return HD_OUT_OF_MEMORY;
    *out = (host_uses){.count = 0};
    out->accesses = HDI_ARENA_ARRAY(&frame->slot->arena, hd_stream_access, end - begin);
    if (!out->accesses)
        return HD_OUT_OF_MEMORY;
    hdi_cap_lock();
    if (hdi_cap.open) {
        out->name = hdi_cap_string_locked(name ? name : "");
        for (uint32_t u = begin; u < end; u++)
            out->count += fill_locked(frame, pass, u, &out->accesses[out->count]);
    }
    hdi_cap_unlock();
    return HD_OK;
}

static void mark_host_pass(const void *kept)
{
    const host_uses *uses = kept;
    hdi_cap_lock();
    hdi_cap_pass_writes_locked(); /* of the pass before it */
    hd_stream *s = hdi_cap.stream;
    uint32_t thread = s ? hdi_cap_thread_locked() : HD_NONE, name = s ? hdi_cap_string_locked("host pass") : HD_NONE;
    name = s ? hdi_cap_stream_string_locked(name) : HD_NONE;
    hd_stream_submit *submit = thread == HD_NONE || name == HD_NONE || !uses->count ? NULL : hdi_stream_submit(s);
    hd_stream_command *command = submit ? hdi_stream_command(s) : NULL;
    if (command) {
        *submit = (hd_stream_submit){.queue = thread,
                                     .thread = HD_NONE,
                                     .name = name,
                                     .frame = (uint32_t)hdi_cap.frame,
                                     .wait_begin = s->sync_count,
                                     .command_begin = s->command_count - 1,
                                     .command_count = 1,
                                     .signal_begin = s->sync_count};
        *command = (hd_stream_command){.kind = HD_STREAM_ACCESS,
                                       .name = name,
                                       .label = hdi_cap_stream_string_locked(uses->name),
                                       .group = ++hdi_cap.groups,
                                       .begin = s->access_count};
        for (uint32_t i = 0; i < uses->count; i++) {
            uint32_t resource = hdi_cap_stream_resource_locked(uses->accesses[i].resource);
            hd_stream_access *a = hdi_stream_access(s);
            if (!a)
                break;
            *a = uses->accesses[i];
            bool writes = a->access & VK_ACCESS_2_HOST_WRITE_BIT;
            hdi_cap.objects[a->resource].by_host_pass |= writes;
            if (writes && hdi_cap.by_pass_count < HDI_CAP_BY_PASS) {
                uint32_t k = hdi_cap.by_pass_count++;
                hdi_cap.by_pass[k].object = a->resource;
                hdi_cap.by_pass[k].thread = thread;
                hdi_cap.by_pass[k].range = a->range;
            }
            a->resource = resource;
            command->count++;
        }
    }
    if (s && uses->count && (!command || command->count != uses->count))
        hdi_cap_fail_locked(HD_OUT_OF_MEMORY);
    hdi_cap_unlock();
}

const hdi_vk_observer hdi_cap_observer = {
    .queue = hdi_cap_mark_queue,
    .frame = mark_frame,
    .pass_begin = mark_pass,
    .pass_end = mark_pass_end,
    .host_pass_kept = keep_host_pass,
    .host_pass = mark_host_pass,
    .told = hdi_cap_mark_tell,
    .heard = hdi_cap_mark_hear,
};
