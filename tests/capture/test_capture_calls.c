#include <criterion/criterion.h>

#include <heddle/capture.h>
#include <stdlib.h>
#include <string.h>

/* Each call that a capture knows, on a device that does nothing: which accesses it becomes. */

#pragma GCC diagnostic ignored "-Wunused-parameter"

/* ---- a device that does nothing ---- */

static uintptr_t handles = 16;

#define CREATE(name, info_type, handle_type)                                                                           \
    static VkResult VKAPI_PTR fake_##name(VkDevice d, const info_type *info, const VkAllocationCallbacks *a,           \
                                          handle_type *out)                                                            \
    {                                                                                                                  \
        *out = (handle_type)++handles;                                                                                 \
        return VK_SUCCESS;                                                                                             \
    }
CREATE(vkCreateImage, VkImageCreateInfo, VkImage)
CREATE(vkCreateBuffer, VkBufferCreateInfo, VkBuffer)
CREATE(vkCreateImageView, VkImageViewCreateInfo, VkImageView)
CREATE(vkAllocateMemory, VkMemoryAllocateInfo, VkDeviceMemory)
CREATE(vkCreateSemaphore, VkSemaphoreCreateInfo, VkSemaphore)
CREATE(vkCreateFence, VkFenceCreateInfo, VkFence)

#define NOTHING(name, ...)                                                                                             \
    static void VKAPI_PTR fake_##name(VkCommandBuffer c, __VA_ARGS__)                                                  \
    {                                                                                                                  \
    }
#define SUCCESS(name, ...)                                                                                             \
    static VkResult VKAPI_PTR fake_##name(__VA_ARGS__)                                                                 \
    {                                                                                                                  \
        return VK_SUCCESS;                                                                                             \
    }
NOTHING(vkCmdCopyBuffer, VkBuffer a, VkBuffer b, uint32_t n, const VkBufferCopy *r)
NOTHING(vkCmdCopyBuffer2, const VkCopyBufferInfo2 *i)
NOTHING(vkCmdCopyImage, VkImage a, VkImageLayout x, VkImage b, VkImageLayout y, uint32_t n, const VkImageCopy *r)
NOTHING(vkCmdCopyImage2, const VkCopyImageInfo2 *i)
NOTHING(vkCmdResolveImage, VkImage a, VkImageLayout x, VkImage b, VkImageLayout y, uint32_t n, const VkImageResolve *r)
NOTHING(vkCmdResolveImage2, const VkResolveImageInfo2 *i)
NOTHING(vkCmdBlitImage, VkImage a, VkImageLayout x, VkImage b, VkImageLayout y, uint32_t n, const VkImageBlit *r,
        VkFilter f)
NOTHING(vkCmdBlitImage2, const VkBlitImageInfo2 *i)
NOTHING(vkCmdCopyBufferToImage, VkBuffer a, VkImage b, VkImageLayout y, uint32_t n, const VkBufferImageCopy *r)
NOTHING(vkCmdCopyBufferToImage2, const VkCopyBufferToImageInfo2 *i)
NOTHING(vkCmdCopyImageToBuffer, VkImage a, VkImageLayout y, VkBuffer b, uint32_t n, const VkBufferImageCopy *r)
NOTHING(vkCmdCopyImageToBuffer2, const VkCopyImageToBufferInfo2 *i)
NOTHING(vkCmdFillBuffer, VkBuffer a, VkDeviceSize o, VkDeviceSize s, uint32_t w)
NOTHING(vkCmdUpdateBuffer, VkBuffer a, VkDeviceSize o, VkDeviceSize s, const void *p)
NOTHING(vkCmdCopyQueryPoolResults, VkQueryPool p, uint32_t f, uint32_t n, VkBuffer b, VkDeviceSize o, VkDeviceSize s,
        VkQueryResultFlags x)
NOTHING(vkCmdClearDepthStencilImage, VkImage a, VkImageLayout y, const VkClearDepthStencilValue *v, uint32_t n,
        const VkImageSubresourceRange *r)
NOTHING(vkCmdBindVertexBuffers, uint32_t f, uint32_t n, const VkBuffer *b, const VkDeviceSize *o)
NOTHING(vkCmdBindVertexBuffers2, uint32_t f, uint32_t n, const VkBuffer *b, const VkDeviceSize *o,
        const VkDeviceSize *s, const VkDeviceSize *t)
