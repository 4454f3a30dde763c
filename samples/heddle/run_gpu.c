#include "run_state.h"

#include <stdlib.h>
#include <string.h>

/* The command's own Vulkan objects: functions, and for each frame in flight counters (two words an operation: wrong,
 * and seen), staging memory and descriptor sets. Counters and staging memory are no resources of the graph: atomics
 * need no order among themselves, and the host looks at them when the frame has finished. */

static hd_result load_functions(run *r)
{
    PFN_vkGetInstanceProcAddr from = r->info.get_instance_proc;
    PFN_vkGetDeviceProcAddr get = (PFN_vkGetDeviceProcAddr)from(r->info.instance, "vkGetDeviceProcAddr");
    PFN_vkGetPhysicalDeviceMemoryProperties memory =
        (PFN_vkGetPhysicalDeviceMemoryProperties)from(r->info.instance, "vkGetPhysicalDeviceMemoryProperties");
    PFN_vkGetPhysicalDeviceProperties properties =
        (PFN_vkGetPhysicalDeviceProperties)from(r->info.instance, "vkGetPhysicalDeviceProperties");
    if (!get || !memory || !properties)
        return run_fail(r, HD_VULKAN, "the loader lacks a function");
#define RUN_LOAD(name)                                                                                                 \
    r->name = (PFN_vk##name)get(r->info.device, "vk" #name);                                                           \
    if (!r->name)                                                                                                      \
        return run_fail(r, HD_VULKAN, "the device lacks vk" #name);
    RUN_FUNCTIONS(RUN_LOAD)
#undef RUN_LOAD
    VkPhysicalDeviceProperties about;
    memory(r->info.physical_device, &r->memory);
    properties(r->info.physical_device, &about);
    r->limits = about.limits;
    return HD_OK;
}

static void find_families(run *r)
{
    for (uint32_t q = 0; q < r->info.queue_count; q++) {
        uint32_t k = 0;
        while (k < r->family_count && r->families[k] != r->info.queues[q].family)
            k++;
        if (k == r->family_count)
            r->families[r->family_count++] = r->info.queues[q].family;
        r->has_gfx |= r->info.queues[q].kind == HD_QUEUE_GFX;
    }
}

hd_result run_make_memory(run *r, uint64_t bytes, VkBufferUsageFlags usage, run_memory *out)
{
    bool shared = r->family_count > 1;
    const VkMemoryPropertyFlags wanted = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .size = bytes,
                               .usage = usage,
                               .sharingMode = shared ? VK_SHARING_MODE_CONCURRENT : VK_SHARING_MODE_EXCLUSIVE,
                               .queueFamilyIndexCount = shared ? r->family_count : 0,
                               .pQueueFamilyIndices = r->families};
    VkMemoryRequirements need;
    *out = (run_memory){.bytes = bytes};
    if (r->CreateBuffer(r->info.device, &info, NULL, &out->buffer) != VK_SUCCESS)
        return run_fail(r, HD_OUT_OF_DEVICE_MEMORY, "a buffer of %llu bytes cannot be made", (unsigned long long)bytes);
    r->GetBufferMemoryRequirements(r->info.device, out->buffer, &need);
    for (uint32_t type = 0; type < r->memory.memoryTypeCount; type++) {
        if (!(need.memoryTypeBits >> type & 1) || (r->memory.memoryTypes[type].propertyFlags & wanted) != wanted)
            continue;
        VkMemoryAllocateInfo allocate = {VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, NULL, need.size, type};
        if (r->AllocateMemory(r->info.device, &allocate, NULL, &out->memory) == VK_SUCCESS &&
            r->BindBufferMemory(r->info.device, out->buffer, out->memory, 0) == VK_SUCCESS &&
            r->MapMemory(r->info.device, out->memory, 0, VK_WHOLE_SIZE, 0, &out->mapped) == VK_SUCCESS)
            return HD_OK;
        break;
    }
    return run_fail(r, HD_OUT_OF_DEVICE_MEMORY, "no host-visible memory for %llu bytes", (unsigned long long)bytes);
}

void run_free_memory(run *r, run_memory *memory)
{
    r->DestroyBuffer(r->info.device, memory->buffer, NULL);
    r->FreeMemory(r->info.device, memory->memory, NULL);
    *memory = (run_memory){0};
}

hd_result run_make_gpu(run *r)
{
    hd_vk_info_get(r->vk, &r->info);
    hd_result result = load_functions(r);
    if (result != HD_OK) {
        r->info.device = VK_NULL_HANDLE; /* nothing to destroy, and nothing to destroy it with */
        return result;
    }
    find_families(r);
    static const VkDescriptorType types[] = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                             VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE,
                                             VK_DESCRIPTOR_TYPE_STORAGE_IMAGE};
    VkDescriptorSetLayoutBinding bindings[5];
    for (uint32_t b = 0; b < 5; b++)
        bindings[b] = (VkDescriptorSetLayoutBinding){
            b, types[b], 1, VK_SHADER_STAGE_VERTEX_BIT | VK_SHADER_STAGE_FRAGMENT_BIT | VK_SHADER_STAGE_COMPUTE_BIT,
            NULL};
    VkDescriptorSetLayoutCreateInfo set = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, .bindingCount = 5, .pBindings = bindings};
    VkPushConstantRange push = {bindings[0].stageFlags, 0, sizeof(run_push)};
    VkPipelineLayoutCreateInfo layout = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                         .setLayoutCount = 1,
                                         .pSetLayouts = &r->set_layout,
                                         .pushConstantRangeCount = 1,
                                         .pPushConstantRanges = &push};
    if (r->CreateDescriptorSetLayout(r->info.device, &set, NULL, &r->set_layout) != VK_SUCCESS ||
        r->CreatePipelineLayout(r->info.device, &layout, NULL, &r->layout) != VK_SUCCESS)
        return run_fail(r, HD_VULKAN, "layouts cannot be made");
    for (int s = 0; s < RUN_SLOTS; s++) {
        VkQueryPoolCreateInfo queries = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                         .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                         .queryCount = 2 * r->decl.pass_count + 2};
        r->slots[s].op_begin = calloc((size_t)r->decl.pass_count + 1, sizeof(uint32_t));
        if (!r->slots[s].op_begin)
            return run_fail(r, HD_OUT_OF_MEMORY, "no memory");
        if (r->CreateQueryPool(r->info.device, &queries, NULL, &r->slots[s].queries) != VK_SUCCESS)
            return run_fail(r, HD_VULKAN, "no timestamps");
    }
    return HD_OK;
}

