/* Captures that can be replayed, over a device of the test's own: memory is memory of the host, commands do nothing,
 * and a queue is finished when the test says so. And what their streams hold. */
#ifndef HDT_CAPTURE_DEVICE_H
#define HDT_CAPTURE_DEVICE_H

#include <criterion/criterion.h>

#include <heddle/capture.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "capture/call.h"
#include "limited.h"

#pragma GCC diagnostic ignored "-Wunused-parameter" /* of functions that do nothing */

/* ---- the device ---- */

enum { BYTES = 1 << 16 };

static uintptr_t handles = 16;
static uint8_t content[BYTES]; /* of the memory that is made last */
static uint64_t finished;      /* value of every timeline semaphore */
static VkSemaphore gone;       /* must not be asked */

#define CREATE(name, info_type, handle_type)                                                                           \
    static VkResult VKAPI_PTR fake_##name(VkDevice d, const info_type *info, const VkAllocationCallbacks *a,           \
                                          handle_type *out)                                                            \
    {                                                                                                                  \
        *out = (handle_type)++handles;                                                                                 \
        return VK_SUCCESS;                                                                                             \
    }
CREATE(vkCreateImage, VkImageCreateInfo, VkImage)
CREATE(vkCreateBuffer, VkBufferCreateInfo, VkBuffer)
CREATE(vkCreateSemaphore, VkSemaphoreCreateInfo, VkSemaphore)
CREATE(vkCreateFence, VkFenceCreateInfo, VkFence)
CREATE(vkCreateSwapchainKHR, VkSwapchainCreateInfoKHR, VkSwapchainKHR)
CREATE(vkCreateShaderModule, VkShaderModuleCreateInfo, VkShaderModule)
CREATE(vkCreatePipelineLayout, VkPipelineLayoutCreateInfo, VkPipelineLayout)
CREATE(vkCreateDescriptorPool, VkDescriptorPoolCreateInfo, VkDescriptorPool)
CREATE(vkCreateDescriptorSetLayout, VkDescriptorSetLayoutCreateInfo, VkDescriptorSetLayout)
CREATE(vkCreateDescriptorUpdateTemplate, VkDescriptorUpdateTemplateCreateInfo, VkDescriptorUpdateTemplate)
CREATE(vkCreateQueryPool, VkQueryPoolCreateInfo, VkQueryPool)

#define NOTHING(name, ...)                                                                                             \
    static void VKAPI_PTR fake_##name(__VA_ARGS__)                                                                     \
    {                                                                                                                  \
    }
NOTHING(vkCmdFillBuffer, VkCommandBuffer c, VkBuffer b, VkDeviceSize o, VkDeviceSize n, uint32_t w)
NOTHING(vkCmdPipelineBarrier2, VkCommandBuffer c, const VkDependencyInfo *i)
NOTHING(vkCmdClearColorImage, VkCommandBuffer c, VkImage i, VkImageLayout l, const VkClearColorValue *v, uint32_t n,
        const VkImageSubresourceRange *r)
NOTHING(vkCmdBindPipeline, VkCommandBuffer c, VkPipelineBindPoint p, VkPipeline l)
NOTHING(vkCmdBindDescriptorSets, VkCommandBuffer c, VkPipelineBindPoint p, VkPipelineLayout l, uint32_t f, uint32_t n,
        const VkDescriptorSet *s, uint32_t m, const uint32_t *o)
NOTHING(vkCmdPushDescriptorSetKHR, VkCommandBuffer c, VkPipelineBindPoint p, VkPipelineLayout l, uint32_t s, uint32_t n,
        const VkWriteDescriptorSet *w)
NOTHING(vkCmdPushDescriptorSetWithTemplateKHR, VkCommandBuffer c, VkDescriptorUpdateTemplate t, VkPipelineLayout l,
        uint32_t s, const void *d)
NOTHING(vkCmdDispatch, VkCommandBuffer c, uint32_t x, uint32_t y, uint32_t z)
NOTHING(vkCmdDraw, VkCommandBuffer c, uint32_t n, uint32_t i, uint32_t f, uint32_t g)
NOTHING(vkCmdSetLineStippleEXT, VkCommandBuffer c, uint32_t f, uint16_t p)
NOTHING(vkCmdClearAttachments, VkCommandBuffer c, uint32_t n, const VkClearAttachment *a, uint32_t m,
        const VkClearRect *r)