NOTHING(vkCmdBindIndexBuffer, VkBuffer b, VkDeviceSize o, VkIndexType t)
NOTHING(vkCmdDraw, uint32_t n, uint32_t i, uint32_t f, uint32_t g)
NOTHING(vkCmdDrawIndexed, uint32_t n, uint32_t i, uint32_t f, int32_t v, uint32_t g)
NOTHING(vkCmdDrawIndirect, VkBuffer b, VkDeviceSize o, uint32_t n, uint32_t s)
NOTHING(vkCmdDrawIndexedIndirect, VkBuffer b, VkDeviceSize o, uint32_t n, uint32_t s)
NOTHING(vkCmdDrawIndirectCount, VkBuffer b, VkDeviceSize o, VkBuffer c2, VkDeviceSize p, uint32_t n, uint32_t s)
NOTHING(vkCmdDrawIndexedIndirectCount, VkBuffer b, VkDeviceSize o, VkBuffer c2, VkDeviceSize p, uint32_t n, uint32_t s)
NOTHING(vkCmdDispatchIndirect, VkBuffer b, VkDeviceSize o)
NOTHING(vkCmdBeginRendering, const VkRenderingInfo *i)
NOTHING(vkCmdExecuteCommands, uint32_t n, const VkCommandBuffer *p)
NOTHING(vkCmdBeginDebugUtilsLabelEXT, const VkDebugUtilsLabelEXT *i)
NOTHING(vkCmdBeginRenderPass, const VkRenderPassBeginInfo *i, VkSubpassContents s)
NOTHING(vkCmdPipelineBarrier, VkPipelineStageFlags s, VkPipelineStageFlags d, VkDependencyFlags f, uint32_t a,
        const VkMemoryBarrier *m, uint32_t b, const VkBufferMemoryBarrier *n, uint32_t e, const VkImageMemoryBarrier *i)
static void VKAPI_PTR fake_vkCmdEndRendering(VkCommandBuffer c)
{
}
static void VKAPI_PTR fake_vkCmdEndDebugUtilsLabelEXT(VkCommandBuffer c)
{
}
static void VKAPI_PTR fake_vkGetImageMemoryRequirements(VkDevice d, VkImage i, VkMemoryRequirements *out)
{
    *out = (VkMemoryRequirements){65536, 65536, 1};
}
SUCCESS(vkBindImageMemory, VkDevice d, VkImage i, VkDeviceMemory m, VkDeviceSize o)
SUCCESS(vkBindBufferMemory, VkDevice d, VkBuffer b, VkDeviceMemory m, VkDeviceSize o)
SUCCESS(vkMapMemory, VkDevice d, VkDeviceMemory m, VkDeviceSize o, VkDeviceSize s, VkMemoryMapFlags f, void **p)
SUCCESS(vkSetDebugUtilsObjectNameEXT, VkDevice d, const VkDebugUtilsObjectNameInfoEXT *i)
SUCCESS(vkQueueSubmit, VkQueue q, uint32_t n, const VkSubmitInfo *i, VkFence f)
SUCCESS(vkQueueSubmit2, VkQueue q, uint32_t n, const VkSubmitInfo2 *i, VkFence f)
SUCCESS(vkQueuePresentKHR, VkQueue q, const VkPresentInfoKHR *i)
SUCCESS(vkAcquireNextImageKHR, VkDevice d, VkSwapchainKHR w, uint64_t t, VkSemaphore s, VkFence f, uint32_t *i)
SUCCESS(vkAcquireNextImage2KHR, VkDevice d, const VkAcquireNextImageInfoKHR *i, uint32_t *n)
SUCCESS(vkGetSemaphoreCounterValue, VkDevice d, VkSemaphore s, uint64_t *v)

#define FAKES(X)                                                                                                       \
    X(vkCreateImage)                                                                                                   \
    X(vkCreateBuffer)                                                                                                  \
    X(vkCreateImageView) X(vkAllocateMemory) X(vkCreateSemaphore) X(vkCreateFence) X(vkCmdCopyBuffer)                  \
        X(vkCmdCopyBuffer2) X(vkCmdCopyImage) X(vkCmdCopyImage2) X(vkCmdResolveImage) X(vkCmdResolveImage2)            \
            X(vkCmdBlitImage) X(vkCmdBlitImage2) X(vkCmdCopyBufferToImage) X(vkCmdCopyBufferToImage2)                  \
                X(vkCmdCopyImageToBuffer) X(vkCmdCopyImageToBuffer2) X(vkCmdFillBuffer) X(vkCmdUpdateBuffer)           \
                    X(vkCmdCopyQueryPoolResults) X(vkCmdClearDepthStencilImage) X(vkCmdBindVertexBuffers)              \
                        X(vkCmdBindVertexBuffers2) X(vkCmdBindIndexBuffer) X(vkCmdDraw) X(vkCmdDrawIndexed)            \
                            X(vkCmdDrawIndirect) X(vkCmdDrawIndexedIndirect) X(vkCmdDrawIndirectCount)                 \
                                X(vkCmdDrawIndexedIndirectCount) X(vkCmdDispatchIndirect) X(vkCmdBeginRendering)       \
                                    X(vkCmdEndRendering) X(vkCmdBeginDebugUtilsLabelEXT) X(vkCmdEndDebugUtilsLabelEXT) \
                                        X(vkCmdExecuteCommands) X(vkCmdBeginRenderPass) X(vkCmdPipelineBarrier)        \
                                            X(vkGetImageMemoryRequirements) X(vkBindImageMemory) X(vkBindBufferMemory) \
                                                X(vkMapMemory) X(vkSetDebugUtilsObjectNameEXT) X(vkQueueSubmit)        \
                                                    X(vkQueueSubmit2) X(vkQueuePresentKHR) X(vkAcquireNextImageKHR)    \
                                                        X(vkAcquireNextImage2KHR) X(vkGetSemaphoreCounterValue)

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
#define QUEUE ((VkQueue)(uintptr_t)2)
#define DEVICE ((VkDevice)(uintptr_t)3)
#define CALL(function) ((PFN_##function)hd_capture_get_instance_proc(NULL, #function))
#define SRC VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL
#define DST VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL

