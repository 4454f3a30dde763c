#include "command_stream.h"

#include <stdlib.h>
#include <string.h>

#ifdef HDT_STREAM_SHADER
#include "stream_comp.h"
#endif

/* Records streams for real, each with resources of its own, so that one knows nothing of those before. Memory is zero
 * at first and nothing but 0 and 1 is ever written: counts of indirect dispatches stay small whatever races. */

#define FUNCTIONS(X)                                                                                                   \
    X(vkCreateBuffer)                                                                                                  \
    X(vkDestroyBuffer)                                                                                                 \
    X(vkGetBufferMemoryRequirements)                                                                                   \
    X(vkBindBufferMemory)                                                                                              \
    X(vkCreateImage)                                                                                                   \
    X(vkDestroyImage)                                                                                                  \
    X(vkGetImageMemoryRequirements)                                                                                    \
    X(vkBindImageMemory)                                                                                               \
    X(vkAllocateMemory)                                                                                                \
    X(vkFreeMemory)                                                                                                    \
    X(vkMapMemory)                                                                                                     \
    X(vkUnmapMemory)                                                                                                   \
    X(vkGetPhysicalDeviceMemoryProperties)                                                                             \
    X(vkCreateSemaphore)                                                                                               \
    X(vkDestroySemaphore)                                                                                              \
    X(vkCreateCommandPool)                                                                                             \
    X(vkDestroyCommandPool)                                                                                            \
    X(vkAllocateCommandBuffers)                                                                                        \
    X(vkBeginCommandBuffer)                                                                                            \
    X(vkEndCommandBuffer)                                                                                              \
    X(vkQueueSubmit2)                                                                                                  \
    X(vkDeviceWaitIdle)                                                                                                \
    X(vkCmdPipelineBarrier2)                                                                                           \
    X(vkCmdFillBuffer)                                                                                                 \
    X(vkCmdUpdateBuffer)                                                                                               \
    X(vkCmdCopyBuffer)                                                                                                 \
    X(vkCmdCopyBufferToImage)                                                                                          \
    X(vkCmdCopyImageToBuffer)                                                                                          \
    X(vkCmdCopyImage)                                                                                                  \
    X(vkCmdClearColorImage)                                                                                            \
    X(vkCmdBlitImage)                                                                                                  \
    X(vkCmdBindPipeline)                                                                                               \
    X(vkCmdBindDescriptorSets)                                                                                         \
    X(vkCmdDispatch)                                                                                                   \
    X(vkCmdDispatchIndirect)                                                                                           \
    X(vkCreateShaderModule)                                                                                            \
    X(vkDestroyShaderModule)                                                                                           \
    X(vkCreateDescriptorSetLayout)                                                                                     \
    X(vkDestroyDescriptorSetLayout)                                                                                    \
    X(vkCreatePipelineLayout)                                                                                          \
    X(vkDestroyPipelineLayout)                                                                                         \
    X(vkCreateComputePipelines)                                                                                        \
    X(vkDestroyPipeline)                                                                                               \
    X(vkCreateDescriptorPool)                                                                                          \
    X(vkDestroyDescriptorPool)                                                                                         \
    X(vkAllocateDescriptorSets)                                                                                        \
    X(vkUpdateDescriptorSets)                                                                                          \
    X(vkCreateDebugUtilsMessengerEXT)                                                                                  \
    X(vkDestroyDebugUtilsMessengerEXT)

struct hdt_player {
    hdt_vk f;
    VkDebugUtilsMessengerEXT messenger;
    VkQueue queue;
    uint32_t family, memory_type;
    VkDescriptorSetLayout set_layout;
    VkPipelineLayout layout;
    VkPipeline pipeline;
    uint32_t hazards, others;
    char *text;
    size_t text_bytes;
#define MEMBER(name) PFN_##name name;
    FUNCTIONS(MEMBER)
#undef MEMBER
};

/* What one stream has. */
typedef struct stage {
    VkBuffer buffer[HDT_BUFFERS];
    VkImage image[HDT_RESOURCES]; /* by resource */
    VkDeviceMemory memory;
    VkSemaphore timeline;
    VkCommandPool pool;
    VkDescriptorPool sets;
} stage;