NOTHING(vkCmdBeginRendering, VkCommandBuffer c, const VkRenderingInfo *i)
NOTHING(vkCmdEndRendering, VkCommandBuffer c)
NOTHING(vkCmdDrawIndirectByteCountEXT, VkCommandBuffer c, uint32_t n, uint32_t f, VkBuffer b, VkDeviceSize o,
        uint32_t d, uint32_t s)
NOTHING(vkCmdPushConstants, VkCommandBuffer c, VkPipelineLayout l, VkShaderStageFlags s, uint32_t o, uint32_t n,
        const void *v)
NOTHING(vkCmdSetEvent, VkCommandBuffer c, VkEvent e, VkPipelineStageFlags s)
NOTHING(vkCmdExecuteCommands, VkCommandBuffer c, uint32_t n, const VkCommandBuffer *b)
NOTHING(vkCmdResetQueryPool, VkCommandBuffer c, VkQueryPool p, uint32_t f, uint32_t n)
NOTHING(vkCmdBeginQuery, VkCommandBuffer c, VkQueryPool p, uint32_t q, VkQueryControlFlags f)
NOTHING(vkCmdEndQuery, VkCommandBuffer c, VkQueryPool p, uint32_t q)
NOTHING(vkResetQueryPool, VkDevice d, VkQueryPool p, uint32_t f, uint32_t n)
NOTHING(vkUpdateDescriptorSets, VkDevice d, uint32_t n, const VkWriteDescriptorSet *w, uint32_t m,
        const VkCopyDescriptorSet *c)
NOTHING(vkUpdateDescriptorSetWithTemplate, VkDevice d, VkDescriptorSet s, VkDescriptorUpdateTemplate t, const void *p)
NOTHING(vkUnmapMemory, VkDevice d, VkDeviceMemory m)
NOTHING(vkDestroyBuffer, VkDevice d, VkBuffer b, const VkAllocationCallbacks *a)
NOTHING(vkDestroyDevice, VkDevice d, const VkAllocationCallbacks *a)
NOTHING(vkDestroySemaphore, VkDevice d, VkSemaphore s, const VkAllocationCallbacks *a)

static VkResult VKAPI_PTR fake_vkCreateInstance(const VkInstanceCreateInfo *i, const VkAllocationCallbacks *a,
                                                VkInstance *out)
{
    *out = (VkInstance)++handles;
    return VK_SUCCESS;
}

static VkResult VKAPI_PTR fake_vkCreateDevice(VkPhysicalDevice d, const VkDeviceCreateInfo *i,
                                              const VkAllocationCallbacks *a, VkDevice *out)
{
    *out = (VkDevice)++handles;
    return VK_SUCCESS;
}

static void VKAPI_PTR fake_vkGetPhysicalDeviceMemoryProperties(VkPhysicalDevice d,
                                                               VkPhysicalDeviceMemoryProperties *out)
{
    *out = (VkPhysicalDeviceMemoryProperties){
        .memoryTypeCount = 2,
        .memoryTypes = {{VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0},
                        {VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT, 0}},
        .memoryHeapCount = 1};
}

static void VKAPI_PTR fake_vkGetPhysicalDeviceQueueFamilyProperties(VkPhysicalDevice d, uint32_t *count,
                                                                    VkQueueFamilyProperties *out)
{
    *count = 1;
    out[0] = (VkQueueFamilyProperties){.queueFlags = VK_QUEUE_GRAPHICS_BIT, .queueCount = 1};
}

static VkResult VKAPI_PTR fake_vkAllocateMemory(VkDevice d, const VkMemoryAllocateInfo *i,
                                                const VkAllocationCallbacks *a, VkDeviceMemory *out)
{
    *out = (VkDeviceMemory)++handles;
    memset(content, 0xcd, sizeof(content));
    return VK_SUCCESS;
}

static VkResult VKAPI_PTR fake_vkMapMemory(VkDevice d, VkDeviceMemory m, VkDeviceSize o, VkDeviceSize n,
                                           VkMemoryMapFlags f, void **out)
{
    *out = content + o;
    return VK_SUCCESS;
}

static VkResult VKAPI_PTR fake_vkBindBufferMemory(VkDevice d, VkBuffer b, VkDeviceMemory m, VkDeviceSize o)
{
    return VK_SUCCESS;
}

static VkResult VKAPI_PTR fake_vkBindImageMemory(VkDevice d, VkImage i, VkDeviceMemory m, VkDeviceSize o)
{
    return VK_SUCCESS;
}

