#include <criterion/criterion.h>

#include <heddle/capture.h>
#include <pthread.h>
#include <string.h>

#include "limited.h"
#include "vk_fixture.h"

/* An engine's own commands under the capture: no pass of heddle's, only what the Vulkan calls tell. Each case is
 * recorded and submitted for real, once as it should be and once with something left out. */

enum { BYTES = 256 };

#define FUNCTIONS(X)                                                                                                   \
    X(vkGetDeviceQueue)                                                                                                \
    X(vkCreateBuffer)                                                                                                  \
    X(vkDestroyBuffer)                                                                                                 \
    X(vkCreateImage)                                                                                                   \
    X(vkDestroyImage)                                                                                                  \
    X(vkGetBufferMemoryRequirements)                                                                                   \
    X(vkGetImageMemoryRequirements)                                                                                    \
    X(vkAllocateMemory)                                                                                                \
    X(vkFreeMemory)                                                                                                    \
    X(vkBindBufferMemory2)                                                                                             \
    X(vkBindImageMemory2)                                                                                              \
    X(vkCreateCommandPool)                                                                                             \
    X(vkDestroyCommandPool)                                                                                            \
    X(vkAllocateCommandBuffers)                                                                                        \
    X(vkBeginCommandBuffer)                                                                                            \
    X(vkEndCommandBuffer)                                                                                              \
    X(vkCmdFillBuffer)                                                                                                 \
    X(vkCmdUpdateBuffer)                                                                                               \
    X(vkCmdCopyBuffer2)                                                                                                \
    X(vkCmdClearColorImage)                                                                                            \
    X(vkCmdCopyImageToBuffer2)                                                                                         \
    X(vkCmdPipelineBarrier)                                                                                            \
    X(vkCmdSetEvent2)                                                                                                  \
    X(vkCmdWaitEvents2)                                                                                                \
    X(vkCmdExecuteCommands)                                                                                            \
    X(vkCreateEvent)                                                                                                   \
    X(vkDestroyEvent)                                                                                                  \
    X(vkCreateFence)                                                                                                   \
    X(vkDestroyFence)                                                                                                  \
    X(vkWaitForFences)                                                                                                 \
    X(vkGetFenceStatus)                                                                                                \
    X(vkCreateSemaphore)                                                                                               \
    X(vkDestroySemaphore)                                                                                              \
    X(vkQueueSubmit)                                                                                                   \
    X(vkQueueWaitIdle)                                                                                                 \
    X(vkDeviceWaitIdle)

static struct {
#define MEMBER(name) PFN_##name name;
    FUNCTIONS(MEMBER)
    hd_vk *vk;
    VkDevice device;
    VkQueue queue;
    VkBuffer a, b;
    VkImage image;
    VkDeviceMemory memory;
    VkCommandPool pool;
    VkCommandBuffer first, second, part;
    VkFence fence;
    VkEvent event;
    VkSemaphore semaphore;
    hdt_limited limited; /* what the capture allocates */
} e;