#define MUST(call)                                                                                                     \
    do {                                                                                                               \
        if ((call) != VK_SUCCESS) {                                                                                    \
            fprintf(stderr, "%s failed\n", #call);                                                                     \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

static VkBool32 VKAPI_PTR on_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                     VkDebugUtilsMessageTypeFlagsEXT types,
                                     const VkDebugUtilsMessengerCallbackDataEXT *data, void *user)
{
    hdt_player *p = user;
    (void)severity;
    (void)types;
    if (data->pMessageIdName && strstr(data->pMessageIdName, "SYNC-HAZARD")) {
        if (p->hazards++ == 0 && p->text)
            snprintf(p->text, p->text_bytes, "%s", data->pMessage);
    } else {
        if (p->others++ < 5)
            fprintf(stderr, "%s\n", data->pMessage);
    }
    return VK_FALSE;
}

static void make_pipeline(hdt_player *p)
{
#ifdef HDT_STREAM_SHADER
    VkDevice d = p->f.info.device;
    VkDescriptorSetLayoutBinding bindings[2];
    for (uint32_t b = 0; b < 2; b++)
        bindings[b] =
            (VkDescriptorSetLayoutBinding){b, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL};
    VkDescriptorSetLayoutCreateInfo sets = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, .bindingCount = 2, .pBindings = bindings};
    MUST(p->vkCreateDescriptorSetLayout(d, &sets, NULL, &p->set_layout));
    VkPipelineLayoutCreateInfo layout = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO, .setLayoutCount = 1, .pSetLayouts = &p->set_layout};
    MUST(p->vkCreatePipelineLayout(d, &layout, NULL, &p->layout));
    VkShaderModuleCreateInfo code = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = sizeof(stream_comp), .pCode = stream_comp};
    VkShaderModule module;
    MUST(p->vkCreateShaderModule(d, &code, NULL, &module));
    VkComputePipelineCreateInfo info = {.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
                                        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                                                  .module = module,
                                                  .pName = "main"},
                                        .layout = p->layout};
    MUST(p->vkCreateComputePipelines(d, VK_NULL_HANDLE, 1, &info, NULL, &p->pipeline));
    p->vkDestroyShaderModule(d, module, NULL);
#else
    (void)p;
#endif
}

bool hdt_player_shaders(const hdt_player *p)
{
    return p->pipeline != VK_NULL_HANDLE;
}

bool hdt_player_fill_copies(const hdt_player *p)
{
    return p->f.layer < VK_MAKE_API_VERSION(0, 1, 3, 280);
}

static bool layer_is_there(const hdt_player *p)
{
    const char *layers = getenv("VK_INSTANCE_LAYERS");
    return p->vkCreateDebugUtilsMessengerEXT && layers && strstr(layers, "validation");
}

hdt_player *hdt_player_open(char *why, size_t bytes)
{
    /* Over submits only with this switch; and every message, not the first ten of a kind. */
    setenv("VK_LAYER_ENABLES",
           "VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT:"
           "VALIDATION_CHECK_ENABLE_SYNCHRONIZATION_VALIDATION_QUEUE_SUBMIT",
           1);
    setenv("VK_LAYER_DISABLES", "", 1); /* what it makes of several submits is compared, right or wrong */
    setenv("VK_LAYER_DUPLICATE_MESSAGE_LIMIT", "1000000000", 1);
    hdt_vk_layer_alone(); /* streams go to it as they are */
    hdt_player *p = calloc(1, sizeof(*p));
    if (!p)
        abort();
    hd_result result = hdt_vk_open(&p->f, NULL);
    if (result != HD_OK) {
        snprintf(why, bytes, "%s", hd_result_text(result));
        free(p);
        return NULL;
    }
#define LOAD(name) p->name = HDT_FN(&p->f, name);
    FUNCTIONS(LOAD)
#undef LOAD
    if (!layer_is_there(p)) {
        snprintf(why, bytes, "the Khronos validation layer is not installed");
        hdt_player_close(p);
        return NULL;
    }
    if (p->f.messenger) /* it prints what is expected here */
        p->vkDestroyDebugUtilsMessengerEXT(p->f.info.instance, p->f.messenger, NULL);
    p->f.messenger = VK_NULL_HANDLE;
    VkDebugUtilsMessengerCreateInfoEXT info = {
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
        .messageSeverity =
            VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT,
        .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT,
        .pfnUserCallback = on_message,
        .pUserData = p,
    };
    MUST(p->vkCreateDebugUtilsMessengerEXT(p->f.info.instance, &info, NULL, &p->messenger));
    p->queue = p->f.info.queues[0].queue;
    p->family = p->f.info.queues[0].family;
    VkPhysicalDeviceMemoryProperties memory;
    p->vkGetPhysicalDeviceMemoryProperties(p->f.info.physical_device, &memory);
    for (uint32_t t = memory.memoryTypeCount; t-- > 0;)
        if (memory.memoryTypes[t].propertyFlags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT)
            p->memory_type = t;
    make_pipeline(p);
    return p;
}