/* All swapchains have the same images, as where handles are given out again. */
static VkResult VKAPI_PTR fake_vkGetSwapchainImagesKHR(VkDevice d, VkSwapchainKHR s, uint32_t *count, VkImage *images)
{
    for (uint32_t i = 0; i < 2 && images; i++)
        images[i] = (VkImage)(uintptr_t)(5 + i);
    *count = 2;
    return VK_SUCCESS;
}

static void VKAPI_PTR fake_vkGetImageMemoryRequirements(VkDevice d, VkImage i, VkMemoryRequirements *out)
{
    *out = (VkMemoryRequirements){1024, 1024, 3};
}

static VkResult VKAPI_PTR fake_vkFlushMappedMemoryRanges(VkDevice d, uint32_t n, const VkMappedMemoryRange *r)
{
    return VK_SUCCESS;
}

static VkResult VKAPI_PTR fake_vkSignalSemaphore(VkDevice d, const VkSemaphoreSignalInfo *i)
{
    return VK_SUCCESS;
}

static VkResult VKAPI_PTR fake_vkGetFenceStatus(VkDevice d, VkFence f)
{
    return finished ? VK_SUCCESS : VK_NOT_READY;
}

static VkResult VKAPI_PTR fake_vkAllocateDescriptorSets(VkDevice d, const VkDescriptorSetAllocateInfo *i,
                                                        VkDescriptorSet *out)
{
    for (uint32_t k = 0; k < i->descriptorSetCount; k++)
        out[k] = (VkDescriptorSet)++handles;
    return VK_SUCCESS;
}

static VkResult VKAPI_PTR fake_vkCreateComputePipelines(VkDevice d, VkPipelineCache c, uint32_t n,
                                                        const VkComputePipelineCreateInfo *i,
                                                        const VkAllocationCallbacks *a, VkPipeline *out)
{
    for (uint32_t k = 0; k < n; k++)
        out[k] = (VkPipeline)++handles;
    return VK_SUCCESS;
}

static VkResult VKAPI_PTR fake_vkQueueSubmit2(VkQueue q, uint32_t n, const VkSubmitInfo2 *i, VkFence f)
{
    return VK_SUCCESS;
}

static VkResult VKAPI_PTR fake_vkBeginCommandBuffer(VkCommandBuffer c, const VkCommandBufferBeginInfo *i)
{
    return VK_SUCCESS;
}

static VkDeviceAddress VKAPI_PTR fake_vkGetBufferDeviceAddress(VkDevice d, const VkBufferDeviceAddressInfo *i)
{
    return 1;
}

static VkResult VKAPI_PTR fake_vkQueueWaitIdle(VkQueue q)
{
    return VK_SUCCESS;
}

static VkResult VKAPI_PTR fake_vkGetSemaphoreCounterValue(VkDevice d, VkSemaphore s, uint64_t *value)
{
    cr_expect_neq(s, gone);
    *value = finished;
    return VK_SUCCESS;
}