static void make_resources(void)
{
    VkBufferCreateInfo buffer = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                 .size = BYTES,
                                 .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    VkImageCreateInfo image = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                               .imageType = VK_IMAGE_TYPE_2D,
                               .format = VK_FORMAT_R8G8B8A8_UNORM,
                               .extent = {4, 4, 1},
                               .mipLevels = 1,
                               .arrayLayers = 1,
                               .samples = VK_SAMPLE_COUNT_1_BIT,
                               .usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT};
    cr_assert_eq(e.vkCreateBuffer(e.device, &buffer, NULL, &e.a), VK_SUCCESS);
    cr_assert_eq(e.vkCreateBuffer(e.device, &buffer, NULL, &e.b), VK_SUCCESS);
    cr_assert_eq(e.vkCreateImage(e.device, &image, NULL, &e.image), VK_SUCCESS);
    VkMemoryRequirements need;
    e.vkGetImageMemoryRequirements(e.device, e.image, &need);
    VkMemoryAllocateInfo memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                   .allocationSize = need.size + 65536};
    cr_assert_eq(e.vkAllocateMemory(e.device, &memory, NULL, &e.memory), VK_SUCCESS);
    VkBindBufferMemoryInfo places[2] = {{VK_STRUCTURE_TYPE_BIND_BUFFER_MEMORY_INFO, NULL, e.a, e.memory, 0},
                                        {VK_STRUCTURE_TYPE_BIND_BUFFER_MEMORY_INFO, NULL, e.b, e.memory, 4096}};
    VkBindImageMemoryInfo place = {VK_STRUCTURE_TYPE_BIND_IMAGE_MEMORY_INFO, NULL, e.image, e.memory, 65536};
    cr_assert_eq(e.vkBindBufferMemory2(e.device, 2, places), VK_SUCCESS);
    cr_assert_eq(e.vkBindImageMemory2(e.device, 1, &place), VK_SUCCESS);
}

static bool by_time; /* of the capture that is opened next */

static void open_engine(void)
{
    memset(&e, 0, sizeof(e));
    hdt_vk_keep_libraries();
    cr_assert_eq(
        hd_capture_open(&(hd_capture_desc){.allocator = hdt_limited_allocator(&e.limited), .order_by_time = by_time}),
        HD_OK);
    cr_assert_eq(hd_capture_open(NULL), HD_INVALID_ARGUMENT, "one at a time");
    static const hd_queue_kind one[] = {HD_QUEUE_GFX};
    hd_result result = hd_vk_create(
        &(hd_vk_desc){.get_instance_proc = hd_capture_get_instance_proc, .queue_kinds = one, .queue_kind_count = 1},
        &e.vk);
    if (hdt_vk_none(result)) {
        hd_capture_close();
        cr_skip_test("no Vulkan 1.3 device");
    }
    cr_assert_eq(result, HD_OK);
    hd_vk_info info;
    hd_vk_info_get(e.vk, &info);
    e.device = info.device;
#define LOAD(name)                                                                                                     \
    e.name = (PFN_##name)info.get_instance_proc(info.instance, #name);                                                 \
    cr_assert(e.name, #name);
    FUNCTIONS(LOAD)
    e.vkGetDeviceQueue(e.device, info.queues[0].family, 0, &e.queue);
    make_resources();
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                    .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                    .queueFamilyIndex = info.queues[0].family};
    cr_assert_eq(e.vkCreateCommandPool(e.device, &pool, NULL, &e.pool), VK_SUCCESS);
    VkCommandBufferAllocateInfo allocate = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = e.pool, .commandBufferCount = 1};
    cr_assert_eq(e.vkAllocateCommandBuffers(e.device, &allocate, &e.first), VK_SUCCESS);
    cr_assert_eq(e.vkAllocateCommandBuffers(e.device, &allocate, &e.second), VK_SUCCESS);
    allocate.level = VK_COMMAND_BUFFER_LEVEL_SECONDARY;
    cr_assert_eq(e.vkAllocateCommandBuffers(e.device, &allocate, &e.part), VK_SUCCESS);
    VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VkEventCreateInfo event = {.sType = VK_STRUCTURE_TYPE_EVENT_CREATE_INFO};
    VkSemaphoreCreateInfo semaphore = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
    cr_assert_eq(e.vkCreateFence(e.device, &fence, NULL, &e.fence), VK_SUCCESS);
    cr_assert_eq(e.vkCreateEvent(e.device, &event, NULL, &e.event), VK_SUCCESS);
    cr_assert_eq(e.vkCreateSemaphore(e.device, &semaphore, NULL, &e.semaphore), VK_SUCCESS);
    cr_assert_eq(hd_capture_begin(), HD_OK);
    cr_assert_eq(hd_capture_begin(), HD_INVALID_ARGUMENT, "it has begun");
}