static VkBuffer a, b;
static VkImage color, depth;
static const VkImageSubresourceLayers level = {VK_IMAGE_ASPECT_COLOR_BIT, 1, 2, 3};

static VkImage make_image(VkFormat format, uint32_t mips, uint32_t layers)
{
    VkImage out;
    VkDeviceMemory memory;
    CALL(vkCreateImage)
    (DEVICE, &(VkImageCreateInfo){.format = format, .mipLevels = mips, .arrayLayers = layers}, NULL, &out);
    CALL(vkAllocateMemory)(DEVICE, &(VkMemoryAllocateInfo){.allocationSize = 1 << 20}, NULL, &memory);
    CALL(vkBindImageMemory)(DEVICE, out, memory, 0);
    return out;
}

static void open_fake(void)
{
    cr_assert_eq(hd_capture_open(&(hd_capture_desc){.get_instance_proc = fake_proc}), HD_OK);
    cr_assert_eq(hd_capture_begin(), HD_OK);
    CALL(vkCreateBuffer)(DEVICE, &(VkBufferCreateInfo){.size = 4096}, NULL, &a);
    CALL(vkCreateBuffer)
    (DEVICE, &(VkBufferCreateInfo){.size = 4096, .sharingMode = VK_SHARING_MODE_CONCURRENT}, NULL, &b);
    VkDeviceMemory memory;
    CALL(vkAllocateMemory)(DEVICE, &(VkMemoryAllocateInfo){.allocationSize = 8192}, NULL, &memory);
    CALL(vkBindBufferMemory)(DEVICE, a, memory, 0);
    CALL(vkBindBufferMemory)(DEVICE, b, memory, 4096);
    void *mapped;
    CALL(vkMapMemory)(DEVICE, memory, 0, VK_WHOLE_SIZE, 0, &mapped);
    CALL(vkSetDebugUtilsObjectNameEXT)
    (DEVICE, &(VkDebugUtilsObjectNameInfoEXT){.objectType = VK_OBJECT_TYPE_BUFFER,
                                              .objectHandle = (uint64_t)(uintptr_t)a,
                                              .pObjectName = "name of a\xff"});
    color = make_image(VK_FORMAT_R8G8B8A8_UNORM, 4, 8);
    depth = make_image(VK_FORMAT_D24_UNORM_S8_UINT, 1, 1);
}

/* The accesses of all commands as text: name: resource range stages/access@layout. */
static char *close_fake(hd_stream **out)
{
    hd_stream *s;
    char *text = NULL;
    size_t bytes;
    VkCommandBuffer commands = COMMANDS;
    CALL(vkQueueSubmit)
    (QUEUE, 1, &(VkSubmitInfo){.commandBufferCount = 1, .pCommandBuffers = &commands}, VK_NULL_HANDLE);
    cr_assert_eq(hd_capture_end(&s), HD_OK);
    hd_capture_close();
    FILE *f = open_memstream(&text, &bytes);
    for (uint32_t i = 0; i < s->command_count; i++) {
        const hd_stream_command *c = &s->commands[i];
        fprintf(f, "%s%s%s:", s->strings[c->name], c->label == HD_NONE ? "" : " ",
                c->label == HD_NONE ? "" : s->strings[c->label]);
        for (uint32_t k = c->begin; k < c->begin + c->count && c->kind == HD_STREAM_ACCESS; k++) {
            const hd_stream_access *x = &s->accesses[k];
            if (s->resources[x->resource].aspects)
                fprintf(f, " i%u %u+%u,%u+%u,%u", x->resource, x->range.mip_base, x->range.mip_count,
                        x->range.layer_base, x->range.layer_count, x->range.aspect);
            else
                fprintf(f, " b%u %u+%u", x->resource, (unsigned)x->range.offset, (unsigned)x->range.bytes);
            fprintf(f, " %llx/%llx", (unsigned long long)x->stages, (unsigned long long)x->access);
            if (x->layout)
                fprintf(f, "@%u", x->layout);
            if (x->box.extent[0])
                fprintf(f, " box %u,%u,%u+%u,%u,%u", x->box.offset[0], x->box.offset[1], x->box.offset[2],
                        x->box.extent[0], x->box.extent[1], x->box.extent[2]);
            fputs(x->flags & HD_STREAM_LOST ? " lost" : "", f);
        }
        fputc('\n', f);
    }
    fclose(f);
    *out = s;
    return text;
}

