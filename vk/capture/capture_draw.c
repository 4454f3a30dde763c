#include "capture_state.h"

#include <string.h>

/* Draws and dispatches: vertex, index and indirect buffers. What shaders do is not seen here. Index and indirect
 * buffers are read where the draw says; of vertex buffers only the bound range is known, so inside of heddle's passes,
 * whose declarations say it exactly, they are left to these. */

#define HOOKS(X)                                                                                                       \
    X(vkCmdBindVertexBuffers)                                                                                          \
    X(vkCmdBindVertexBuffers2)                                                                                         \
    X(vkCmdBindIndexBuffer)                                                                                            \
    X(vkCmdDraw)                                                                                                       \
    X(vkCmdDrawIndexed)                                                                                                \
    X(vkCmdDrawIndirect)                                                                                               \
    X(vkCmdDrawIndexedIndirect)                                                                                        \
    X(vkCmdDrawIndirectCount)                                                                                          \
    X(vkCmdDrawIndexedIndirectCount)                                                                                   \
    X(vkCmdDispatch)                                                                                                   \
    X(vkCmdDispatchBase)                                                                                               \
    X(vkCmdDispatchIndirect)
HOOKS(HDI_CAP_NEXT)

#define INDIRECT VK_PIPELINE_STAGE_2_DRAW_INDIRECT_BIT
#define COMMAND_READ VK_ACCESS_2_INDIRECT_COMMAND_READ_BIT

static void bind_locked(VkCommandBuffer commands, const char *name, uint32_t first, uint32_t count,
                        const VkBuffer *buffers, const VkDeviceSize *offsets, const VkDeviceSize *sizes)
{
    hdi_cap_commands *c = hdi_cap_commands_locked(commands);
    uint64_t sets = 0;
    for (uint32_t i = first; i < first + count; i++)
        sets |= HD_STREAM_STATE_VERTEX(i < 7 ? i : 7);
    hdi_cap_state_locked(commands, name, sets, 0);
    for (uint32_t i = 0; i < count && c && first + i < HDI_CAP_BINDINGS; i++) {
        const hdi_cap_object *object =
            buffers[i] ? hdi_cap_resource_locked(HDI_CAP_BUFFER, HDI_CAP_HANDLE(buffers[i])) : NULL;
        c->vertices[first + i].object = object ? hdi_cap_index_locked(object) : HD_NONE;
        c->vertices[first + i].offset = offsets[i];
        c->vertices[first + i].bytes = sizes ? sizes[i] : VK_WHOLE_SIZE;
    }
}

static void VKAPI_PTR hook_vkCmdBindVertexBuffers(VkCommandBuffer commands, uint32_t first, uint32_t count,
                                                  const VkBuffer *buffers, const VkDeviceSize *offsets)
{
    hdi_cap_lock();
    bind_locked(commands, "vkCmdBindVertexBuffers", first, count, buffers, offsets, NULL);
    hdi_cap_unlock();
    NEXT(vkCmdBindVertexBuffers)(commands, first, count, buffers, offsets);
}

static void VKAPI_PTR hook_vkCmdBindVertexBuffers2(VkCommandBuffer commands, uint32_t first, uint32_t count,
                                                   const VkBuffer *buffers, const VkDeviceSize *offsets,
                                                   const VkDeviceSize *sizes, const VkDeviceSize *strides)
{
    hdi_cap_lock();
    bind_locked(commands, "vkCmdBindVertexBuffers2", first, count, buffers, offsets, sizes);
    hdi_cap_unlock();
    NEXT(vkCmdBindVertexBuffers2)(commands, first, count, buffers, offsets, sizes, strides);
}

static void VKAPI_PTR hook_vkCmdBindIndexBuffer(VkCommandBuffer commands, VkBuffer buffer, VkDeviceSize offset,
                                                VkIndexType type)
{
    hdi_cap_lock();
    hdi_cap_commands *c = hdi_cap_commands_locked(commands);
    const hdi_cap_object *object = c ? hdi_cap_resource_locked(HDI_CAP_BUFFER, HDI_CAP_HANDLE(buffer)) : NULL;
    hdi_cap_state_locked(commands, "vkCmdBindIndexBuffer", HD_STREAM_STATE_INDEX, 0);
    if (object) {
        c->index.object = hdi_cap_index_locked(object);
        c->index.offset = offset;
        c->index_bytes = type == VK_INDEX_TYPE_UINT32 ? 4 : type == VK_INDEX_TYPE_UINT16 ? 2 : 1;
    }
    hdi_cap_unlock();
    NEXT(vkCmdBindIndexBuffer)(commands, buffer, offset, type);
}

