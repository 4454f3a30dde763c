#include "vk_families.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vk_order.h"

/* Three queue families (0 graphics, 1 transfer, 2 compute) over a device with one: stands between heddle and the
 * loader. Queues are made up and told apart at the submit; everything goes to the one real queue in the order of the
 * submits, which heddle keeps topological, or in a random one (vk_order.h). Families vanish from what the driver sees; an ownership transfer with a
 * change of layout becomes old -> new at the release and new -> new at the acquire. What a real device would not bear
 * counts as a fault. */

#define FAMILIES 3
#define MOST 4096
#define GRAPHICS_STAGES                                                                                                \
    (VK_PIPELINE_STAGE_2_ALL_GRAPHICS_BIT | VK_PIPELINE_STAGE_2_VERTEX_SHADER_BIT |                                    \
     VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT | VK_PIPELINE_STAGE_2_EARLY_FRAGMENT_TESTS_BIT |                          \
     VK_PIPELINE_STAGE_2_LATE_FRAGMENT_TESTS_BIT | VK_PIPELINE_STAGE_2_COLOR_ATTACHMENT_OUTPUT_BIT |                   \
     VK_PIPELINE_STAGE_2_INDEX_INPUT_BIT | VK_PIPELINE_STAGE_2_VERTEX_ATTRIBUTE_INPUT_BIT)