static void take(const char *text, void *user)
{
    char *first = user;
    if (!first[0])
        snprintf(first, 800, "%s", text);
}

/* sentence: what the first finding begins with; null: clean. */
static void close_engine(const char *sentence)
{
    hd_stream *stream = NULL;
    e.vkDeviceWaitIdle(e.device);
    cr_assert_eq(hd_capture_end(&stream), HD_OK);
    cr_assert_eq(hd_capture_end(&(hd_stream *){NULL}), HD_INVALID_ARGUMENT);
    e.vkDestroyFence(e.device, e.fence, NULL);
    e.vkDestroyEvent(e.device, e.event, NULL);
    e.vkDestroySemaphore(e.device, e.semaphore, NULL);
    e.vkDestroyCommandPool(e.device, e.pool, NULL);
    e.vkDestroyBuffer(e.device, e.a, NULL);
    e.vkDestroyBuffer(e.device, e.b, NULL);
    e.vkDestroyImage(e.device, e.image, NULL);
    e.vkFreeMemory(e.device, e.memory, NULL);
    hd_vk_destroy(e.vk);
    hd_capture_close();
    char first[800] = "";
    hd_result result = hd_stream_verify(stream, &(hd_verify_desc){.message = take, .user = first});
    cr_expect_eq(result, sentence ? HD_PLAN_INVALID : HD_OK);
    cr_expect(sentence ? strncmp(first, sentence, strlen(sentence)) == 0 : !first[0], "'%s', not '%s'", first,
              sentence ? sentence : "");
    hd_stream_free(stream);
    cr_expect(e.limited.out == 0 && e.limited.wrong == 0);
}

static void begin(VkCommandBuffer commands)
{
    VkCommandBufferInheritanceInfo inherits = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO};
    VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                     .pInheritanceInfo = &inherits};
    cr_assert_eq(e.vkBeginCommandBuffer(commands, &info), VK_SUCCESS);
}

static void fill(VkCommandBuffer commands)
{
    e.vkCmdFillBuffer(commands, e.a, 0, VK_WHOLE_SIZE, 7);
}

static void copy(VkCommandBuffer commands)
{
    VkBufferCopy2 region = {.sType = VK_STRUCTURE_TYPE_BUFFER_COPY_2, .size = BYTES};
    VkCopyBufferInfo2 info = {VK_STRUCTURE_TYPE_COPY_BUFFER_INFO_2, NULL, e.a, e.b, 1, &region};
    e.vkCmdCopyBuffer2(commands, &info);
}

static void barrier(VkCommandBuffer commands, VkPipelineStageFlags from, VkAccessFlags access)
{
    VkMemoryBarrier shown = {VK_STRUCTURE_TYPE_MEMORY_BARRIER, NULL, access, VK_ACCESS_TRANSFER_READ_BIT};
    e.vkCmdPipelineBarrier(commands, from, VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 1, &shown, 0, NULL, 0, NULL);
}

static void submit(VkCommandBuffer commands, VkSemaphore wait, VkSemaphore signal, VkFence fence)
{
    VkPipelineStageFlags all = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                         .waitSemaphoreCount = wait != VK_NULL_HANDLE,
                         .pWaitSemaphores = &wait,
                         .pWaitDstStageMask = &all,
                         .commandBufferCount = 1,
                         .pCommandBuffers = &commands,
                         .signalSemaphoreCount = signal != VK_NULL_HANDLE,
                         .pSignalSemaphores = &signal};
    e.vkEndCommandBuffer(commands);
    cr_assert_eq(e.vkQueueSubmit(e.queue, 1, &info, fence), VK_SUCCESS);
}