static void expect_text(const char *text, const char *expected)
{
    cr_expect_str_eq(text, expected, "got:\n%s\nnot:\n%s", text, expected);
}

Test(capture_calls, transfers)
{
    open_fake();
    CALL(vkCmdCopyBuffer)(COMMANDS, a, b, 1, &(VkBufferCopy){16, 32, 64});
    CALL(vkCmdCopyBuffer2)
    (COMMANDS, &(VkCopyBufferInfo2){.srcBuffer = a,
                                    .dstBuffer = b,
                                    .regionCount = 1,
                                    .pRegions = &(VkBufferCopy2){.srcOffset = 1, .dstOffset = 2, .size = 3}});
    CALL(vkCmdCopyImage)
    (COMMANDS, color, SRC, color, DST, 1,
     &(VkImageCopy){level, {1, 2, 0}, {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1}, {3, 4, 0}, {5, 6, 1}});
    CALL(vkCmdCopyImage2)
    (COMMANDS, &(VkCopyImageInfo2){.srcImage = color,
                                   .srcImageLayout = SRC,
                                   .dstImage = color,
                                   .dstImageLayout = DST,
                                   .regionCount = 1,
                                   .pRegions = &(VkImageCopy2){.srcSubresource = level}});
    CALL(vkCmdResolveImage)
    (COMMANDS, color, SRC, color, DST, 1,
     &(VkImageResolve){.dstSubresource = level, .dstOffset = {1, 1, 0}, .extent = {2, 3, 1}});
    CALL(vkCmdBlitImage2)
    (COMMANDS, &(VkBlitImageInfo2){.srcImage = color,
                                   .srcImageLayout = SRC,
                                   .dstImage = color,
                                   .dstImageLayout = DST,
                                   .regionCount = 1,
                                   .pRegions = &(VkImageBlit2){.srcSubresource = level,
                                                               .srcOffsets = {{8, 1, 0}, {2, 4, 1}},
                                                               .dstOffsets = {{0, 9, 0}, {2, 1, 1}}},
                                   .filter = VK_FILTER_NEAREST});
    CALL(vkCmdCopyBufferToImage)
    (COMMANDS, a, color, DST, 1,
     &(VkBufferImageCopy){.bufferOffset = 8,
                          .bufferRowLength = 16,
                          .imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 2},
                          .imageExtent = {4, 4, 1}});
    CALL(vkCmdCopyImageToBuffer2)
    (COMMANDS, &(VkCopyImageToBufferInfo2){
                   .srcImage = depth,
                   .srcImageLayout = SRC,
                   .dstBuffer = b,
                   .regionCount = 1,
                   .pRegions = &(VkBufferImageCopy2){.imageSubresource = {VK_IMAGE_ASPECT_STENCIL_BIT, 0, 0, 1},
                                                     .imageExtent = {8, 8, 1}}});
    CALL(vkCmdFillBuffer)(COMMANDS, a, 4000, VK_WHOLE_SIZE, 0);
    CALL(vkCmdUpdateBuffer)(COMMANDS, a, 4, 8, "12345678");
    CALL(vkCmdCopyQueryPoolResults)(COMMANDS, VK_NULL_HANDLE, 0, 3, b, 64, 32, VK_QUERY_RESULT_64_BIT);
    CALL(vkCmdClearDepthStencilImage)
    (COMMANDS, depth, DST, &(VkClearDepthStencilValue){0}, 1,
     &(VkImageSubresourceRange){VK_IMAGE_ASPECT_DEPTH_BIT, 0, VK_REMAINING_MIP_LEVELS, 0, VK_REMAINING_ARRAY_LAYERS});
    CALL(vkCmdBlitImage)
    (COMMANDS, color, SRC, color, DST, 1,
     &(VkImageBlit){
         .srcSubresource = level, .srcOffsets = {{0, 0, 0}, {4, 4, 1}}, .dstOffsets = {{0, 0, 0}, {2, 2, 1}}},
     VK_FILTER_LINEAR);
    CALL(vkCmdResolveImage2)
    (COMMANDS, &(VkResolveImageInfo2){.srcImage = color,
                                      .srcImageLayout = SRC,
                                      .dstImage = color,
                                      .dstImageLayout = DST,
                                      .regionCount = 1,
                                      .pRegions = &(VkImageResolve2){.srcSubresource = level}});
    CALL(vkCmdCopyBufferToImage2)
    (COMMANDS, &(VkCopyBufferToImageInfo2){
                   .srcBuffer = a,
                   .dstImage = depth,
                   .dstImageLayout = DST,
                   .regionCount = 1,
                   .pRegions = &(VkBufferImageCopy2){.imageSubresource = {VK_IMAGE_ASPECT_DEPTH_BIT, 0, 0, 1},
                                                     .imageExtent = {8, 8, 1}}});
    CALL(vkCmdCopyImageToBuffer)
    (COMMANDS, color, SRC, b, 1,
     &(VkBufferImageCopy){
         .bufferImageHeight = 8, .imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 3, 7, 1}, .imageExtent = {2, 2, 3}});
    hd_stream *stream;
    char *text = close_fake(&stream);
    expect_text(text, "vkCmdCopyBuffer: b0 16+64 100000000/800 b1 32+64 100000000/1000\n"
                      "vkCmdCopyBuffer2: b0 1+3 100000000/800 b1 2+3 100000000/1000\n"
                      "vkCmdCopyImage: i2 1+1,2+3,0 100000000/800@6 box 1,2,0+5,6,1 "
                      "i2 0+1,0+1,0 100000000/1000@7 box 3,4,0+5,6,1\n"
                      "vkCmdCopyImage2: i2 1+1,2+3,0 100000000/800@6 i2 0+1,0+1,0 100000000/1000@7\n"
                      "vkCmdResolveImage: i2 0+1,0+1,0 200000000/800@6 box 0,0,0+2,3,1 "
                      "i2 1+1,2+3,0 200000000/1000@7 box 1,1,0+2,3,1\n"
                      "vkCmdBlitImage2: i2 1+1,2+3,0 400000000/800@6 box 2,1,0+6,3,1 "
                      "i2 0+1,0+1,0 400000000/1000@7 box 0,1,0+2,8,1\n"
                      "vkCmdCopyBufferToImage: b0 8+464 100000000/800 i2 0+1,0+2,0 100000000/1000@7 box 0,0,0+4,4,1\n"
                      "vkCmdCopyImageToBuffer2: b1 0+64 100000000/1000 i3 0+1,0+1,4 100000000/800@6 box 0,0,0+8,8,1\n"
                      "vkCmdFillBuffer: b0 4000+96 800000000/1000\n"
                      "vkCmdUpdateBuffer: b0 4+8 800000000/1000\n"
                      "vkCmdCopyQueryPoolResults: b1 64+72 100000000/1000\n"
                      "vkCmdClearDepthStencilImage: i3 0+1,0+1,2 800000000/1000@7\n"
                      "vkCmdBlitImage: i2 1+1,2+3,0 400000000/800@6 i2 0+1,0+1,0 400000000/1000@7 box 0,0,0+2,2,1\n"
                      "vkCmdResolveImage2: i2 1+1,2+3,0 200000000/800@6 i2 0+1,0+1,0 200000000/1000@7\n"
                      "vkCmdCopyBufferToImage2: b0 0+256 100000000/800 i3 0+1,0+1,2 100000000/1000@7 box 0,0,0+8,8,1\n"
                      "vkCmdCopyImageToBuffer: b1 0+144 100000000/1000 i2 3+1,7+1,0 100000000/800@6 box 0,0,0+2,2,3\n");
    cr_expect_eq(stream->resources[0].flags, HD_STREAM_MAPPED);
    cr_expect_eq(stream->resources[1].flags, HD_STREAM_MAPPED | HD_STREAM_CONCURRENT);
    cr_expect_str_eq(stream->strings[stream->resources[0].name], "name of a?");
    cr_expect(stream->resources[0].memory == stream->resources[1].memory && stream->resources[1].offset == 4096);
    cr_expect(stream->resources[2].memory != stream->resources[0].memory && stream->resources[2].bytes == 65536);
    hd_stream_free(stream);
    free(text);
}