void hdt_player_close(hdt_player *p)
{
    VkDevice d = p->f.info.device;
    if (p->pipeline)
        p->vkDestroyPipeline(d, p->pipeline, NULL);
    if (p->layout)
        p->vkDestroyPipelineLayout(d, p->layout, NULL);
    if (p->set_layout)
        p->vkDestroyDescriptorSetLayout(d, p->set_layout, NULL);
    if (p->messenger)
        p->vkDestroyDebugUtilsMessengerEXT(p->f.info.instance, p->messenger, NULL);
    hdt_vk_close(&p->f);
    free(p);
}

/* ---- one stream ---- */

static VkDeviceSize place(VkDeviceSize *end, const VkMemoryRequirements *need)
{
    VkDeviceSize at = (*end + need->alignment - 1) / need->alignment * need->alignment;
    *end = at + need->size;
    return at;
}

static void make_resources(hdt_player *p, stage *s)
{
    VkDevice d = p->f.info.device;
    VkDeviceSize at[HDT_RESOURCES], end = 0;
    for (uint32_t r = 0; r < HDT_RESOURCES; r++) {
        VkMemoryRequirements need;
        if (r < HDT_BUFFERS) {
            VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                       .size = HDT_STREAM_BYTES,
                                       .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
                                                VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                                                VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT};
            MUST(p->vkCreateBuffer(d, &info, NULL, &s->buffer[r]));
            p->vkGetBufferMemoryRequirements(d, s->buffer[r], &need);
        } else {
            VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                                      .imageType = VK_IMAGE_TYPE_2D,
                                      .format = VK_FORMAT_R8G8B8A8_UNORM,
                                      .extent = {HDT_STREAM_SIDE, HDT_STREAM_SIDE, 1},
                                      .mipLevels = 1,
                                      .arrayLayers = 1,
                                      .samples = VK_SAMPLE_COUNT_1_BIT,
                                      .usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT};
            MUST(p->vkCreateImage(d, &info, NULL, &s->image[r]));
            p->vkGetImageMemoryRequirements(d, s->image[r], &need);
        }
        at[r] = place(&end, &need);
    }
    VkMemoryAllocateInfo info = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = end, .memoryTypeIndex = p->memory_type};
    MUST(p->vkAllocateMemory(d, &info, NULL, &s->memory));
    void *mapped;
    MUST(p->vkMapMemory(d, s->memory, 0, VK_WHOLE_SIZE, 0, &mapped));
    memset(mapped, 0, end);
    p->vkUnmapMemory(d, s->memory);
    for (uint32_t r = 0; r < HDT_RESOURCES; r++)
        MUST(r < HDT_BUFFERS ? p->vkBindBufferMemory(d, s->buffer[r], s->memory, at[r])
                             : p->vkBindImageMemory(d, s->image[r], s->memory, at[r]));
}

static void make_rest(hdt_player *p, stage *s)
{
    VkDevice d = p->f.info.device;
    VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                      .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
    VkSemaphoreCreateInfo semaphore = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
    MUST(p->vkCreateSemaphore(d, &semaphore, NULL, &s->timeline));
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, .queueFamilyIndex = p->family};
    MUST(p->vkCreateCommandPool(d, &pool, NULL, &s->pool));
    VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 2 * HDT_MOST_ITEMS};
    VkDescriptorPoolCreateInfo sets = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                       .maxSets = HDT_MOST_ITEMS,
                                       .poolSizeCount = 1,
                                       .pPoolSizes = &size};
    MUST(p->vkCreateDescriptorPool(d, &sets, NULL, &s->sets));
}

static void release(hdt_player *p, stage *s)
{
    VkDevice d = p->f.info.device;
    for (uint32_t r = 0; r < HDT_RESOURCES; r++) {
        if (r < HDT_BUFFERS)
            p->vkDestroyBuffer(d, s->buffer[r], NULL);
        else
            p->vkDestroyImage(d, s->image[r], NULL);
    }
    p->vkFreeMemory(d, s->memory, NULL);
    p->vkDestroySemaphore(d, s->timeline, NULL);
    p->vkDestroyCommandPool(d, s->pool, NULL);
    p->vkDestroyDescriptorPool(d, s->sets, NULL);
}

static VkDeviceSize offset_of(uint32_t half)
{
    return half == 2 ? HDT_STREAM_BYTES / 2 : 0;
}

static VkDeviceSize bytes_of(uint32_t half)
{
    return half ? HDT_STREAM_BYTES / 2 : HDT_STREAM_BYTES;
}

