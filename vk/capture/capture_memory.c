#include "capture_state.h"

#include <string.h>

#include "hash.h"

/* Memory that the host can see. While it is mapped, a shadow has what it held at the last look: bytes that differ are
 * what the host wrote since, but for those of writes of the device that may be under way. These are known by the
 * accesses of the submitted commands, and end when the host may know that their submit is finished; what stands there
 * then is something that the host can read, and the stream gets its hash. Memory begins as zeros, in the capture and
 * when it is replayed. */

enum { PAGE = 4096, GAP = 64 }; /* GAP: spans that are closer together become one */

typedef struct device_write {
    uint64_t begin, end; /* in the memory */
    uint64_t number;     /* of the submit on its queue */
    uint32_t queue;
    bool finished; /* the host cannot see it yet: the memory is not mapped */
} device_write;

struct hdi_cap_memory {
    uint64_t total, offset, size; /* offset, size: what is mapped */
    uint8_t *bytes, *shadow;      /* null: not mapped */
    device_write *writes;
    uint32_t write_count, write_room;
};

/* ---- life ---- */

static bool is_imported(const VkMemoryAllocateInfo *info)
{
    for (const VkBaseInStructure *next = info->pNext; next; next = next->pNext) {
        switch ((int)next->sType) {
        case VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR:
        case VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT:
        case 1000073000: /* VkImportMemoryWin32HandleInfoKHR */
        case 1000129003: /* VkImportAndroidHardwareBufferInfoANDROID */
            return true;
        default:
            break;
        }
    }
    return false;
}

static void fill_with_zeros(VkDevice device, VkDeviceMemory memory, uint64_t bytes)
{
    PFN_vkMapMemory map = HDI_CAP_REAL(device, vkMapMemory);
    PFN_vkUnmapMemory unmap = HDI_CAP_REAL(device, vkUnmapMemory);
    PFN_vkFlushMappedMemoryRanges flush = HDI_CAP_REAL(device, vkFlushMappedMemoryRanges);
    void *at = NULL;
    if (!map || !unmap || map(device, memory, 0, VK_WHOLE_SIZE, 0, &at) != VK_SUCCESS)
        return;
    memset(at, 0, (size_t)bytes);
    const VkMappedMemoryRange range = {VK_STRUCTURE_TYPE_MAPPED_MEMORY_RANGE, NULL, memory, 0, VK_WHOLE_SIZE};
    if (flush)
        flush(device, 1, &range);
    unmap(device, memory);
}

void hdi_cap_memory_made_locked(hdi_cap_object *object, VkDevice device, const VkMemoryAllocateInfo *info)
{
    hdi_cap_state *c = &hdi_cap;
    VkDeviceMemory memory = (VkDeviceMemory)(uintptr_t)object->handle;
    if (!c->replay)
        return;
    hdi_call_write(hdi_cap_writer_locked(), hdi_call_type_find("VkMemoryAllocateInfo"), info);
    object->record = hdi_cap_made_locked("vkAllocateMemory", VK_OBJECT_TYPE_DEVICE_MEMORY, object->handle);
    if (info->memoryTypeIndex >= c->memory_types.memoryTypeCount ||
        !(c->memory_types.memoryTypes[info->memoryTypeIndex].propertyFlags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT))
        return;
    object->memory = hdi_alloc(&c->allocator, sizeof(*object->memory), 8);
    if (!object->memory) {
        hdi_cap_fail_locked(HD_OUT_OF_MEMORY);
        return;
    }
    *object->memory = (struct hdi_cap_memory){.total = info->allocationSize};
    if (!is_imported(info))
        fill_with_zeros(device, memory, info->allocationSize);
}

static void drop_shadow(struct hdi_cap_memory *m)
{
    hdi_free(&hdi_cap.allocator, m->shadow, (size_t)m->size);
    m->shadow = m->bytes = NULL;
    m->offset = m->size = 0;
}