/* A copy of what was filled, with or without a barrier. */
static void one_submit(bool good)
{
    open_engine();
    begin(e.first);
    fill(e.first);
    if (good)
        barrier(e.first, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT);
    copy(e.first);
    submit(e.first, VK_NULL_HANDLE, VK_NULL_HANDLE, VK_NULL_HANDLE);
    close_engine(good ? NULL
                      : "race on buffer 0 '': vkCmdFillBuffer (command 0 of submit 0, queue 0, frame 0) writes, "
                        "vkCmdCopyBuffer2 (command 1 of submit 0, queue 0, frame 0) reads: no execution chain");
}

Test(capture_own, barriers)
{
    one_submit(true);
    one_submit(false);
}

typedef enum between {
    NOTHING,
    FENCE,
    POLLED,
    QUEUE_IDLE,
    DEVICE_IDLE,
    SEMAPHORE,
    OTHER_THREAD,
    OTHER_THREAD_BY_TIME
} between;

static void *idle(void *user)
{
    (void)user;
    e.vkQueueWaitIdle(e.queue);
    return NULL;
}

static void two_submits(between how)
{
    by_time = how == OTHER_THREAD_BY_TIME;
    open_engine();
    begin(e.first);
    fill(e.first);
    submit(e.first, VK_NULL_HANDLE, how == SEMAPHORE ? e.semaphore : VK_NULL_HANDLE, e.fence);
    pthread_t thread;
    if (how == FENCE)
        e.vkWaitForFences(e.device, 1, &e.fence, VK_TRUE, UINT64_MAX);
    while (how == POLLED && e.vkGetFenceStatus(e.device, e.fence) != VK_SUCCESS)
        ;
    if (how == QUEUE_IDLE)
        e.vkQueueWaitIdle(e.queue);
    if (how == DEVICE_IDLE)
        e.vkDeviceWaitIdle(e.device);
    if (how >= OTHER_THREAD && pthread_create(&thread, NULL, idle, NULL) == 0)
        pthread_join(thread, NULL);
    begin(e.second);
    copy(e.second);
    submit(e.second, how == SEMAPHORE ? e.semaphore : VK_NULL_HANDLE, VK_NULL_HANDLE, VK_NULL_HANDLE);
    close_engine(how == NOTHING || how == OTHER_THREAD ? "race on buffer 0" : NULL);
}

Test(capture_own, submits)
{
    for (int how = NOTHING; how <= OTHER_THREAD_BY_TIME; how++)
        two_submits((between)how);
}

static void split(bool good)
{
    open_engine();
    VkMemoryBarrier2 shown = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
                              .srcStageMask = VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT,
                              .srcAccessMask = VK_ACCESS_2_TRANSFER_WRITE_BIT,
                              .dstStageMask = VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT,
                              .dstAccessMask = VK_ACCESS_2_TRANSFER_READ_BIT};
    VkDependencyInfo info = {
        .sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO, .memoryBarrierCount = 1, .pMemoryBarriers = &shown};
    begin(e.first);
    if (good)
        fill(e.first);
    e.vkCmdSetEvent2(e.first, e.event, &info);
    if (!good)
        fill(e.first);
    e.vkCmdWaitEvents2(e.first, 1, &e.event, &info);
    copy(e.first);
    submit(e.first, VK_NULL_HANDLE, VK_NULL_HANDLE, VK_NULL_HANDLE);
    close_engine(good ? NULL : "race on buffer 0");
}

Test(capture_own, events)
{
    split(true);
    split(false);
}

/* A secondary command buffer fills; a shader that only the engine knows of writes. */
static void told(bool good)
{
    open_engine();
    begin(e.part);
    fill(e.part);
    e.vkEndCommandBuffer(e.part);
    begin(e.first);
    e.vkCmdExecuteCommands(e.first, 1, &e.part);
    if (good)
        barrier(e.first, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT);
    copy(e.first);
    hd_capture_buffer(e.first, e.a, 0, VK_WHOLE_SIZE, VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT,
                      VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT);
    submit(e.first, VK_NULL_HANDLE, VK_NULL_HANDLE, VK_NULL_HANDLE);
    close_engine(good ? "race on buffer 0 '': vkCmdFillBuffer (command 0 of submit 0, queue 0, frame 0) writes, "
                        "hd_capture_buffer (command 3"
                      : "race on buffer 0 '': vkCmdFillBuffer");
}