/* Of images with blocks of texels the buffer holds whole blocks; a box of one image says nothing of the other where
 * only one has blocks. */
Test(capture_calls, blocks)
{
    open_fake();
    VkImage bc1 = make_image(VK_FORMAT_BC1_RGB_UNORM_BLOCK, 4, 1), bc7 = make_image(VK_FORMAT_BC7_UNORM_BLOCK, 4, 2),
            astc = make_image(VK_FORMAT_ASTC_10x6_UNORM_BLOCK, 1, 1);
    CALL(vkCmdCopyBufferToImage)
    (COMMANDS, a, bc1, DST, 1,
     &(VkBufferImageCopy){.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1}, .imageExtent = {16, 9, 1}});
    CALL(vkCmdCopyBufferToImage)
    (COMMANDS, a, bc7, DST, 1,
     &(VkBufferImageCopy){.bufferOffset = 64,
                          .bufferRowLength = 16,
                          .imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 2, 0, 2},
                          .imageExtent = {5, 5, 1}});
    CALL(vkCmdCopyImageToBuffer)
    (COMMANDS, astc, SRC, b, 1,
     &(VkBufferImageCopy){.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1}, .imageExtent = {11, 6, 1}});
    CALL(vkCmdCopyImage)
    (COMMANDS, color, SRC, bc7, DST, 1,
     &(VkImageCopy){
         {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1}, {0, 0, 0}, {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1}, {0, 0, 0}, {2, 2, 1}});
    hd_stream *stream;
    char *text = close_fake(&stream);
    expect_text(text, "vkCmdCopyBufferToImage: b0 0+96 100000000/800 i1 0+1,0+1,0 100000000/1000@7 box 0,0,0+16,9,1\n"
                      "vkCmdCopyBufferToImage: b0 64+224 100000000/800 i2 2+1,0+2,0 100000000/1000@7 box 0,0,0+5,5,1\n"
                      "vkCmdCopyImageToBuffer: b3 0+32 100000000/1000 i4 0+1,0+1,0 100000000/800@6 box 0,0,0+11,6,1\n"
                      "vkCmdCopyImage: i5 0+1,0+1,0 100000000/800@6 box 0,0,0+2,2,1 "
                      "i2 0+1,0+1,0 100000000/1000@7\n");
    hd_stream_free(stream);
    free(text);
}