void hdi_cap_forget_memory_locked(hdi_cap_object *object)
{
    struct hdi_cap_memory *m = object->memory;
    if (!m)
        return;
    drop_shadow(m);
    hdi_free(&hdi_cap.allocator, m->writes, m->write_room * sizeof(*m->writes));
    hdi_free(&hdi_cap.allocator, m, sizeof(*m));
    object->memory = NULL;
}

void hdi_cap_mapped_locked(hdi_cap_object *object, void *bytes, uint64_t offset, uint64_t size)
{
    struct hdi_cap_memory *m = object->memory;
    if (!m)
        return;
    size = size < m->total - offset ? size : m->total - offset;
    m->shadow = hdi_alloc(&hdi_cap.allocator, (size_t)size, 64);
    if (!m->shadow) {
        hdi_cap_fail_locked(HD_OUT_OF_MEMORY);
        return;
    }
    memcpy(m->shadow, bytes, (size_t)size);
    m->bytes = bytes;
    m->offset = offset;
    m->size = size;
    hdi_cap_learnt_locked(HD_NONE); /* what the device wrote before can be read now */
}

void hdi_cap_unmapped_locked(hdi_cap_object *object)
{
    if (!object->memory)
        return;
    hdi_cap_host_writes_locked();
    drop_shadow(object->memory);
}

/* ---- what the host does becomes commands ---- */

/* What shares bytes of the memory: buffers, and images whose texels the host can make sense of. */
static bool shares(const hdi_cap_object *o, uint32_t memory, uint64_t begin, uint64_t end)
{
    return o->kind <= HDI_CAP_BUFFER && !o->dead && (o->kind == HDI_CAP_BUFFER || o->linear) &&
           o->res.memory == hdi_cap.objects[memory].res.memory && o->res.offset < end &&
           o->res.offset + o->res.bytes > begin;
}

static bool is_shared_locked(uint32_t memory, uint64_t begin, uint64_t end)
{
    uint32_t i = 0;
    while (i < hdi_cap.object_count && !shares(&hdi_cap.objects[i], memory, begin, end))
        i++;
    return i < hdi_cap.object_count;
}

static void add_accesses_locked(hd_stream_command *command, uint32_t memory, uint64_t begin, uint64_t end,
                                uint64_t access)
{
    hdi_cap_state *c = &hdi_cap;
    for (uint32_t i = 0; i < c->object_count; i++) {
        const hdi_cap_object *o = &c->objects[i];
        if (!shares(o, memory, begin, end))
            continue;
        uint32_t resource = hdi_cap_stream_resource_locked(i);
        hd_stream_access *a = resource == HD_NONE ? NULL : hdi_stream_access(c->stream);
        if (!a) {
            hdi_cap_fail_locked(HD_OUT_OF_MEMORY);
            return;
        }
        *a = (hd_stream_access){.stages = VK_PIPELINE_STAGE_2_HOST_BIT,
                                .access = access,
                                .resource = resource,
                                .flags = HD_STREAM_OBSERVED};
        if (o->by_host_pass && access == VK_ACCESS_2_HOST_WRITE_BIT) /* the bytes beside it are the pass's, too */
            a->access |= VK_ACCESS_2_HOST_READ_BIT;
        if (o->kind == HDI_CAP_IMAGE) {
            a->layout = VK_IMAGE_LAYOUT_GENERAL;
            a->range.mip_count = (uint16_t)o->res.mips;
            a->range.layer_count = o->res.layers;
        } else {
            uint64_t last = o->res.offset + o->res.bytes;
            a->range.offset = begin > o->res.offset ? begin - o->res.offset : 0;
            a->range.bytes = (end < last ? end : last) - o->res.offset - a->range.offset;
        }
        command->count++;
    }
}

