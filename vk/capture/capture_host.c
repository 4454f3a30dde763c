#include "capture_state.h"

#include <string.h>

/* What descriptor sets and query pools hold beside what they were made with. Updates of descriptor sets are commands of
 * the thread that calls, one for what goes to one set; those by templates become plain ones. Commands on queries say
 * which pool they change. */

#define HOOKS(X)                                                                                                       \
    X(vkUpdateDescriptorSets)                                                                                          \
    X(vkUpdateDescriptorSetWithTemplate)                                                                               \
    X(vkCmdPushDescriptorSetWithTemplateKHR)                                                                           \
    X(vkCreateDescriptorUpdateTemplate)                                                                                \
    X(vkDestroyDescriptorUpdateTemplate)                                                                               \
    X(vkResetQueryPool)                                                                                                \
    X(vkCmdResetQueryPool)                                                                                             \
    X(vkCmdBeginQuery)                                                                                                 \
    X(vkCmdEndQuery)                                                                                                   \
    X(vkCmdBeginQueryIndexedEXT)                                                                                       \
    X(vkCmdEndQueryIndexedEXT)                                                                                         \
    X(vkCmdWriteTimestamp)                                                                                             \
    X(vkCmdWriteTimestamp2)
HOOKS(HDI_CAP_NEXT)

/* What the writer holds, as a command of the calling thread that changes an object. */
static void host_command_locked(const char *name, uint32_t record)
{
    if (!record || !hdi_cap_open_any_host_locked(name))
        return;
    uint32_t object = hdi_cap_stream_object_locked(record), data = hdi_cap_stream_data_locked();
    hd_stream_command *command = hdi_cap_host_command_locked(name);
    if (command) {
        command->data = data;
        command->changes = object;
    }
}

/* ---- descriptor sets ---- */

static void update_locked(VkDescriptorSet set, const VkWriteDescriptorSet *writes, uint32_t write_count,
                          const VkCopyDescriptorSet *copies, uint32_t copy_count)
{
    hdi_call_writer *w = hdi_cap_writer_locked();
    hdi_call_write_bytes(w, &write_count, sizeof(write_count));
    for (uint32_t i = 0; i < write_count; i++)
        hdi_call_write(w, hdi_call_type_find("VkWriteDescriptorSet"), &writes[i]);
    hdi_call_write_bytes(w, &copy_count, sizeof(copy_count));
    for (uint32_t i = 0; i < copy_count; i++)
        hdi_call_write(w, hdi_call_type_find("VkCopyDescriptorSet"), &copies[i]);
    host_command_locked("vkUpdateDescriptorSets",
                        hdi_cap_record_locked(VK_OBJECT_TYPE_DESCRIPTOR_SET, HDI_CAP_HANDLE(set)));
}

static void updates_locked(const VkWriteDescriptorSet *writes, uint32_t write_count, const VkCopyDescriptorSet *copies,
                           uint32_t copy_count)
{
    for (uint32_t i = 0, end; i < write_count && hdi_cap.stream; i = end) {
        for (end = i + 1; end < write_count && writes[end].dstSet == writes[i].dstSet;)
            end++;
        update_locked(writes[i].dstSet, &writes[i], end - i, NULL, 0);
    }
    for (uint32_t i = 0, end; i < copy_count && hdi_cap.stream; i = end) {
        for (end = i + 1; end < copy_count && copies[end].dstSet == copies[i].dstSet;)
            end++;
        update_locked(copies[i].dstSet, NULL, 0, &copies[i], end - i);
    }
}

static void VKAPI_PTR hook_vkUpdateDescriptorSets(VkDevice device, uint32_t write_count,
                                                  const VkWriteDescriptorSet *writes, uint32_t copy_count,
                                                  const VkCopyDescriptorSet *copies)
{
    hdi_cap_lock();
    updates_locked(writes, write_count, copies, copy_count);
    hdi_cap_unlock();
    NEXT(vkUpdateDescriptorSets)(device, write_count, writes, copy_count, copies);
}

/* ---- templates ---- */

typedef struct update_template {
    VkPipelineBindPoint point; /* of those for vkCmdPushDescriptorSetWithTemplateKHR */
    uint32_t count;
    VkDescriptorUpdateTemplateEntry entries[];
} update_template;