Test(capture_calls, draws)
{
    const VkDeviceSize offsets[2] = {0, 128}, sizes[2] = {64, 32};
    open_fake();
    CALL(vkCmdDraw)(COMMANDS, 3, 1, 0, 0);
    CALL(vkCmdDrawIndirect)(COMMANDS, a, 0, 2, 32);
    CALL(vkCmdDispatchIndirect)(COMMANDS, b, 256);
    CALL(vkCmdBindVertexBuffers2)(COMMANDS, 0, 2, (VkBuffer[]){a, b}, offsets, sizes, NULL);
    CALL(vkCmdDraw)(COMMANDS, 3, 1, 0, 0);
    CALL(vkCmdBindVertexBuffers)(COMMANDS, 0, 2, (VkBuffer[]){a, VK_NULL_HANDLE}, offsets);
    CALL(vkCmdBindIndexBuffer)(COMMANDS, b, 512, VK_INDEX_TYPE_UINT16);
    CALL(vkCmdBeginDebugUtilsLabelEXT)(COMMANDS, &(VkDebugUtilsLabelEXT){.pLabelName = "label"});
    CALL(vkCmdDrawIndexed)(COMMANDS, 6, 1, 10, 0, 0);
    CALL(vkCmdDrawIndexedIndirect)(COMMANDS, b, 0, 1, 0);
    CALL(vkCmdEndDebugUtilsLabelEXT)(COMMANDS);
    CALL(vkCmdDrawIndirectCount)(COMMANDS, b, 0, a, 4, 0, 16);
    CALL(vkCmdDrawIndexedIndirectCount)(COMMANDS, b, 0, a, 4, 2, 20);
    CALL(vkCmdBeginRenderPass)(COMMANDS, &(VkRenderPassBeginInfo){0}, VK_SUBPASS_CONTENTS_INLINE);
    hd_stream *stream;
    char *text = close_fake(&stream);
    expect_text(
        text,
        "vkCmdDrawIndirect: b0 0+48 2/1\n"
        "vkCmdDispatchIndirect: b1 256+12 2/1\n"
        "vkCmdDraw: b0 0+64 2000000000/4 b1 128+32 2000000000/4\n"
        "vkCmdDrawIndexed label: b0 0+4096 2000000000/4 b1 532+12 1000000000/2\n"
        "vkCmdDrawIndexedIndirect label: b0 0+4096 2000000000/4 b1 0+20 2/1 b1 512+3584 1000000000/2\n"
        "vkCmdDrawIndirectCount: b0 0+4096 2000000000/4 b0 4+4 2/1\n"
        "vkCmdDrawIndexedIndirectCount: b0 0+4096 2000000000/4 b1 0+40 2/1 b1 512+3584 1000000000/2 b0 4+4 2/1\n");
    cr_expect_eq(stream->unseen, 1);
    hd_stream_free(stream);
    free(text);
}

Test(capture_calls, rendering)
{
    open_fake();
    VkImageView views[2], into;
    VkImageViewCreateInfo view = {.image = color, .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 1, 1, 0, 2}};
    CALL(vkCreateImageView)(DEVICE, &view, NULL, &views[0]);
    view.subresourceRange = (VkImageSubresourceRange){VK_IMAGE_ASPECT_COLOR_BIT, 2, 1, 0, 2};
    CALL(vkCreateImageView)(DEVICE, &view, NULL, &into);
    view.image = depth;
    view.subresourceRange = (VkImageSubresourceRange){VK_IMAGE_ASPECT_DEPTH_BIT, 0, 1, 0, 1};
    CALL(vkCreateImageView)(DEVICE, &view, NULL, &views[1]);
    VkRenderingAttachmentInfo one = {.imageView = views[0],
                                     .imageLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
                                     .resolveMode = VK_RESOLVE_MODE_AVERAGE_BIT,
                                     .resolveImageView = into,
                                     .resolveImageLayout = VK_IMAGE_LAYOUT_GENERAL,
                                     .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
                                     .storeOp = VK_ATTACHMENT_STORE_OP_DONT_CARE};
    VkRenderingAttachmentInfo two = {.imageView = views[1],
                                     .imageLayout = VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL,
                                     .loadOp = VK_ATTACHMENT_LOAD_OP_LOAD,
                                     .storeOp = VK_ATTACHMENT_STORE_OP_NONE};
    VkRenderingInfo info = {.colorAttachmentCount = 1, .pColorAttachments = &one, .pDepthAttachment = &two};
    CALL(vkCmdBeginRendering)(COMMANDS, &info);
    CALL(vkCmdEndRendering)(COMMANDS);
    info.flags = VK_RENDERING_SUSPENDING_BIT;
    CALL(vkCmdBeginRendering)(COMMANDS, &info);
    CALL(vkCmdEndRendering)(COMMANDS);
    hd_stream *stream;
    char *text = close_fake(&stream);
    expect_text(text, "vkCmdBeginRendering: i0 1+1,0+2,0 400/100@2 i1 0+1,0+1,2 300/200@3\n"
                      "vkCmdEndRendering: i0 1+1,0+2,0 400/100@2 lost i0 2+1,0+2,0 400/100@1\n"
                      "vkCmdBeginRendering: i0 1+1,0+2,0 400/100@2 i1 0+1,0+1,2 300/200@3\n"
                      "vkCmdEndRendering:\n");
    hd_stream_free(stream);
    free(text);
}

