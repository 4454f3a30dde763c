/* The Vulkan functions that heddle calls, as lists for loader.c and as the tables that an hd_vk holds. What destroys
 * comes first in each: a function further on that is missing must find it loaded. */
#ifndef HDI_VK_FUNCTIONS_H
#define HDI_VK_FUNCTIONS_H

#include <vulkan/vulkan_core.h>

#define HDI_VK_INSTANCE_FUNCTIONS(X)                                                                                   \
    X(vkDestroyInstance)                                                                                               \
    X(vkEnumeratePhysicalDevices)                                                                                      \
    X(vkGetPhysicalDeviceProperties)                                                                                   \
    X(vkGetPhysicalDeviceProperties2)                                                                                  \
    X(vkGetPhysicalDeviceFeatures2)                                                                                    \
    X(vkGetPhysicalDeviceMemoryProperties)                                                                             \
    X(vkGetPhysicalDeviceQueueFamilyProperties)                                                                        \
    X(vkGetPhysicalDeviceImageFormatProperties2)                                                                       \
    X(vkCreateDevice)                                                                                                  \
    X(vkGetDeviceProcAddr)

typedef struct hdi_vk_instance_table {
#define HDI_VK_MEMBER(name) PFN_##name name;
    HDI_VK_INSTANCE_FUNCTIONS(HDI_VK_MEMBER)
#undef HDI_VK_MEMBER
} hdi_vk_instance_table;

#define HDI_VK_DEVICE_FUNCTIONS(X)                                                                                     \
    X(vkDestroyDevice)                                                                                                 \
    X(vkGetDeviceQueue)                                                                                                \
    X(vkQueueSubmit2)                                                                                                  \
    X(vkQueueWaitIdle)                                                                                                 \
    X(vkCreateSemaphore)                                                                                               \
    X(vkDestroySemaphore)                                                                                              \
    X(vkWaitSemaphores)                                                                                                \
    X(vkSignalSemaphore)                                                                                               \
    X(vkCreateCommandPool)                                                                                             \
    X(vkDestroyCommandPool)                                                                                            \
    X(vkResetCommandPool)                                                                                              \
    X(vkAllocateCommandBuffers)                                                                                        \
    X(vkBeginCommandBuffer)                                                                                            \
    X(vkEndCommandBuffer)                                                                                              \
    X(vkCmdPipelineBarrier2)                                                                                           \
    X(vkCmdSetEvent2)                                                                                                  \
    X(vkCmdWaitEvents2)                                                                                                \
    X(vkCmdWriteTimestamp2)                                                                                            \
    X(vkCreateQueryPool)                                                                                               \
    X(vkDestroyQueryPool)                                                                                              \
    X(vkResetQueryPool)                                                                                                \
    X(vkGetQueryPoolResults)                                                                                           \
    X(vkCreateEvent)                                                                                                   \
    X(vkDestroyEvent)                                                                                                  \
    X(vkResetEvent)                                                                                                    \
    X(vkCmdExecuteCommands)                                                                                            \
    X(vkCmdBeginRendering)                                                                                             \
    X(vkCmdEndRendering)                                                                                               \
    X(vkCmdSetViewport)                                                                                                \
    X(vkCmdSetScissor)                                                                                                 \
    X(vkCmdClearColorImage)                                                                                            \
    X(vkCmdClearDepthStencilImage)                                                                                     \
    X(vkCmdCopyBuffer)                                                                                                 \
    X(vkCmdCopyImage)                                                                                                  \
    X(vkCmdCopyBufferToImage)                                                                                          \
    X(vkCmdCopyImageToBuffer)                                                                                          \
    X(vkCmdBlitImage)                                                                                                  \
    X(vkCmdResolveImage)                                                                                               \
    X(vkCmdFillBuffer)                                                                                                 \
    X(vkCreateImage)                                                                                                   \
    X(vkDestroyImage)                                                                                                  \
    X(vkCreateBuffer)                                                                                                  \
    X(vkDestroyBuffer)                                                                                                 \
    X(vkCreateImageView)                                                                                               \
    X(vkDestroyImageView)                                                                                              \
    X(vkAllocateMemory)                                                                                                \
    X(vkFreeMemory)                                                                                                    \
    X(vkMapMemory)                                                                                                     \
    X(vkBindImageMemory)                                                                                               \
    X(vkBindBufferMemory)                                                                                              \
    X(vkGetImageMemoryRequirements)                                                                                    \
    X(vkGetBufferMemoryRequirements)                                                                                   \
    X(vkGetDeviceImageMemoryRequirements)                                                                              \
    X(vkGetDeviceBufferMemoryRequirements)

typedef struct hdi_vk_device_table {
#define HDI_VK_MEMBER(name) PFN_##name name;
    HDI_VK_DEVICE_FUNCTIONS(HDI_VK_MEMBER)
    HDI_VK_MEMBER(vkCmdBeginDebugUtilsLabelEXT) /* null: no labels */
    HDI_VK_MEMBER(vkCmdEndDebugUtilsLabelEXT)
    HDI_VK_MEMBER(vkSetDebugUtilsObjectNameEXT) /* null: no names */
    HDI_VK_MEMBER(vkGetCalibratedTimestampsEXT) /* null: two time bases */
#undef HDI_VK_MEMBER
} hdi_vk_device_table;

#endif