static VkResult VKAPI_PTR hook_vkCreateDescriptorUpdateTemplate(VkDevice device,
                                                                const VkDescriptorUpdateTemplateCreateInfo *info,
                                                                const VkAllocationCallbacks *memory,
                                                                VkDescriptorUpdateTemplate *out)
{
    VkResult result = NEXT(vkCreateDescriptorUpdateTemplate)(device, info, memory, out);
    uint32_t count = info->descriptorUpdateEntryCount;
    size_t bytes = sizeof(update_template) + count * sizeof(*info->pDescriptorUpdateEntries);
    hdi_cap_lock();
    hdi_cap_object *object =
        result == VK_SUCCESS && hdi_cap.replay ? hdi_cap_make_locked(HDI_CAP_TEMPLATE, HDI_CAP_HANDLE(*out)) : NULL;
    update_template *made = object ? hdi_alloc(&hdi_cap.allocator, bytes, 8) : NULL;
    if (made) {
        made->point = info->pipelineBindPoint;
        made->count = count;
        memcpy(made->entries, info->pDescriptorUpdateEntries, count * sizeof(*made->entries));
        object->made = made;
        object->made_bytes = bytes;
    } else if (object) {
        hdi_cap_fail_locked(HD_OUT_OF_MEMORY);
    }
    hdi_cap_unlock();
    return result;
}

static void VKAPI_PTR hook_vkDestroyDescriptorUpdateTemplate(VkDevice device, VkDescriptorUpdateTemplate by,
                                                             const VkAllocationCallbacks *memory)
{
    hdi_cap_lock();
    hdi_cap_drop_locked(HDI_CAP_TEMPLATE, HDI_CAP_HANDLE(by));
    hdi_cap_unlock();
    NEXT(vkDestroyDescriptorUpdateTemplate)(device, by, memory);
}

typedef struct one_write {
    VkWriteDescriptorSet write;
    VkWriteDescriptorSetInlineUniformBlock block;
} one_write;

static VkWriteDescriptorSet write_of(const VkDescriptorUpdateTemplateEntry *entry, uint32_t element, const void *data,
                                     VkWriteDescriptorSetInlineUniformBlock *block)
{
    const char *at = (const char *)data + entry->offset + element * entry->stride;
    VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                  .dstBinding = entry->dstBinding,
                                  .dstArrayElement = entry->dstArrayElement + element,
                                  .descriptorCount = 1,
                                  .descriptorType = entry->descriptorType,
                                  .pImageInfo = (const void *)at,
                                  .pBufferInfo = (const void *)at,
                                  .pTexelBufferView = (const void *)at};
    if (entry->descriptorType == VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK) {
        *block = (VkWriteDescriptorSetInlineUniformBlock){
            .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET_INLINE_UNIFORM_BLOCK,
            .dataSize = entry->descriptorCount,
            .pData = at};
        write.pNext = block;
        write.descriptorCount = entry->descriptorCount;
    }
    return write;
}

/* A write for each descriptor, since those of a template may stand apart; their memory is to be freed. Null: none. */
static VkWriteDescriptorSet *writes_of_locked(VkDescriptorUpdateTemplate handle, VkDescriptorSet set, const void *data,
                                              uint32_t *count, size_t *bytes)
{
    const hdi_cap_object *object = hdi_cap_find_locked(HDI_CAP_TEMPLATE, HDI_CAP_HANDLE(handle));
    const update_template *t = object ? object->made : NULL;
    uint32_t most = 0;
    for (uint32_t i = 0; t && i < t->count; i++)
        most += t->entries[i].descriptorCount;
    *bytes = most * sizeof(one_write);
    *count = 0;
    VkWriteDescriptorSet *writes = most ? hdi_alloc(&hdi_cap.allocator, *bytes, 8) : NULL;
    if (!writes) {
        if (most)
            hdi_cap_fail_locked(HD_OUT_OF_MEMORY);
        return NULL;
    }
    VkWriteDescriptorSetInlineUniformBlock *blocks = (void *)(writes + most);
    for (uint32_t i = 0; i < t->count; i++) {
        const VkDescriptorUpdateTemplateEntry *entry = &t->entries[i];
        bool whole = entry->descriptorType == VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK;
        for (uint32_t k = 0; k < (whole ? 1 : entry->descriptorCount); k++, ++*count) {
            writes[*count] = write_of(entry, k, data, &blocks[*count]);
            writes[*count].dstSet = set;
        }
    }
    return writes;
}