static VkImageView layers_of(VkImage image, uint32_t first, uint32_t count)
{
    VkImageView out;
    VkImageViewCreateInfo info = {.image = image, .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 1, 1, first, count}};
    CALL(vkCreateImageView)(DEVICE, &info, NULL, &out);
    return out;
}

static VkImageView slice_of(VkImage image, uint32_t slice)
{
    return layers_of(image, slice, 1);
}

typedef struct rendered {
    VkImageView views[2]; /* the second may be none */
    VkImageLayout layout;
    VkImage sampled; /* in that layout; null: nothing */
    bool in_secondary;
    uint32_t layers, views_drawn; /* 0: one layer; a mask */
} rendered;

static void note_first(const char *text, void *user)
{
    if (!*(char *)user)
        snprintf(user, 256, "%s", text);
}

/* A rendering, behind a barrier that brings all levels of image into the layout. Null: no rule is broken. */
static void expect_drawn(const char *what, VkImage image, rendered d, const char *sentence)
{
    const VkImageSubresourceRange whole = {VK_IMAGE_ASPECT_COLOR_BIT, 0, VK_REMAINING_MIP_LEVELS, 0,
                                           VK_REMAINING_ARRAY_LAYERS};
    const VkImageSubresourceRange second = {VK_IMAGE_ASPECT_COLOR_BIT, 1, 1, 0, 1};
    const VkCommandBuffer part = (VkCommandBuffer)(uintptr_t)4, in = d.in_secondary ? part : COMMANDS;
    const VkPipelineStageFlags all = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    VkImageMemoryBarrier opens = {.dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT,
                                  .newLayout = d.layout,
                                  .image = image,
                                  .subresourceRange = whole};
    VkRenderingAttachmentInfo attachments[2];
    for (int i = 0; i < 2; i++)
        attachments[i] = (VkRenderingAttachmentInfo){
            .imageView = d.views[i], .imageLayout = d.layout, .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR};
    CALL(vkCmdPipelineBarrier)(COMMANDS, all, all, 0, 0, NULL, 0, NULL, 1, &opens);
    CALL(vkCmdBeginRendering)
    (COMMANDS, &(VkRenderingInfo){.layerCount = d.layers ? d.layers : 1,
                                  .viewMask = d.views_drawn,
                                  .colorAttachmentCount = 2,
                                  .pColorAttachments = attachments});
    if (d.sampled)
        hd_capture_image(in, d.sampled, &second, d.layout, VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT,
                         VK_ACCESS_2_SHADER_SAMPLED_READ_BIT);
    if (d.in_secondary)
        CALL(vkCmdExecuteCommands)(COMMANDS, 1, &part);
    CALL(vkCmdEndRendering)(COMMANDS);
    hd_stream *stream;
    char first[256] = "", *text = close_fake(&stream);
    hd_result result = hd_stream_verify(stream, &(hd_verify_desc){.message = note_first, .user = first});
    cr_expect_eq(result, sentence ? HD_PLAN_INVALID : HD_OK, "%s: %s", what, first);
    cr_expect(!sentence || strstr(first, sentence), "%s: '%s', not '%s'", what, first, sentence);
    hd_stream_free(stream);
    free(text);
}