static void host_command_locked(const char *name, uint32_t memory, uint64_t begin, uint64_t end, uint64_t access,
                                bool *opened)
{
    if (!*opened && !(*opened = hdi_cap_open_any_host_locked(name)))
        return;
    uint32_t data = hdi_cap_stream_data_locked();
    hd_stream_command *command = hdi_cap_host_command_locked(name);
    if (!command)
        return;
    command->data = data;
    add_accesses_locked(command, memory, begin, end, access);
}

/* The bytes are read once: another thread may go on writing. */
static void host_write_locked(uint32_t memory, uint64_t begin, uint64_t end, bool *opened)
{
    struct hdi_cap_memory *m = hdi_cap.objects[memory].memory;
    hdi_call_writer *w = hdi_cap_writer_locked();
    hdi_call_write_ref(w, hdi_cap.objects[memory].record);
    hdi_call_write_bytes(w, &begin, sizeof(begin));
    hdi_call_write_bytes(w, m->bytes + (begin - m->offset), (uint32_t)(end - begin));
    if (w->failed) {
        hdi_cap_fail_locked(HD_OUT_OF_MEMORY);
        return;
    }
    memcpy(m->shadow + (begin - m->offset), w->bytes + sizeof(begin), (size_t)(end - begin));
    host_command_locked("host write", memory, begin, end, VK_ACCESS_2_HOST_WRITE_BIT, opened);
}

static void host_read_locked(uint32_t memory, uint64_t begin, uint64_t end, bool *opened)
{
    const struct hdi_cap_memory *m = hdi_cap.objects[memory].memory;
    uint64_t is[3] = {begin, end - begin, hdi_hash_bytes(m->shadow + (begin - m->offset), (size_t)(end - begin), 0)};
    hdi_call_writer *w = hdi_cap_writer_locked();
    hdi_call_write_ref(w, hdi_cap.objects[memory].record);
    hdi_call_write_bytes(w, is, sizeof(is));
    host_command_locked("host read", memory, begin, end, VK_ACCESS_2_HOST_READ_BIT, opened);
}

/* ---- what the host wrote ---- */

/* The first bytes from at on that no write of the device may have. */
static uint64_t skip_device_writes(const struct hdi_cap_memory *m, uint64_t at, uint64_t *end)
{
    bool moved = true;
    while (moved) {
        moved = false;
        for (uint32_t i = 0; i < m->write_count; i++) {
            const device_write *w = &m->writes[i];
            if (w->begin <= at && at < w->end) {
                at = w->end;
                moved = true;
            }
        }
    }
    *end = m->offset + m->size;
    for (uint32_t i = 0; i < m->write_count; i++) {
        if (m->writes[i].begin > at && m->writes[i].begin < *end)
            *end = m->writes[i].begin;
    }
    return at;
}

static void spans_locked(uint32_t memory, uint64_t begin, uint64_t end, bool *opened)
{
    const struct hdi_cap_memory *m = hdi_cap.objects[memory].memory;
    const uint8_t *now = m->bytes, *was = m->shadow;
    uint64_t first = 0, last = 0; /* of the span; last 0: none */
    for (uint64_t page = begin - m->offset, next; page < end - m->offset; page = next) {
        next = (page / PAGE + 1) * PAGE;
        next = next < end - m->offset ? next : end - m->offset;
        if (memcmp(now + page, was + page, (size_t)(next - page)) == 0)
            continue;
        for (uint64_t k = page; k < next; k++) {
            if (now[k] == was[k])
                continue;
            if (last && k - last >= GAP)
                host_write_locked(memory, m->offset + first, m->offset + last, opened);
            if (!last || k - last >= GAP)
                first = k;
            last = k + 1;
        }
    }
    if (last)
        host_write_locked(memory, m->offset + first, m->offset + last, opened);
}