void run_free_gpu(run *r)
{
    for (int s = 0; s < RUN_SLOTS; s++) {
        run_slot *slot = &r->slots[s];
        if (r->info.device) {
            run_free_memory(r, &slot->counts);
            run_free_memory(r, &slot->staging);
            r->DestroyDescriptorPool(r->info.device, slot->pool, NULL);
            r->DestroyQueryPool(r->info.device, slot->queries, NULL);
        }
        free(slot->ops);
        free(slot->op_begin);
    }
    if (!r->info.device)
        return;
    r->DestroyPipelineLayout(r->info.device, r->layout, NULL);
    r->DestroyDescriptorSetLayout(r->info.device, r->set_layout, NULL);
}

/* ---- a frame's own ---- */

/* The operation's action, as a bit of run_access. */
static uint32_t action_of(const run_op *op)
{
    return op->write ? RUN_WRITE : RUN_CHECK;
}

static bool needs_set(const run_op *op)
{
    return run_access_of(op->access)->sets & action_of(op);
}

static bool copies(const run_op *op)
{
    return run_access_of(op->access)->copies & action_of(op);
}

/* Whether a shader makes the check, and so can say that it ran. A depth test runs none where all is right. */
static bool is_shaded(const run_op *op)
{
    if (op->write || !needs_set(op) || hdi_is_attachment(op->access))
        return false;
    /* A range may be too short to hold a command, and a command may run nothing. */
    return !run_access_of(op->access)->counts || (op->end - op->begin >= 16 && op->cell.c[0] != 0);
}

enum { GRID = 8, TILE = 1 << 15, TEXEL = 16 };