static VkBuffer buffer_of(uint32_t object)
{
    return (VkBuffer)(uintptr_t)hdi_cap.objects[object].handle;
}

static void vertices_locked(hdi_cap_commands *c)
{
    for (uint32_t i = 0; i < HDI_CAP_BINDINGS && !c->group; i++) {
        if (c->vertices[i].object != HD_NONE)
            hdi_cap_buffer_locked(c->list, buffer_of(c->vertices[i].object), c->vertices[i].offset,
                                  c->vertices[i].bytes, VK_PIPELINE_STAGE_2_VERTEX_ATTRIBUTE_INPUT_BIT,
                                  VK_ACCESS_2_VERTEX_ATTRIBUTE_READ_BIT);
    }
}

static void indices_locked(hdi_cap_commands *c, uint64_t first, uint64_t count)
{
    if (c->index.object != HD_NONE)
        hdi_cap_buffer_locked(c->list, buffer_of(c->index.object), c->index.offset + first * c->index_bytes,
                              count == UINT32_MAX ? VK_WHOLE_SIZE : count * c->index_bytes,
                              VK_PIPELINE_STAGE_2_INDEX_INPUT_BIT, VK_ACCESS_2_INDEX_READ_BIT);
}

static void uses_locked(hd_stream_command *command, uint64_t state)
{
    if (command && hdi_cap.with_state)
        command->uses = state;
}

/* Opens a draw; null: nothing to note. */
static hdi_cap_commands *draw_locked(VkCommandBuffer commands, const char *name)
{
    hdi_cap_commands *c = hdi_cap_commands_locked(commands);
    hd_stream_command *command = c ? hdi_cap_command_locked(c, HD_STREAM_ACCESS, name) : NULL;
    if (!command)
        return NULL;
    uses_locked(command, HDI_CAP_USES_GRAPHICS | (strstr(name, "Indexed") ? HD_STREAM_STATE_INDEX : 0));
    vertices_locked(c);
    return c;
}

/* A command that touches nothing is not worth a line. */
static void close_locked(hdi_cap_commands *c)
{
    hd_stream_command *last = c && c->list->command_count ? &c->list->commands[c->list->command_count - 1] : NULL;
    if (last && !last->count && !last->uses)
        c->list->command_count--;
}

static void VKAPI_PTR hook_vkCmdDraw(VkCommandBuffer commands, uint32_t vertices, uint32_t instances, uint32_t first,
                                     uint32_t first_instance)
{
    hdi_cap_lock();
    close_locked(draw_locked(commands, "vkCmdDraw"));
    hdi_cap_unlock();
    NEXT(vkCmdDraw)(commands, vertices, instances, first, first_instance);
}

static void VKAPI_PTR hook_vkCmdDrawIndexed(VkCommandBuffer commands, uint32_t indices, uint32_t instances,
                                            uint32_t first, int32_t vertex, uint32_t first_instance)
{
    hdi_cap_lock();
    hdi_cap_commands *c = draw_locked(commands, "vkCmdDrawIndexed");
    if (c)
        indices_locked(c, first, indices);
    close_locked(c);
    hdi_cap_unlock();
    NEXT(vkCmdDrawIndexed)(commands, indices, instances, first, vertex, first_instance);
}

static void indirect_locked(VkCommandBuffer commands, const char *name, bool indexed, VkBuffer buffer, uint64_t offset,
                            uint64_t count, uint64_t stride, uint64_t one)
{
    hdi_cap_commands *c = draw_locked(commands, name);
    if (!c)
        return;
    if (count)
        hdi_cap_buffer_locked(c->list, buffer, offset, (count - 1) * stride + one, INDIRECT, COMMAND_READ);
    if (indexed)
        indices_locked(c, 0, UINT32_MAX);
}