void hdi_cap_host_writes_locked(void)
{
    bool opened = false;
    for (uint32_t i = 0; i < hdi_cap.object_count && hdi_cap.replay && hdi_cap.stream; i++) {
        const struct hdi_cap_memory *m = hdi_cap.objects[i].memory;
        uint64_t end;
        for (uint64_t at = m && m->shadow ? m->offset : UINT64_MAX; m && at < m->offset + m->size; at = end) {
            at = skip_device_writes(m, at, &end);
            if (at < end)
                spans_locked(i, at, end, &opened);
        }
    }
}

/* A write of the device to the same bytes may be submitted already, and wait for the pass or for what comes after it.
 */
void hdi_cap_pass_writes_locked(void)
{
    hdi_cap_state *c = &hdi_cap;
    bool opened = false;
    uint32_t thread = c->by_pass_count && c->replay && c->stream ? hdi_cap_thread_locked() : HD_NONE, kept = 0;
    for (uint32_t i = 0; i < c->by_pass_count; i++) {
        const hdi_cap_object *o = &c->objects[c->by_pass[i].object];
        if (c->by_pass[i].thread != thread) {
            c->by_pass[kept++] = c->by_pass[i];
            continue;
        }
        const hdi_cap_object *memory =
            o->kind == HDI_CAP_BUFFER && !o->dead && o->res.memory != HD_NONE ? &c->objects[o->of] : NULL;
        const struct hdi_cap_memory *m = memory && memory->res.memory == o->res.memory ? memory->memory : NULL;
        uint64_t begin = o->res.offset + c->by_pass[i].range.offset, end = begin + c->by_pass[i].range.bytes;
        if (m && m->shadow && begin >= m->offset && end <= m->offset + m->size)
            spans_locked(o->of, begin, end, &opened);
    }
    c->by_pass_count = thread == HD_NONE ? 0 : kept;
}

/* ---- what the device writes ---- */

void hdi_cap_device_submits_locked(uint32_t queue)
{
    if (!hdi_cap.replay || queue == HD_NONE)
        return;
    hdi_cap.submit_queue = queue;
    hdi_cap.queues[queue].submitted++;
}

/* Images in any part of their memory. */
void hdi_cap_device_writes_locked(const hdi_cap_object *object, const hd_range *range)
{
    hdi_cap_state *c = &hdi_cap;
    const hdi_cap_object *memory = c->replay && object->res.memory != HD_NONE ? &c->objects[object->of] : NULL;
    struct hdi_cap_memory *m = memory ? memory->memory : NULL;
    if (!m || memory->res.memory != object->res.memory) /* not seen by the host, or freed */
        return;
    bool buffer = object->kind == HDI_CAP_BUFFER;
    device_write w = {.begin = object->res.offset + (buffer ? range->offset : 0),
                      .number = c->queues[c->submit_queue].submitted,
                      .queue = c->submit_queue};
    w.end = w.begin + (buffer ? range->bytes : object->res.bytes);
    for (uint32_t i = 0; i < m->write_count; i++) { /* the same again */
        device_write *before = &m->writes[i];
        if (before->begin == w.begin && before->end == w.end && (before->finished || before->queue == w.queue)) {
            *before = w;
            return;
        }
    }
    if (hdi_grow(&c->allocator, (void **)&m->writes, &m->write_room, m->write_count + 1, sizeof(w)) != HD_OK)
        hdi_cap_fail_locked(HD_OUT_OF_MEMORY);
    else
        m->writes[m->write_count++] = w;
}

void hdi_cap_device_signals_locked(const hdi_cap_object *object, uint64_t value)
{
    hdi_cap_state *c = &hdi_cap;
    if (!c->replay || (object->kind == HDI_CAP_SEMAPHORE && object->binary))
        return;
    if (hdi_grow(&c->allocator, (void **)&c->checks, &c->check_room, c->check_count + 1, sizeof(*c->checks)) != HD_OK) {
        hdi_cap_fail_locked(HD_OUT_OF_MEMORY);
        return;
    }
    c->checks[c->check_count++] = (hdi_cap_check){.queue = c->submit_queue,
                                                  .fence = object->kind == HDI_CAP_FENCE,
                                                  .number = c->queues[c->submit_queue].submitted,
                                                  .handle = object->handle,
                                                  .value = value};
}