#define FAKES(X)                                                                                                       \
    X(vkCreateImage)                                                                                                   \
    X(vkCreateBuffer)                                                                                                  \
    X(vkCreateFence)                                                                                                   \
    X(vkCreateSwapchainKHR)                                                                                            \
    X(vkGetSwapchainImagesKHR)                                                                                         \
    X(vkCmdPipelineBarrier2)                                                                                           \
    X(vkCmdClearColorImage)                                                                                            \
    X(vkBindImageMemory)                                                                                               \
    X(vkGetImageMemoryRequirements)                                                                                    \
    X(vkFlushMappedMemoryRanges)                                                                                       \
    X(vkSignalSemaphore)                                                                                               \
    X(vkGetFenceStatus)                                                                                                \
    X(vkCreateSemaphore)                                                                                               \
    X(vkCreateShaderModule)                                                                                            \
    X(vkCreatePipelineLayout)                                                                                          \
    X(vkCreateDescriptorPool)                                                                                          \
    X(vkCreateDescriptorSetLayout)                                                                                     \
    X(vkCreateDescriptorUpdateTemplate)                                                                                \
    X(vkCreateQueryPool)                                                                                               \
    X(vkCmdFillBuffer)                                                                                                 \
    X(vkCmdBindPipeline)                                                                                               \
    X(vkCmdBindDescriptorSets)                                                                                         \
    X(vkCmdPushDescriptorSetKHR)                                                                                       \
    X(vkCmdPushDescriptorSetWithTemplateKHR)                                                                           \
    X(vkCmdDispatch)                                                                                                   \
    X(vkCmdDraw)                                                                                                       \
    X(vkCmdSetLineStippleEXT)                                                                                          \
    X(vkCmdClearAttachments)                                                                                           \
    X(vkCmdBeginRendering)                                                                                             \
    X(vkCmdEndRendering)                                                                                               \
    X(vkCmdExecuteCommands)                                                                                            \
    X(vkCmdResetQueryPool)                                                                                             \
    X(vkCmdBeginQuery)                                                                                                 \
    X(vkCmdEndQuery)                                                                                                   \
    X(vkResetQueryPool)                                                                                                \
    X(vkUpdateDescriptorSets)                                                                                          \
    X(vkUpdateDescriptorSetWithTemplate)                                                                               \
    X(vkUnmapMemory)                                                                                                   \
    X(vkDestroyBuffer)                                                                                                 \
    X(vkDestroyDevice)                                                                                                 \
    X(vkDestroySemaphore)                                                                                              \
    X(vkCreateInstance)                                                                                                \
    X(vkCreateDevice)                                                                                                  \
    X(vkGetPhysicalDeviceMemoryProperties)                                                                             \
    X(vkGetPhysicalDeviceQueueFamilyProperties)                                                                        \
    X(vkAllocateMemory)                                                                                                \
    X(vkMapMemory)                                                                                                     \
    X(vkBindBufferMemory)                                                                                              \
    X(vkAllocateDescriptorSets)                                                                                        \
    X(vkCreateComputePipelines)                                                                                        \
    X(vkQueueSubmit2)                                                                                                  \
    X(vkBeginCommandBuffer)                                                                                            \
    X(vkCmdDrawIndirectByteCountEXT)                                                                                   \
    X(vkCmdPushConstants)                                                                                              \
    X(vkCmdSetEvent)                                                                                                   \
    X(vkGetBufferDeviceAddress)                                                                                        \
    X(vkQueueWaitIdle)                                                                                                 \
    X(vkGetSemaphoreCounterValue)

static PFN_vkVoidFunction VKAPI_PTR fake_proc(VkInstance instance, const char *name)
{
#define FAKE(function)                                                                                                 \
    if (strcmp(name, #function) == 0)                                                                                  \
        return (PFN_vkVoidFunction)fake_##function;
    FAKES(FAKE)
    return NULL;
}

/* ---- what it is called with ---- */

#define COMMANDS ((VkCommandBuffer)(uintptr_t)1)
#define SECONDARY ((VkCommandBuffer)(uintptr_t)4)
#define QUEUE ((VkQueue)(uintptr_t)2)
#define CALL(function) ((PFN_##function)hd_capture_get_instance_proc(NULL, #function))

static VkDevice device;
static VkDeviceMemory memory;
static hdt_limited limited;

static inline void open_device(void)
{
    VkInstance instance;
    cr_assert_eq(hd_capture_open(&(hd_capture_desc){
                     .allocator = hdt_limited_allocator(&limited), .get_instance_proc = fake_proc, .replay = true}),
                 HD_OK);
    cr_assert_eq(hd_capture_begin(), HD_OK);
    CALL(vkCreateInstance)
    (&(VkInstanceCreateInfo){.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO}, NULL, &instance);
    hd_capture_get_instance_proc(instance, "vkCreateDevice");
    CALL(vkCreateDevice)
    (NULL, &(VkDeviceCreateInfo){.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO}, NULL, &device);
}

static inline void allocate(uint32_t type)
{
    CALL(vkAllocateMemory)
    (device,
     &(VkMemoryAllocateInfo){
         .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = BYTES, .memoryTypeIndex = type},
     NULL, &memory);
}

static inline VkBuffer make_buffer(uint64_t offset, uint64_t bytes)
{
    VkBuffer buffer;
    CALL(vkCreateBuffer)
    (device, &(VkBufferCreateInfo){.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = bytes}, NULL, &buffer);
    CALL(vkBindBufferMemory)(device, buffer, memory, offset);
    return buffer;
}

static inline VkSemaphore make_timeline(void)
{
    VkSemaphore out;
    VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                      .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
    CALL(vkCreateSemaphore)
    (device, &(VkSemaphoreCreateInfo){.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type}, NULL, &out);
    return out;
}

static inline void clear(VkImage image)
{
    const VkImageSubresourceRange all = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
    const VkClearColorValue value = {.uint32 = {0}};
    CALL(vkCmdClearColorImage)(COMMANDS, image, VK_IMAGE_LAYOUT_GENERAL, &value, 1, &all);
}

static inline void submit_with(VkSemaphore semaphore, uint64_t value, VkFence fence)
{
    const VkCommandBufferSubmitInfo commands = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO, NULL, COMMANDS, 0};
    const VkSemaphoreSubmitInfo signal = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
                                          .semaphore = semaphore,
                                          .value = value,
                                          .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT};
    const VkSubmitInfo2 info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
                                .commandBufferInfoCount = 1,
                                .pCommandBufferInfos = &commands,
                                .signalSemaphoreInfoCount = semaphore != VK_NULL_HANDLE,
                                .pSignalSemaphoreInfos = &signal};
    CALL(vkQueueSubmit2)(QUEUE, 1, &info, fence);
}