static void VKAPI_PTR hook_vkUpdateDescriptorSetWithTemplate(VkDevice device, VkDescriptorSet set,
                                                             VkDescriptorUpdateTemplate by, const void *data)
{
    uint32_t count;
    size_t bytes;
    hdi_cap_lock();
    VkWriteDescriptorSet *writes = hdi_cap.stream ? writes_of_locked(by, set, data, &count, &bytes) : NULL;
    if (writes) {
        updates_locked(writes, count, NULL, 0);
        hdi_free(&hdi_cap.allocator, writes, bytes);
    }
    hdi_cap_unlock();
    NEXT(vkUpdateDescriptorSetWithTemplate)(device, set, by, data);
}

static void VKAPI_PTR hook_vkCmdPushDescriptorSetWithTemplateKHR(VkCommandBuffer commands,
                                                                 VkDescriptorUpdateTemplate by, VkPipelineLayout layout,
                                                                 uint32_t set, const void *data)
{
    struct { /* arguments of vkCmdPushDescriptorSetKHR */
        VkCommandBuffer commands;
        VkPipelineBindPoint point;
        VkPipelineLayout layout;
        uint32_t set, count;
        const VkWriteDescriptorSet *writes;
    } a = {.commands = commands, .layout = layout, .set = set};
    const hdi_call *call = hdi_call_find("vkCmdPushDescriptorSetKHR");
    size_t bytes = 0;
    hdi_cap_lock();
    VkWriteDescriptorSet *writes = writes_of_locked(by, VK_NULL_HANDLE, data, &a.count, &bytes);
    if (writes) {
        const hdi_cap_object *object = hdi_cap_find_locked(HDI_CAP_TEMPLATE, HDI_CAP_HANDLE(by));
        a.point = ((const update_template *)object->made)->point;
        uint64_t bit = (uint32_t)a.point < 2 ? HD_STREAM_STATE_SET((uint32_t)a.point, set < 7 ? set : 7) : 0;
        hdi_cap_state_locked(commands, "vkCmdPushDescriptorSetKHR", bit, bit);
    }
    hdi_cap_unlock();
    a.writes = writes;
    if (writes && call)
        hdi_call_recorded(commands, call, &a);
    hdi_free(&hdi_cap.allocator, writes, bytes);
    NEXT(vkCmdPushDescriptorSetWithTemplateKHR)(commands, by, layout, set, data);
}

/* ---- queries ---- */

static void VKAPI_PTR hook_vkResetQueryPool(VkDevice device, VkQueryPool pool, uint32_t first, uint32_t count)
{
    const struct {
        VkDevice device;
        VkQueryPool pool;
        uint32_t first, count;
    } arguments = {device, pool, first, count};
    const hdi_call *call = hdi_call_find("vkResetQueryPool");
    hdi_cap_lock();
    if (hdi_cap.stream && call) {
        hdi_call_write(hdi_cap_writer_locked(), call->type, &arguments);
        host_command_locked("vkResetQueryPool", hdi_cap_record_locked(VK_OBJECT_TYPE_QUERY_POOL, HDI_CAP_HANDLE(pool)));
    }
    hdi_cap_unlock();
    NEXT(vkResetQueryPool)(device, pool, first, count);
}

/* The number of a pair: the end of a query finds that of its beginning. */
static uint32_t pair_of(hdi_cap_commands *c, uint64_t pool, uint32_t number, bool begins)
{
    for (uint32_t i = 0; i < c->query_count && !begins; i++) {
        if (c->queries[i].pool != pool || c->queries[i].number != number)
            continue;
        uint32_t pair = c->queries[i].pair;
        c->queries[i] = c->queries[--c->query_count];
        return pair;
    }
    if (!begins || c->query_count == HDI_CAP_QUERIES)
        return 0;
    c->queries[c->query_count].pool = pool;
    c->queries[c->query_count].number = number;
    c->queries[c->query_count].pair = ++hdi_cap.pairs;
    return c->queries[c->query_count++].pair;
}