Test(capture_own, secondary_and_told)
{
    told(true);
    told(false);
}

static void picture(VkImageLayout from, const char *sentence)
{
    open_engine();
    VkImageSubresourceRange whole = {VK_IMAGE_ASPECT_COLOR_BIT, 0, VK_REMAINING_MIP_LEVELS, 0,
                                     VK_REMAINING_ARRAY_LAYERS};
    VkImageMemoryBarrier opens = {.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
                                  .dstAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
                                  .newLayout = VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL,
                                  .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                  .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                  .image = e.image,
                                  .subresourceRange = whole};
    VkImageMemoryBarrier turns = opens;
    turns.srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
    turns.dstAccessMask = VK_ACCESS_TRANSFER_READ_BIT;
    turns.oldLayout = from;
    turns.newLayout = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;
    const VkPipelineStageFlags transfer = VK_PIPELINE_STAGE_TRANSFER_BIT;
    begin(e.first);
    e.vkCmdPipelineBarrier(e.first, transfer, transfer, 0, 0, NULL, 0, NULL, 1, &opens);
    e.vkCmdClearColorImage(e.first, e.image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, &(VkClearColorValue){{1, 0, 0, 1}},
                           1, &whole);
    e.vkCmdPipelineBarrier(e.first, transfer, transfer, 0, 0, NULL, 0, NULL, 1, &turns);
    VkBufferImageCopy2 region = {.sType = VK_STRUCTURE_TYPE_BUFFER_IMAGE_COPY_2,
                                 .imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                 .imageExtent = {4, 4, 1}};
    VkCopyImageToBufferInfo2 info = {VK_STRUCTURE_TYPE_COPY_IMAGE_TO_BUFFER_INFO_2,
                                     NULL,
                                     e.image,
                                     VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL,
                                     e.b,
                                     1,
                                     &region};
    e.vkCmdCopyImageToBuffer2(e.first, &info);
    e.vkCmdUpdateBuffer(e.first, e.b, 64, 4, "word"); /* behind the 64 bytes of the image */
    submit(e.first, VK_NULL_HANDLE, VK_NULL_HANDLE, VK_NULL_HANDLE);
    close_engine(sentence);
}

Test(capture_own, images)
{
    picture(VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, NULL);
    picture(VK_IMAGE_LAYOUT_GENERAL, "layout: vkCmdPipelineBarrier");
    picture(VK_IMAGE_LAYOUT_UNDEFINED, "content: vkCmdCopyImageToBuffer2");
}

/* The engine goes on; the capture says that it is not whole. */
Test(capture_own, no_memory, .timeout = 60)
{
    unsigned failed = 0;
    for (uint64_t at = 3;; at += 1 + at / 3) {
        hd_stream *stream = NULL;
        open_engine();
        e.limited.fail_at = e.limited.made + at;
        begin(e.first);
        fill(e.first);
        barrier(e.first, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT);
        copy(e.first);
        submit(e.first, VK_NULL_HANDLE, VK_NULL_HANDLE, VK_NULL_HANDLE);
        cr_assert_eq(e.vkQueueWaitIdle(e.queue), VK_SUCCESS);
        hd_result result = hd_capture_end(&stream);
        e.limited.fail_at = 0;
        cr_expect_eq(stream == NULL, result != HD_OK);
        hd_stream_free(stream);
        cr_assert_eq(hd_capture_begin(), HD_OK, "the next one works");
        close_engine(NULL);
        if (result == HD_OK)
            break;
        cr_assert_eq(result, HD_OUT_OF_MEMORY);
        failed++;
    }
    cr_expect(failed > 2);
}