static void record_dispatch(hdt_player *p, stage *s, VkCommandBuffer c, const hdt_stream_item *x)
{
    VkDescriptorSetAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                        .descriptorPool = s->sets,
                                        .descriptorSetCount = 1,
                                        .pSetLayouts = &p->set_layout};
    VkDescriptorSet set;
    MUST(p->vkAllocateDescriptorSets(p->f.info.device, &info, &set));
    VkDescriptorBufferInfo buffers[2] = {{s->buffer[x->a], offset_of(x->half_a), bytes_of(x->half_a)},
                                         {s->buffer[x->b], offset_of(x->half_b), bytes_of(x->half_b)}};
    VkWriteDescriptorSet writes[2];
    for (uint32_t b = 0; b < 2; b++)
        writes[b] = (VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                           .dstSet = set,
                                           .dstBinding = b,
                                           .descriptorCount = 1,
                                           .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                           .pBufferInfo = &buffers[b]};
    p->vkUpdateDescriptorSets(p->f.info.device, 2, writes, 0, NULL);
    p->vkCmdBindPipeline(c, VK_PIPELINE_BIND_POINT_COMPUTE, p->pipeline);
    p->vkCmdBindDescriptorSets(c, VK_PIPELINE_BIND_POINT_COMPUTE, p->layout, 0, 1, &set, 0, NULL);
    if (x->op == HDT_INDIRECT)
        p->vkCmdDispatchIndirect(c, s->buffer[x->c], 0);
    else
        p->vkCmdDispatch(c, 1, 1, 1);
}

static void record_op(hdt_player *p, stage *s, VkCommandBuffer c, const hdt_stream_item *x, const uint32_t *layout)
{
    static const uint32_t zero[HDT_STREAM_BYTES / 4];
    const VkImageSubresourceLayers layers = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
    const VkImageSubresourceRange whole = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
    VkImageLayout la = (VkImageLayout)layout[x->a], lb = (VkImageLayout)layout[x->b];
    VkBufferImageCopy mixed = {.imageSubresource = layers, .imageExtent = {HDT_STREAM_SIDE, HDT_STREAM_SIDE, 1}};
    VkImageCopy images = {
        .srcSubresource = layers, .dstSubresource = layers, .extent = {HDT_STREAM_SIDE, HDT_STREAM_SIDE, 1}};
    VkImageBlit blit = {.srcSubresource = layers,
                        .srcOffsets = {{0, 0, 0}, {HDT_STREAM_SIDE, HDT_STREAM_SIDE, 1}},
                        .dstSubresource = layers,
                        .dstOffsets = {{0, 0, 0}, {HDT_STREAM_SIDE, HDT_STREAM_SIDE, 1}}};
    VkBufferCopy buffers = {offset_of(x->half_a), offset_of(x->half_b), bytes_of(x->half_b)};
    VkClearColorValue black = {.uint32 = {0}};
    switch (x->op) {
    case HDT_FILL:
        p->vkCmdFillBuffer(c, s->buffer[x->b], offset_of(x->half_b), bytes_of(x->half_b), 1);
        break;
    case HDT_UPDATE:
        p->vkCmdUpdateBuffer(c, s->buffer[x->b], offset_of(x->half_b), bytes_of(x->half_b), zero);
        break;
    case HDT_COPY:
        p->vkCmdCopyBuffer(c, s->buffer[x->a], s->buffer[x->b], 1, &buffers);
        break;
    case HDT_COPY_OUT:
        p->vkCmdCopyImageToBuffer(c, s->image[x->a], la, s->buffer[x->b], 1, &mixed);
        break;
    case HDT_COPY_IN:
        p->vkCmdCopyBufferToImage(c, s->buffer[x->a], s->image[x->b], lb, 1, &mixed);
        break;
    case HDT_COPY_IMAGE:
        p->vkCmdCopyImage(c, s->image[x->a], la, s->image[x->b], lb, 1, &images);
        break;
    case HDT_CLEAR:
        p->vkCmdClearColorImage(c, s->image[x->b], lb, &black, 1, &whole);
        break;
    case HDT_BLIT:
        p->vkCmdBlitImage(c, s->image[x->a], la, s->image[x->b], lb, 1, &blit, VK_FILTER_NEAREST);
        break;
    default:
        record_dispatch(p, s, c, x);
    }
}