static inline void submit(VkSemaphore semaphore, uint64_t value)
{
    submit_with(semaphore, value, VK_NULL_HANDLE);
}

static inline hd_stream *close_device(void)
{
    hd_stream *stream = NULL;
    cr_assert_eq(hd_capture_end(&stream), HD_OK);
    hd_capture_close();
    return stream;
}

/* ---- what the stream has ---- */

static inline const char *name_of(const hd_stream *s, const hd_stream_command *x)
{
    return s->strings[x->name];
}

/* The n-th command of a name. */
static inline const hd_stream_command *command_of(const hd_stream *s, const char *name, uint32_t n)
{
    for (uint32_t i = 0; i < s->command_count; i++) {
        if (strcmp(name_of(s, &s->commands[i]), name) == 0 && n-- == 0)
            return &s->commands[i];
    }
    cr_assert_fail("%s", name);
    abort();
}

static inline uint32_t count_of(const hd_stream *s, const char *name)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < s->command_count; i++)
        count += strcmp(name_of(s, &s->commands[i]), name) == 0;
    return count;
}

static inline uint32_t objects_of(const hd_stream *s, const char *name)
{
    uint32_t count = 0;
    for (uint32_t i = 1; i < s->object_count; i++)
        count += strcmp(s->strings[s->objects[i].name], name) == 0;
    return count;
}

/* Objects as handles: 1000 and their number. */
static inline uint64_t handle_of(void *user, uint32_t type, uint32_t object)
{
    return 1000 + object;
}

static hdi_arena arena;

static inline hdi_call_reader reader_of(const hd_stream *s, uint32_t data)
{
    const hd_stream_data *d = &s->datas[data];
    cr_assert_neq(data, 0);
    return (hdi_call_reader){.bytes = s->bytes + d->byte_begin,
                             .refs = s->refs + d->ref_begin,
                             .byte_count = d->byte_count,
                             .ref_count = d->ref_count,
                             .arena = &arena,
                             .handle = handle_of};
}

static inline const void *arguments_of(const hd_stream *s, const hd_stream_command *x)
{
    hdi_call_reader r = reader_of(s, x->data);
    const void *out = hdi_call_read(&r, hdi_call_find(name_of(s, x))->type);
    cr_assert(out && r.at == r.byte_count, "%s", name_of(s, x));
    return out;
}

static inline const char *object_name(const hd_stream *s, uint64_t handle)
{
    cr_assert(handle > 1000 && handle - 1000 < s->object_count);
    return s->strings[s->objects[handle - 1000].name];
}

/* Objects name objects before them. */
static inline void expect_order(const hd_stream *s)
{
    for (uint32_t i = 1; i < s->object_count; i++) {
        const hd_stream_data *d = &s->datas[s->objects[i].data];
        for (uint32_t k = 0; k < d->ref_count; k++)
            cr_expect(s->refs[d->ref_begin + k] && s->refs[d->ref_begin + k] < i);
    }
}

static inline void begin_test(void)
{
    if (!hdi_call_find("vkCmdDraw"))
        cr_skip_test("built without vk.xml");
    memset(&limited, 0, sizeof(limited));
    hdi_arena_init(&arena, NULL);
}

static inline void end_test(void)
{
    hdi_arena_free(&arena);
    cr_expect_eq(limited.out, 0);
    cr_expect_eq(limited.wrong, 0);
}

#endif