/* What is drawn to is read meanwhile, or drawn to twice. */
Test(capture_calls, attachments_that_meet)
{
    const VkImageLayout general = VK_IMAGE_LAYOUT_GENERAL;
    const VkImageLayout feedback = VK_IMAGE_LAYOUT_ATTACHMENT_FEEDBACK_LOOP_OPTIMAL_EXT;
    for (int secondary = 0; secondary < 2; secondary++) {
        open_fake();
        expect_drawn("read meanwhile", color, (rendered){{slice_of(color, 0)}, general, color, secondary},
                     "race on image 0 '': vkCmdBeginRendering (command 1 of submit 0, queue 0, frame 0) writes, "
                     "hd_capture_image (command 2");
        open_fake();
        expect_drawn("in the layout for it", color, (rendered){{slice_of(color, 0)}, feedback, color, secondary}, NULL);
    }
    open_fake();
    expect_drawn("two layers", color, (rendered){{slice_of(color, 0), slice_of(color, 1)}, general}, NULL);
    open_fake();
    expect_drawn("one layer twice", color, (rendered){{slice_of(color, 1), slice_of(color, 1)}, general},
                 "race on image 0 '': vkCmdBeginRendering (command 1 of submit 0, queue 0, frame 0) writes, "
                 "vkCmdBeginRendering (command 1 of submit 0, queue 0, frame 0) writes: its attachments overlap");
    for (uint32_t drawn = 1; drawn <= 2; drawn++) {
        const char *sentence = drawn > 1 ? "its attachments overlap" : NULL;
        open_fake();
        expect_drawn("layers of views that overlap", color,
                     (rendered){{layers_of(color, 0, 2), slice_of(color, 1)}, general, .layers = drawn}, sentence);
        open_fake();
        expect_drawn("views of views that overlap", color,
                     (rendered){{layers_of(color, 0, 2), slice_of(color, 1)}, general, .views_drawn = drawn}, sentence);
    }
    for (uint32_t slice = 0; slice < 2; slice++) {
        VkImage volume;
        VkDeviceMemory memory;
        open_fake();
        CALL(vkCreateImage)
        (DEVICE,
         &(VkImageCreateInfo){.imageType = VK_IMAGE_TYPE_3D,
                              .format = VK_FORMAT_R8G8B8A8_UNORM,
                              .extent = {8, 8, 8},
                              .mipLevels = 2,
                              .arrayLayers = 1},
         NULL, &volume);
        CALL(vkAllocateMemory)(DEVICE, &(VkMemoryAllocateInfo){.allocationSize = 65536}, NULL, &memory);
        CALL(vkBindImageMemory)(DEVICE, volume, memory, 0);
        expect_drawn("slices", volume, (rendered){{slice_of(volume, 3 - slice), slice_of(volume, 2)}, general},
                     slice ? "its attachments overlap" : NULL);
    }
}

/* An acquired image is waited for, its frame presented; a fence and a counter are looked at. */
Test(capture_calls, presenting)
{
    open_fake();
    VkSemaphore acquired, drawn, line;
    VkFence fence;
    VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                      .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE,
                                      .initialValue = 4};
    CALL(vkCreateSemaphore)(DEVICE, &(VkSemaphoreCreateInfo){0}, NULL, &acquired);
    CALL(vkCreateSemaphore)(DEVICE, &(VkSemaphoreCreateInfo){0}, NULL, &drawn);
    CALL(vkCreateSemaphore)(DEVICE, &(VkSemaphoreCreateInfo){.pNext = &type}, NULL, &line);
    CALL(vkCreateFence)(DEVICE, &(VkFenceCreateInfo){0}, NULL, &fence);
    uint32_t index = 0;
    for (int frame = 0; frame < 2; frame++) {
        VkSemaphoreSubmitInfo wait = {.semaphore = acquired, .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT};
        VkSemaphoreSubmitInfo signals[2] = {
            {.semaphore = drawn, .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT},
            {.semaphore = line, .value = (uint64_t)frame + 5, .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT}};
        if (frame)
            CALL(vkAcquireNextImage2KHR)
        (DEVICE, &(VkAcquireNextImageInfoKHR){.semaphore = acquired, .fence = fence}, &index);
        else CALL(vkAcquireNextImageKHR)(DEVICE, VK_NULL_HANDLE, 0, acquired, fence, &index);
        CALL(vkQueueSubmit2)
        (QUEUE, 1,
         &(VkSubmitInfo2){.waitSemaphoreInfoCount = 1,
                          .pWaitSemaphoreInfos = &wait,
                          .signalSemaphoreInfoCount = 2,
                          .pSignalSemaphoreInfos = signals},
         VK_NULL_HANDLE);
        CALL(vkQueuePresentKHR)(QUEUE, &(VkPresentInfoKHR){.waitSemaphoreCount = 1, .pWaitSemaphores = &drawn});
        uint64_t value = (uint64_t)frame + 5;
        CALL(vkGetSemaphoreCounterValue)(DEVICE, line, &value);
    }
    hd_stream *stream;
    char *text = close_fake(&stream);
    expect_text(text, "");
    cr_expect_eq(stream->submit_count, 9);
    cr_expect_eq(stream->submits[8].frame, 2);
    cr_expect_eq(hd_stream_verify(stream, NULL), HD_OK);
    /* without the first acquire, the second frame waits for what nothing signals any more */
    stream->syncs[stream->submits[0].signal_begin].semaphore = HD_NONE;
    cr_expect_eq(hd_stream_verify(stream, NULL), HD_PLAN_INVALID);
    hd_stream_free(stream);
    free(text);
}