static void record_barrier(hdt_player *p, stage *s, VkCommandBuffer c, const hdt_stream_item *x, const uint32_t *layout)
{
    VkMemoryBarrier2 global[2];
    VkBufferMemoryBarrier2 buffer[2];
    VkImageMemoryBarrier2 image[2];
    VkDependencyInfo info = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                             .pMemoryBarriers = global,
                             .pBufferMemoryBarriers = buffer,
                             .pImageMemoryBarriers = image};
    for (uint32_t i = 0; i < x->element_count; i++) {
        const hdt_element *e = &x->element[i];
        if (e->resource == HD_NONE)
            global[info.memoryBarrierCount++] = (VkMemoryBarrier2){
                VK_STRUCTURE_TYPE_MEMORY_BARRIER_2, NULL, e->src_stages, e->src_access, e->dst_stages, e->dst_access};
        else if (e->resource < HDT_BUFFERS)
            buffer[info.bufferMemoryBarrierCount++] =
                (VkBufferMemoryBarrier2){.sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER_2,
                                         .srcStageMask = e->src_stages,
                                         .srcAccessMask = e->src_access,
                                         .dstStageMask = e->dst_stages,
                                         .dstAccessMask = e->dst_access,
                                         .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                         .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                         .buffer = s->buffer[e->resource],
                                         .offset = offset_of(e->half),
                                         .size = bytes_of(e->half)};
        else
            image[info.imageMemoryBarrierCount++] =
                (VkImageMemoryBarrier2){.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER_2,
                                        .srcStageMask = e->src_stages,
                                        .srcAccessMask = e->src_access,
                                        .dstStageMask = e->dst_stages,
                                        .dstAccessMask = e->dst_access,
                                        .oldLayout = (VkImageLayout)layout[e->resource],
                                        .newLayout = (VkImageLayout)e->layout,
                                        .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                        .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                        .image = s->image[e->resource],
                                        .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}};
    }
    p->vkCmdPipelineBarrier2(c, &info);
}

static VkSemaphoreSubmitInfo semaphore(const stage *s, uint64_t value, uint64_t stages)
{
    return (VkSemaphoreSubmitInfo){.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
                                   .semaphore = s->timeline,
                                   .value = value,
                                   .stageMask = stages};
}

/* Items from begin on, to the end of their submit, which is returned. */
static uint32_t play_submit(hdt_player *p, stage *s, const hdt_stream *stream, hdt_layouts layouts, uint32_t begin)
{
    VkCommandBufferAllocateInfo allocate = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = s->pool, .commandBufferCount = 1};
    VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    VkCommandBuffer c;
    MUST(p->vkAllocateCommandBuffers(p->f.info.device, &allocate, &c));
    MUST(p->vkBeginCommandBuffer(c, &info));
    uint32_t i = begin;
    for (; i < stream->count && stream->item[i].kind != HDT_STREAM_CUT; i++) {
        if (stream->item[i].kind == HDT_STREAM_OP)
            record_op(p, s, c, &stream->item[i], layouts[i]);
        else
            record_barrier(p, s, c, &stream->item[i], layouts[i]);
    }
    MUST(p->vkEndCommandBuffer(c));
    const hdt_stream_item *before = begin ? &stream->item[begin - 1] : NULL;
    const hdt_stream_item *after = i < stream->count ? &stream->item[i] : NULL;
    VkSemaphoreSubmitInfo wait, signal;
    VkCommandBufferSubmitInfo commands = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO, .commandBuffer = c};
    VkSubmitInfo2 submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
                            .commandBufferInfoCount = 1,
                            .pCommandBufferInfos = &commands,
                            .pWaitSemaphoreInfos = &wait,
                            .pSignalSemaphoreInfos = &signal};
    if (before && before->wait) {
        wait = semaphore(s, before->wait, before->wait_stages);
        submit.waitSemaphoreInfoCount = 1;
    }
    if (after && after->id) {
        signal = semaphore(s, after->id, after->signal_stages);
        submit.signalSemaphoreInfoCount = 1;
    }
    MUST(p->vkQueueSubmit2(p->queue, 1, &submit, VK_NULL_HANDLE));
    return i + 1;
}

uint32_t hdt_play(hdt_player *p, const hdt_stream *stream, char *text, size_t bytes, uint32_t *others)
{
    stage s = {0};
    hdt_layouts layouts;
    if (!hdt_stream_layouts(stream, layouts))
        abort();
    p->hazards = 0;
    p->text = text;
    p->text_bytes = bytes;
    make_resources(p, &s);
    make_rest(p, &s);
    for (uint32_t begin = 0; begin <= stream->count;)
        begin = play_submit(p, &s, stream, layouts, begin);
    MUST(p->vkDeviceWaitIdle(p->f.info.device));
    release(p, &s);
    p->text = NULL;
    *others = p->others;
    return p->hazards;
}