static struct {
    void *fake_queues[FAMILIES];
    VkQueue real_queue;
    unsigned faults, transfers[2];
    pthread_mutex_t lock;
    struct {
        void *handle;
        uint32_t family;
    } owned[MOST]; /* pools and command buffers */
    uint32_t owned_count;
    unsigned submits[FAMILIES];
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void fault(const char *what)
{
    state.faults++;
    fprintf(stderr, "families: %s\n", what);
}

static void own(void *handle, uint32_t family)
{
    pthread_mutex_lock(&state.lock);
    uint32_t at = 0;
    while (at < state.owned_count && state.owned[at].handle != handle)
        at++;
    if (at == MOST)
        abort(); /* the table is too small for this test */
    if (at == state.owned_count)
        state.owned_count++;
    state.owned[at].handle = handle;
    state.owned[at].family = family;
    pthread_mutex_unlock(&state.lock);
}

static uint32_t owner(void *handle)
{
    uint32_t family = UINT32_MAX;
    pthread_mutex_lock(&state.lock);
    for (uint32_t i = 0; i < state.owned_count; i++) {
        if (state.owned[i].handle == handle)
            family = state.owned[i].family;
    }
    pthread_mutex_unlock(&state.lock);
    return family;
}

unsigned hdt_vk_family_faults(void)
{
    if (state.transfers[0] != state.transfers[1])
        fault("releases and acquires do not pair");
    return state.faults;
}

unsigned hdt_vk_family_submits(uint32_t family)
{
    return state.submits[family];
}

unsigned hdt_vk_family_transfers(void)
{
    return state.transfers[1];
}

/* ---- instance level ---- */

static PFN_vkCreateDevice real_create_device;

static void VKAPI_PTR families_properties(VkPhysicalDevice device, uint32_t *count, VkQueueFamilyProperties *out)
{
    static const VkQueueFlags flags[FAMILIES] = {
        VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT,
        VK_QUEUE_TRANSFER_BIT,
        VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT,
    };
    (void)device;
    for (uint32_t f = 0; out && f < FAMILIES && f < *count; f++)
        out[f] = (VkQueueFamilyProperties){.queueFlags = flags[f],
                                           .queueCount = 1,
                                           .timestampValidBits = 64,
                                           .minImageTransferGranularity = {1, 1, 1}};
    *count = FAMILIES;
}

static VkResult VKAPI_PTR families_create_device(VkPhysicalDevice device, const VkDeviceCreateInfo *info,
                                                 const VkAllocationCallbacks *memory, VkDevice *out)
{
    VkDeviceCreateInfo one = *info;
    state.owned_count = 0; /* one device at a time: handles of the last one mean nothing */
    VkDeviceQueueCreateInfo queue = info->pQueueCreateInfos[0];
    queue.queueFamilyIndex = 0;
    queue.queueCount = 1;
    one.queueCreateInfoCount = 1;
    one.pQueueCreateInfos = &queue;
    return real_create_device(device, &one, memory, out);
}

PFN_vkVoidFunction hdt_vk_family_instance(const char *name, PFN_vkVoidFunction real)
{
    if (strcmp(name, "vkGetPhysicalDeviceQueueFamilyProperties") == 0)
        return (PFN_vkVoidFunction)families_properties;
    if (strcmp(name, "vkCreateDevice") == 0) {
        real_create_device = (PFN_vkCreateDevice)real;
        return (PFN_vkVoidFunction)families_create_device;
    }
    return real;
}

/* ---- device level ---- */

static PFN_vkGetDeviceQueue real_vkGetDeviceQueue;
static void VKAPI_PTR family_vkGetDeviceQueue(VkDevice device, uint32_t family, uint32_t index, VkQueue *out)
{
    (void)index;
    real_vkGetDeviceQueue(device, 0, 0, &state.real_queue);
    *out = (VkQueue)&state.fake_queues[family];
}

static PFN_vkCreateCommandPool real_vkCreateCommandPool;
static VkResult VKAPI_PTR family_vkCreateCommandPool(VkDevice device, const VkCommandPoolCreateInfo *info,
                                                     const VkAllocationCallbacks *memory, VkCommandPool *out)
{
    VkCommandPoolCreateInfo zero = *info;
    zero.queueFamilyIndex = 0;
    VkResult result = real_vkCreateCommandPool(device, &zero, memory, out);
    own((void *)*out, info->queueFamilyIndex);
    return result;
}

static PFN_vkAllocateCommandBuffers real_vkAllocateCommandBuffers;
static VkResult VKAPI_PTR family_vkAllocateCommandBuffers(VkDevice device, const VkCommandBufferAllocateInfo *info,
                                                          VkCommandBuffer *out)
{
    VkResult result = real_vkAllocateCommandBuffers(device, info, out);
    for (uint32_t i = 0; i < info->commandBufferCount && result == VK_SUCCESS; i++)
        own(out[i], owner((void *)info->commandPool));
    return result;
}

static PFN_vkCreateImage real_vkCreateImage;
static VkResult VKAPI_PTR family_vkCreateImage(VkDevice device, const VkImageCreateInfo *info,
                                               const VkAllocationCallbacks *memory, VkImage *out)
{
    VkImageCreateInfo mine = *info;
    mine.sharingMode = VK_SHARING_MODE_EXCLUSIVE;
    return real_vkCreateImage(device, &mine, memory, out);
}

static PFN_vkCreateBuffer real_vkCreateBuffer;
static VkResult VKAPI_PTR family_vkCreateBuffer(VkDevice device, const VkBufferCreateInfo *info,
                                                const VkAllocationCallbacks *memory, VkBuffer *out)
{
    VkBufferCreateInfo mine = *info;
    mine.sharingMode = VK_SHARING_MODE_EXCLUSIVE;
    return real_vkCreateBuffer(device, &mine, memory, out);
}

static PFN_vkGetDeviceImageMemoryRequirements real_vkGetDeviceImageMemoryRequirements;
static void VKAPI_PTR family_vkGetDeviceImageMemoryRequirements(VkDevice device,
                                                                const VkDeviceImageMemoryRequirements *info,
                                                                VkMemoryRequirements2 *out)
{
    VkDeviceImageMemoryRequirements mine = *info;
    VkImageCreateInfo image = *info->pCreateInfo;
    image.sharingMode = VK_SHARING_MODE_EXCLUSIVE;
    mine.pCreateInfo = &image;
    real_vkGetDeviceImageMemoryRequirements(device, &mine, out);
}

static PFN_vkGetDeviceBufferMemoryRequirements real_vkGetDeviceBufferMemoryRequirements;
static void VKAPI_PTR family_vkGetDeviceBufferMemoryRequirements(VkDevice device,
                                                                 const VkDeviceBufferMemoryRequirements *info,
                                                                 VkMemoryRequirements2 *out)
{
    VkDeviceBufferMemoryRequirements mine = *info;
    VkBufferCreateInfo buffer = *info->pCreateInfo;
    buffer.sharingMode = VK_SHARING_MODE_EXCLUSIVE;
    mine.pCreateInfo = &buffer;
    real_vkGetDeviceBufferMemoryRequirements(device, &mine, out);
}

static void check_stages(uint32_t family, VkPipelineStageFlags2 stages)
{
    if (family != 0 && stages & GRAPHICS_STAGES)
        fault("a barrier names graphics stages on a queue without graphics");
    if (family == 1 && stages & (VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_2_DRAW_INDIRECT_BIT))
        fault("a barrier names compute stages on a transfer queue");
}

/* Which half of an ownership transfer a barrier is on a queue of family: 0 none, 1 release, 2 acquire. */
static int half_of(uint32_t family, uint32_t from, uint32_t to)
{
    if (from == to)
        return 0;
    if (family != from && family != to)
        fault("an ownership transfer on a queue of neither family");
    state.transfers[family == to]++;
    return family == from ? 1 : 2;
}

static PFN_vkCmdPipelineBarrier2 real_vkCmdPipelineBarrier2;
static void VKAPI_PTR family_vkCmdPipelineBarrier2(VkCommandBuffer commands, const VkDependencyInfo *info)
{
    uint32_t family = owner(commands);
    VkDependencyInfo mine = *info;
    VkBufferMemoryBarrier2 *buffers = calloc(info->bufferMemoryBarrierCount + 1, sizeof(*buffers));
    VkImageMemoryBarrier2 *images = calloc(info->imageMemoryBarrierCount + 1, sizeof(*images));
    pthread_mutex_lock(&state.lock);
    for (uint32_t i = 0; i < info->memoryBarrierCount; i++)
        check_stages(family, info->pMemoryBarriers[i].srcStageMask | info->pMemoryBarriers[i].dstStageMask);
    for (uint32_t i = 0; i < info->bufferMemoryBarrierCount; i++) {
        buffers[i] = info->pBufferMemoryBarriers[i];
        int half = half_of(family, buffers[i].srcQueueFamilyIndex, buffers[i].dstQueueFamilyIndex);
        check_stages(family, (half == 2 ? 0 : buffers[i].srcStageMask) | (half == 1 ? 0 : buffers[i].dstStageMask));
        buffers[i].srcQueueFamilyIndex = buffers[i].dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
    }
    for (uint32_t i = 0; i < info->imageMemoryBarrierCount; i++) {
        images[i] = info->pImageMemoryBarriers[i];
        int half = half_of(family, images[i].srcQueueFamilyIndex, images[i].dstQueueFamilyIndex);
        check_stages(family, (half == 2 ? 0 : images[i].srcStageMask) | (half == 1 ? 0 : images[i].dstStageMask));
        if (half == 2)
            images[i].oldLayout = images[i].newLayout;
        images[i].srcQueueFamilyIndex = images[i].dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
    }
    pthread_mutex_unlock(&state.lock);
    mine.pBufferMemoryBarriers = buffers;
    mine.pImageMemoryBarriers = images;
    real_vkCmdPipelineBarrier2(commands, &mine);
    free(buffers);
    free(images);
}

static PFN_vkQueueSubmit2 real_vkQueueSubmit2;
static VkResult VKAPI_PTR family_vkQueueSubmit2(VkQueue queue, uint32_t count, const VkSubmitInfo2 *submits,
                                                VkFence fence)
{
    uint32_t family = (uint32_t)((void **)queue - state.fake_queues);
    if (family >= FAMILIES) {
        fault("a submit to no queue");
        return VK_ERROR_UNKNOWN;
    }
    state.submits[family] += count;
    for (uint32_t s = 0; s < count; s++) {
        for (uint32_t b = 0; b < submits[s].commandBufferInfoCount; b++) {
            if (owner(submits[s].pCommandBufferInfos[b].commandBuffer) != family)
                fault("a command buffer of a pool of another family");
        }
        for (uint32_t w = 0; w < submits[s].waitSemaphoreInfoCount; w++)
            check_stages(family, submits[s].pWaitSemaphoreInfos[w].stageMask);
        for (uint32_t g = 0; g < submits[s].signalSemaphoreInfoCount; g++)
            check_stages(family, submits[s].pSignalSemaphoreInfos[g].stageMask);
    }
    if (hdt_vk_order_on() && fence == VK_NULL_HANDLE)
        return hdt_vk_order_submit(real_vkQueueSubmit2, state.real_queue, family, count, submits);
    return real_vkQueueSubmit2(state.real_queue, count, submits, fence);
}

#define REPLACED(X)                                                                                                    \
    X(vkGetDeviceQueue)                                                                                                \
    X(vkCreateCommandPool)                                                                                             \
    X(vkAllocateCommandBuffers)                                                                                        \
    X(vkCreateImage)                                                                                                   \
    X(vkCreateBuffer)                                                                                                  \
    X(vkGetDeviceImageMemoryRequirements)                                                                              \
    X(vkGetDeviceBufferMemoryRequirements)                                                                             \
    X(vkCmdPipelineBarrier2)                                                                                           \
    X(vkQueueSubmit2)

PFN_vkVoidFunction hdt_vk_family_device(const char *name, PFN_vkVoidFunction real)
{
#define REPLACE(hooked)                                                                                                \
    if (strcmp(name, #hooked) == 0) {                                                                                  \
        real_##hooked = (PFN_##hooked)real;                                                                            \
        return (PFN_vkVoidFunction)family_##hooked;                                                                    \
    }
    REPLACED(REPLACE)
    return hdt_vk_order_device(name, real);
}