static uint64_t stage(const run *r, run_op *op)
{
    if (!copies(op))
        return 0;
    if (r->res[op->res].buffer) {
        uint64_t words = (op->end - op->begin) / 4;
        op->samples = op->write ? 0 : (uint32_t)(words < 1024 ? words : 1024);
        return op->samples * UINT64_C(4);
    }
    if (!op->write) {
        uint32_t x = op->width < GRID ? op->width : GRID, y = op->height < GRID ? op->height : GRID;
        op->samples = x * y;
        return (uint64_t)op->samples * TEXEL;
    }
    uint64_t row = (uint64_t)op->width * run_format_of(r->res[op->res].format)->bytes;
    uint64_t rows = TILE / row ? TILE / row : 1;
    op->samples = (uint32_t)(rows < op->height ? rows : op->height); /* rows that are filled */
    return row * op->samples;
}

static hd_result make_sets(run *r, run_slot *slot, uint32_t count)
{
    if (count > slot->pool_room) {
        VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 2 * count},
                                        {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, count},
                                        {VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE, count},
                                        {VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, count}};
        VkDescriptorPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                           .maxSets = count,
                                           .poolSizeCount = 4,
                                           .pPoolSizes = sizes};
        r->DestroyDescriptorPool(r->info.device, slot->pool, NULL);
        slot->pool = VK_NULL_HANDLE;
        slot->pool_room = 0;
        if (r->CreateDescriptorPool(r->info.device, &info, NULL, &slot->pool) != VK_SUCCESS)
            return run_fail(r, HD_OUT_OF_DEVICE_MEMORY, "no descriptors");
        slot->pool_room = count;
    } else if (slot->pool) {
        r->ResetDescriptorPool(r->info.device, slot->pool, 0);
    }
    VkDescriptorSetAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                        .descriptorPool = slot->pool,
                                        .descriptorSetCount = 1,
                                        .pSetLayouts = &r->set_layout};
    for (uint32_t o = 0; o < slot->op_count; o++) {
        if (needs_set(&slot->ops[o]) &&
            r->AllocateDescriptorSets(r->info.device, &info, &slot->ops[o].set) != VK_SUCCESS)
            return run_fail(r, HD_OUT_OF_DEVICE_MEMORY, "no descriptor set");
    }
    return HD_OK;
}

static void fill_tile(run *r, run_slot *slot, const run_op *op)
{
    uint8_t texel[TEXEL], *to = (uint8_t *)slot->staging.mapped + op->staging;
    uint32_t bytes = run_format_of(r->res[op->res].format)->bytes;
    run_encode(r->res[op->res].format, &op->cell, texel);
    for (uint64_t t = 0; t < (uint64_t)op->width * op->samples; t++)
        memcpy(to + t * bytes, texel, bytes);
}

static hd_result grow(run *r, run_memory *memory, uint64_t bytes, VkBufferUsageFlags usage)
{
    if (memory->bytes >= bytes)
        return HD_OK;
    run_free_memory(r, memory);
    return run_make_memory(r, bytes, usage, memory);
}

hd_result run_prepare_slot(run *r, run_slot *slot)
{
    uint32_t sets = 0;
    uint64_t bytes = 0;
    for (uint32_t o = 0; o < slot->op_count; o++) {
        run_op *op = &slot->ops[o];
        op->shader = is_shaded(op);
        sets += needs_set(op);
        op->staging = bytes;
        bytes += (stage(r, op) + 15) & ~UINT64_C(15);
    }
    hd_result result = grow(r, &slot->counts, (uint64_t)slot->op_count * 8 + 8, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT);
    if (result == HD_OK)
        result = grow(r, &slot->staging, bytes + 16,
                      VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT);
    if (result == HD_OK)
        result = make_sets(r, slot, sets);
    if (result != HD_OK)
        return result;
    memset(slot->counts.mapped, 0, slot->counts.bytes);
    memset(slot->staging.mapped, 0xa5, slot->staging.bytes);
    for (uint32_t o = 0; o < slot->op_count; o++) {
        const run_op *op = &slot->ops[o];
        if (copies(op) && op->write && !r->res[op->res].buffer)
            fill_tile(r, slot, op);
    }
    return HD_OK;
}