#define DRAW_INDIRECT(name, indexed, structure)                                                                        \
    static void VKAPI_PTR hook_##name(VkCommandBuffer commands, VkBuffer buffer, VkDeviceSize offset, uint32_t count,  \
                                      uint32_t stride)                                                                 \
    {                                                                                                                  \
        hdi_cap_lock();                                                                                                \
        indirect_locked(commands, #name, indexed, buffer, offset, count, stride, sizeof(structure));                   \
        hdi_cap_unlock();                                                                                              \
        NEXT(name)(commands, buffer, offset, count, stride);                                                           \
    }
DRAW_INDIRECT(vkCmdDrawIndirect, false, VkDrawIndirectCommand)
DRAW_INDIRECT(vkCmdDrawIndexedIndirect, true, VkDrawIndexedIndirectCommand)

#define DRAW_INDIRECT_COUNT(name, indexed, structure)                                                                  \
    static void VKAPI_PTR hook_##name(VkCommandBuffer commands, VkBuffer buffer, VkDeviceSize offset, VkBuffer counts, \
                                      VkDeviceSize count_offset, uint32_t most, uint32_t stride)                       \
    {                                                                                                                  \
        hdi_cap_lock();                                                                                                \
        indirect_locked(commands, #name, indexed, buffer, offset, most, stride, sizeof(structure));                    \
        hdi_cap_commands *c = hdi_cap_commands_locked(commands);                                                       \
        if (c && c->list->command_count)                                                                               \
            hdi_cap_buffer_locked(c->list, counts, count_offset, 4, INDIRECT, COMMAND_READ);                           \
        hdi_cap_unlock();                                                                                              \
        NEXT(name)(commands, buffer, offset, counts, count_offset, most, stride);                                      \
    }
DRAW_INDIRECT_COUNT(vkCmdDrawIndirectCount, false, VkDrawIndirectCommand)
DRAW_INDIRECT_COUNT(vkCmdDrawIndexedIndirectCount, true, VkDrawIndexedIndirectCommand)

static void dispatch_locked(VkCommandBuffer commands, const char *name)
{
    hdi_cap_commands *c = hdi_cap.with_state ? hdi_cap_commands_locked(commands) : NULL;
    if (c)
        uses_locked(hdi_cap_command_locked(c, HD_STREAM_ACCESS, name), HDI_CAP_USES_COMPUTE);
}

static void VKAPI_PTR hook_vkCmdDispatch(VkCommandBuffer commands, uint32_t x, uint32_t y, uint32_t z)
{
    hdi_cap_lock();
    dispatch_locked(commands, "vkCmdDispatch");
    hdi_cap_unlock();
    NEXT(vkCmdDispatch)(commands, x, y, z);
}

static void VKAPI_PTR hook_vkCmdDispatchBase(VkCommandBuffer commands, uint32_t first_x, uint32_t first_y,
                                             uint32_t first_z, uint32_t x, uint32_t y, uint32_t z)
{
    hdi_cap_lock();
    dispatch_locked(commands, "vkCmdDispatchBase");
    hdi_cap_unlock();
    NEXT(vkCmdDispatchBase)(commands, first_x, first_y, first_z, x, y, z);
}

static void VKAPI_PTR hook_vkCmdDispatchIndirect(VkCommandBuffer commands, VkBuffer buffer, VkDeviceSize offset)
{
    hdi_cap_lock();
    hdi_cap_commands *c = hdi_cap_commands_locked(commands);
    hd_stream_command *command = c ? hdi_cap_command_locked(c, HD_STREAM_ACCESS, "vkCmdDispatchIndirect") : NULL;
    uses_locked(command, HDI_CAP_USES_COMPUTE);
    if (command)
        hdi_cap_buffer_locked(c->list, buffer, offset, sizeof(VkDispatchIndirectCommand), INDIRECT, COMMAND_READ);
    hdi_cap_unlock();
    NEXT(vkCmdDispatchIndirect)(commands, buffer, offset);
}

#define ALIAS(name, as) {name, (PFN_vkVoidFunction)hook_##as, &next_##as},
static const hdi_cap_hook hooks[] = {HOOKS(HDI_CAP_ENTRY) ALIAS("vkCmdDrawIndirectCountKHR", vkCmdDrawIndirectCount)
                                         ALIAS("vkCmdDrawIndexedIndirectCountKHR", vkCmdDrawIndexedIndirectCount)
                                             ALIAS("vkCmdBindVertexBuffers2EXT", vkCmdBindVertexBuffers2)};
const hdi_cap_hooks hdi_cap_draw_hooks = {hooks, sizeof(hooks) / sizeof(hooks[0]), false};
