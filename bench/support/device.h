/* A real device for benchmarks: an hd_vk, the device functions beside it, and the few objects that benchmarks make. */
#ifndef HDB_DEVICE_H
#define HDB_DEVICE_H

#include <heddle/vk.h>

#define HDB_DEVICE_FUNCTIONS(X)                                                                                        \
    X(vkAllocateCommandBuffers)                                                                                        \
    X(vkAllocateDescriptorSets)                                                                                        \
    X(vkAllocateMemory)                                                                                                \
    X(vkBeginCommandBuffer)                                                                                            \
    X(vkBindBufferMemory)                                                                                              \
    X(vkCmdBindDescriptorSets)                                                                                         \
    X(vkCmdBindPipeline)                                                                                               \
    X(vkCmdDispatch)                                                                                                   \
    X(vkCmdDraw)                                                                                                       \
    X(vkCmdFillBuffer)                                                                                                 \
    X(vkCmdPipelineBarrier2)                                                                                           \
    X(vkCmdPushConstants)                                                                                              \
    X(vkCmdResetQueryPool)                                                                                             \
    X(vkCmdWriteTimestamp2)                                                                                            \
    X(vkCreateBuffer)                                                                                                  \
    X(vkCreateCommandPool)                                                                                             \
    X(vkCreateComputePipelines)                                                                                        \
    X(vkCreateDescriptorPool)                                                                                          \
    X(vkCreateDescriptorSetLayout)                                                                                     \
    X(vkCreateFence)                                                                                                   \
    X(vkCreateGraphicsPipelines)                                                                                       \
    X(vkCreatePipelineLayout)                                                                                          \
    X(vkCreateQueryPool)                                                                                               \
    X(vkCreateShaderModule)                                                                                            \
    X(vkDestroyBuffer)                                                                                                 \
    X(vkDestroyCommandPool)                                                                                            \
    X(vkDestroyDescriptorPool)                                                                                         \
    X(vkDestroyDescriptorSetLayout)                                                                                    \
    X(vkDestroyFence)                                                                                                  \
    X(vkDestroyPipeline)                                                                                               \
    X(vkDestroyPipelineLayout)                                                                                         \
    X(vkDestroyQueryPool)                                                                                              \
    X(vkDestroyShaderModule)                                                                                           \
    X(vkEndCommandBuffer)                                                                                              \
    X(vkFreeMemory)                                                                                                    \
    X(vkGetBufferMemoryRequirements)                                                                                   \
    X(vkGetQueryPoolResults)                                                                                           \
    X(vkQueueSubmit2)                                                                                                  \
    X(vkResetFences)                                                                                                   \
    X(vkUpdateDescriptorSets)                                                                                          \
    X(vkWaitForFences)

typedef struct hdb_device {
#define HDB_DEVICE_MEMBER(name) PFN_##name name;
    HDB_DEVICE_FUNCTIONS(HDB_DEVICE_MEMBER)
#undef HDB_DEVICE_MEMBER
    hd_vk *vk;
    hd_vk_info info;
    VkPhysicalDeviceMemoryProperties memory;
    double ns_a_tick;
} hdb_device;

typedef struct hdb_buffer {
    VkBuffer buffer;
    VkDeviceMemory memory;
    uint64_t bytes;
} hdb_buffer;

typedef struct hdb_words {
    const uint32_t *words;
    size_t bytes;
} hdb_words;
#define HDB_WORDS(array) ((hdb_words){array, sizeof(array)})

/* Says on standard error what went wrong. */
bool hdb_device_open(hdb_device *device, const hd_vk_desc *desc);
void hdb_device_close(hdb_device *device);

/* A set of buffers storage buffers (0: no set) and bytes of push constants for those stages. */
VkDescriptorSetLayout hdb_set_layout(const hdb_device *device, uint32_t buffers);
VkPipelineLayout hdb_layout(const hdb_device *device, VkDescriptorSetLayout set, VkShaderStageFlags stages,
                            uint32_t bytes);
VkPipeline hdb_compute(const hdb_device *device, VkPipelineLayout layout, hdb_words words);
/* No vertices, one color target, no depth. */
VkPipeline hdb_graphics(const hdb_device *device, VkPipelineLayout layout, hdb_words vertex, hdb_words fragment,
                        VkFormat format);
/* In device memory; those of one call side by side in one allocation, which goes with the first. */
bool hdb_buffers_make(const hdb_device *device, uint64_t bytes, VkBufferUsageFlags usage, hdb_buffer *out,
                      uint32_t count);
bool hdb_buffer_make(const hdb_device *device, uint64_t bytes, VkBufferUsageFlags usage, hdb_buffer *out);
void hdb_buffer_free(const hdb_device *device, hdb_buffer *buffer);

#endif