/* ---- what the host learns ---- */

static bool is_done(const hdi_cap_check *check)
{
    VkDevice device = hdi_cap.device;
    if (check->fence) {
        const hdi_cap_object *fence = hdi_cap_find_locked(HDI_CAP_FENCE, check->handle);
        PFN_vkGetFenceStatus ask = HDI_CAP_REAL(device, vkGetFenceStatus);
        return (fence && fence->value > check->value) || /* it was given to another submit since */
               (ask && ask(device, (VkFence)(uintptr_t)check->handle) == VK_SUCCESS);
    }
    PFN_vkGetSemaphoreCounterValue ask = HDI_CAP_REAL(device, vkGetSemaphoreCounterValue);
    uint64_t value = 0;
    if (!ask)
        ask = (PFN_vkGetSemaphoreCounterValue)hdi_cap_real(device, "vkGetSemaphoreCounterValueKHR");
    return ask && ask(device, (VkSemaphore)(uintptr_t)check->handle, &value) == VK_SUCCESS && value >= check->value;
}

static void finish_checks_locked(uint64_t gone, bool fence)
{
    hdi_cap_state *c = &hdi_cap;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < c->check_count; i++) {
        hdi_cap_check check = c->checks[i];
        uint64_t *finished = &c->queues[check.queue].finished;
        bool done =
            check.number <= *finished || (gone ? check.handle == gone && check.fence == fence : is_done(&check));
        if (!done)
            c->checks[kept++] = check;
        else if (check.number > *finished)
            *finished = check.number;
    }
    c->check_count = kept;
}

void hdi_cap_check_gone_locked(uint64_t handle, bool fence)
{
    if (hdi_cap.replay && handle)
        finish_checks_locked(handle, fence);
}

/* Finished writes that the host can see are the shadow's, and the host may read them; not where the device writes there
 * again. */
static void finish_writes_locked(uint32_t memory, bool *opened)
{
    struct hdi_cap_memory *m = hdi_cap.objects[memory].memory;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < m->write_count; i++)
        m->writes[i].finished |= m->writes[i].number <= hdi_cap.queues[m->writes[i].queue].finished;
    for (uint32_t i = 0; i < m->write_count && m->shadow; i++) {
        device_write *w = &m->writes[i];
        uint64_t begin = w->begin > m->offset ? w->begin : m->offset, last = m->offset + m->size;
        uint64_t end = w->end < last ? w->end : last;
        bool read = w->finished && begin < end;
        if (read)
            memcpy(m->shadow + (begin - m->offset), m->bytes + (begin - m->offset), (size_t)(end - begin));
        for (uint32_t k = 0; k < m->write_count && read; k++)
            read = m->writes[k].finished || m->writes[k].begin >= end || m->writes[k].end <= begin;
        if (read && is_shared_locked(memory, begin, end))
            host_read_locked(memory, begin, end, opened);
    }
    for (uint32_t i = 0; i < m->write_count; i++) {
        if (!m->writes[i].finished || !m->shadow)
            m->writes[kept++] = m->writes[i];
    }
    m->write_count = kept;
}

void hdi_cap_learnt_locked(uint32_t idle)
{
    hdi_cap_state *c = &hdi_cap;
    bool opened = false;
    if (!c->replay || !c->stream)
        return;
    if (idle != HD_NONE)
        c->queues[idle].finished = c->queues[idle].submitted;
    finish_checks_locked(0, false);
    for (uint32_t i = 0; i < c->object_count; i++) {
        if (c->objects[i].memory && c->objects[i].memory->write_count)
            finish_writes_locked(i, &opened);
    }
}