/* change: 1 begins, -1 ends one. */
static void query(VkCommandBuffer commands, const char *name, VkQueryPool pool, uint32_t number, int change)
{
    hdi_cap_lock();
    hdi_cap_commands *c = hdi_cap_commands_locked(commands);
    hd_stream_command *command = c ? hdi_cap_command_locked(c, HD_STREAM_ACCESS, name) : NULL;
    if (command) {
        command->changes = hdi_cap_record_locked(VK_OBJECT_TYPE_QUERY_POOL, HDI_CAP_HANDLE(pool));
        command->sets = change > 0 ? HD_STREAM_STATE_QUERY : 0;
        command->uses = change < 0 ? HD_STREAM_STATE_QUERY : 0;
        if (change)
            command->pair = pair_of(c, HDI_CAP_HANDLE(pool), number, change > 0);
    }
    hdi_cap_unlock();
}

static void VKAPI_PTR hook_vkCmdResetQueryPool(VkCommandBuffer commands, VkQueryPool pool, uint32_t first,
                                               uint32_t count)
{
    query(commands, "vkCmdResetQueryPool", pool, 0, 0);
    NEXT(vkCmdResetQueryPool)(commands, pool, first, count);
}

static void VKAPI_PTR hook_vkCmdBeginQuery(VkCommandBuffer commands, VkQueryPool pool, uint32_t number,
                                           VkQueryControlFlags flags)
{
    query(commands, "vkCmdBeginQuery", pool, number, 1);
    NEXT(vkCmdBeginQuery)(commands, pool, number, flags);
}

static void VKAPI_PTR hook_vkCmdEndQuery(VkCommandBuffer commands, VkQueryPool pool, uint32_t number)
{
    query(commands, "vkCmdEndQuery", pool, number, -1);
    NEXT(vkCmdEndQuery)(commands, pool, number);
}

static void VKAPI_PTR hook_vkCmdBeginQueryIndexedEXT(VkCommandBuffer commands, VkQueryPool pool, uint32_t number,
                                                     VkQueryControlFlags flags, uint32_t index)
{
    query(commands, "vkCmdBeginQueryIndexedEXT", pool, number, 1);
    NEXT(vkCmdBeginQueryIndexedEXT)(commands, pool, number, flags, index);
}

static void VKAPI_PTR hook_vkCmdEndQueryIndexedEXT(VkCommandBuffer commands, VkQueryPool pool, uint32_t number,
                                                   uint32_t index)
{
    query(commands, "vkCmdEndQueryIndexedEXT", pool, number, -1);
    NEXT(vkCmdEndQueryIndexedEXT)(commands, pool, number, index);
}

static void VKAPI_PTR hook_vkCmdWriteTimestamp(VkCommandBuffer commands, VkPipelineStageFlagBits stage,
                                               VkQueryPool pool, uint32_t number)
{
    query(commands, "vkCmdWriteTimestamp", pool, number, 0);
    NEXT(vkCmdWriteTimestamp)(commands, stage, pool, number);
}

static void VKAPI_PTR hook_vkCmdWriteTimestamp2(VkCommandBuffer commands, VkPipelineStageFlags2 stage, VkQueryPool pool,
                                                uint32_t number)
{
    query(commands, "vkCmdWriteTimestamp2", pool, number, 0);
    NEXT(vkCmdWriteTimestamp2)(commands, stage, pool, number);
}

#define ALIAS(name, as) {name, (PFN_vkVoidFunction)hook_##as, &next_##as},
static const hdi_cap_hook hooks[] = {
    HOOKS(HDI_CAP_ENTRY) ALIAS("vkUpdateDescriptorSetWithTemplateKHR", vkUpdateDescriptorSetWithTemplate)
        ALIAS("vkCreateDescriptorUpdateTemplateKHR", vkCreateDescriptorUpdateTemplate)
            ALIAS("vkDestroyDescriptorUpdateTemplateKHR", vkDestroyDescriptorUpdateTemplate)
                ALIAS("vkResetQueryPoolEXT", vkResetQueryPool) ALIAS("vkCmdWriteTimestamp2KHR", vkCmdWriteTimestamp2)};
const hdi_cap_hooks hdi_cap_host_hooks = {hooks, sizeof(hooks) / sizeof(hooks[0]), true};