/* ---- what came of it ---- */

static uint32_t wrong_copies(const run *r, const run_slot *slot, const run_op *op)
{
    const uint8_t *at = (const uint8_t *)slot->staging.mapped + op->staging;
    uint32_t wrong = 0, stride = r->res[op->res].buffer ? 4 : TEXEL, bytes = 4;
    uint8_t texel[TEXEL];
    memcpy(texel, op->cell.c, 4);
    if (!r->res[op->res].buffer) {
        run_encode(r->res[op->res].format, &op->cell, texel);
        bytes = run_format_of(r->res[op->res].format)->bytes;
    }
    for (uint32_t s = 0; s < op->samples; s++)
        wrong += memcmp(at + (size_t)s * stride, texel, bytes) != 0;
    return wrong;
}

static void tell(run *r, const run_slot *slot, const run_op *op, uint32_t wrong, bool unseen)
{
    char text[320], where[96];
    r->report->wrong++;
    if (!r->desc->wrong || r->told++ >= 16)
        return;
    if (r->res[op->res].buffer)
        snprintf(where, sizeof(where), "buffer %u bytes %llu to %llu", op->res, (unsigned long long)op->begin,
                 (unsigned long long)op->end);
    else
        snprintf(where, sizeof(where), "image %u mip %u layer %u", op->res, op->mip, op->layer);
    const char *access = r->decl.access[op->access].name;
    int n = op->pass == HD_NONE ? snprintf(text, sizeof(text), "after the last frame: ")
                                : snprintf(text, sizeof(text), "frame %llu, pass %u (%s): ",
                                           (unsigned long long)slot->frame, op->pass, access ? access : "");
    n += snprintf(text + n, sizeof(text) - (size_t)n, "%s: ", where);
    if (unseen)
        n += snprintf(text + n, sizeof(text) - (size_t)n, "the check did not run");
    else
        n += snprintf(text + n, sizeof(text) - (size_t)n, "%u wrong values", wrong);
    if (op->cell.writer == HD_NONE)
        snprintf(text + n, sizeof(text) - (size_t)n, ", where the content from before the frame is expected");
    else
        snprintf(text + n, sizeof(text) - (size_t)n, ", where what pass %u wrote is expected", op->cell.writer);
    r->desc->wrong(text, r->desc->wrong_user);
}

static void collect_times(run *r, run_slot *slot)
{
    for (uint32_t p = 0; p < r->decl.pass_count; p++) {
        uint64_t ticks[2];
        uint32_t queue = r->pass_queue[p];
        if (queue == HD_NONE || r->timestamp_bits[queue] == 0 || r->queue_kind[p] > HD_QUEUE_COMPUTE ||
            r->GetQueryPoolResults(r->info.device, slot->queries, 2 * p, 2, sizeof(ticks), ticks, sizeof(ticks[0]),
                                   VK_QUERY_RESULT_64_BIT) != VK_SUCCESS)
            continue;
        uint64_t mask = r->timestamp_bits[queue] >= 64 ? UINT64_MAX : (UINT64_C(1) << r->timestamp_bits[queue]) - 1;
        r->us_sum[p] += (double)((ticks[1] - ticks[0]) & mask) * r->limits.timestampPeriod * 1e-3;
        r->us_count[p]++;
    }
}

void run_collect(run *r, run_slot *slot)
{
    const uint32_t *counts = slot->counts.mapped;
    if (!slot->used)
        return;
    for (uint32_t o = 0; o < slot->op_count; o++) {
        const run_op *op = &slot->ops[o];
        if (op->write)
            continue;
        r->report->checks++;
        uint32_t wrong = counts[2 * o] + atomic_load(&op->host_wrong);
        if (copies(op))
            wrong += wrong_copies(r, slot, op);
        bool unseen = op->shader && counts[2 * o + 1] == 0;
        if (wrong || unseen)
            tell(r, slot, op, wrong, unseen && !wrong);
    }
    if (slot->frame != UINT64_MAX)
        collect_times(r, slot);
    slot->used = false;
}
