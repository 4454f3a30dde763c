#include "vk_device.h"

#include <stddef.h>
#include <string.h>

#include "alloc.h"

/* What an engine wants of a device that heddle makes, beyond what heddle needs. Drivers refuse what they lack without a
 * word about what it was; here it gets a name. */

/* clang-format off */
#define CORE(X)                                                                                                        \
    X(robustBufferAccess) X(fullDrawIndexUint32) X(imageCubeArray) X(independentBlend) X(geometryShader)               \
    X(tessellationShader) X(sampleRateShading) X(dualSrcBlend) X(logicOp) X(multiDrawIndirect)                         \
    X(drawIndirectFirstInstance) X(depthClamp) X(depthBiasClamp) X(fillModeNonSolid) X(depthBounds) X(wideLines)       \
    X(largePoints) X(alphaToOne) X(multiViewport) X(samplerAnisotropy) X(textureCompressionETC2)                       \
    X(textureCompressionASTC_LDR) X(textureCompressionBC) X(occlusionQueryPrecise) X(pipelineStatisticsQuery)          \
    X(vertexPipelineStoresAndAtomics) X(fragmentStoresAndAtomics) X(shaderTessellationAndGeometryPointSize)            \
    X(shaderImageGatherExtended) X(shaderStorageImageExtendedFormats) X(shaderStorageImageMultisample)                 \
    X(shaderStorageImageReadWithoutFormat) X(shaderStorageImageWriteWithoutFormat)                                     \
    X(shaderUniformBufferArrayDynamicIndexing) X(shaderSampledImageArrayDynamicIndexing)                               \
    X(shaderStorageBufferArrayDynamicIndexing) X(shaderStorageImageArrayDynamicIndexing) X(shaderClipDistance)         \
    X(shaderCullDistance) X(shaderFloat64) X(shaderInt64) X(shaderInt16) X(shaderResourceResidency)                    \
    X(shaderResourceMinLod) X(sparseBinding) X(sparseResidencyBuffer) X(sparseResidencyImage2D)                        \
    X(sparseResidencyImage3D) X(sparseResidency2Samples) X(sparseResidency4Samples) X(sparseResidency8Samples)         \
    X(sparseResidency16Samples) X(sparseResidencyAliased) X(variableMultisampleRate) X(inheritedQueries)

#define CORE_11(X)                                                                                                     \
    X(storageBuffer16BitAccess) X(uniformAndStorageBuffer16BitAccess) X(storagePushConstant16)                         \
    X(storageInputOutput16) X(multiview) X(multiviewGeometryShader) X(multiviewTessellationShader)                     \
    X(variablePointersStorageBuffer) X(variablePointers) X(protectedMemory) X(samplerYcbcrConversion)                  \
    X(shaderDrawParameters)

#define CORE_12(X)                                                                                                     \
    X(samplerMirrorClampToEdge) X(drawIndirectCount) X(storageBuffer8BitAccess) X(uniformAndStorageBuffer8BitAccess)   \
    X(storagePushConstant8) X(shaderBufferInt64Atomics) X(shaderSharedInt64Atomics) X(shaderFloat16) X(shaderInt8)     \
    X(descriptorIndexing) X(shaderInputAttachmentArrayDynamicIndexing)                                                 \
    X(shaderUniformTexelBufferArrayDynamicIndexing) X(shaderStorageTexelBufferArrayDynamicIndexing)                    \
    X(shaderUniformBufferArrayNonUniformIndexing) X(shaderSampledImageArrayNonUniformIndexing)                         \
    X(shaderStorageBufferArrayNonUniformIndexing) X(shaderStorageImageArrayNonUniformIndexing)                         \
    X(shaderInputAttachmentArrayNonUniformIndexing) X(shaderUniformTexelBufferArrayNonUniformIndexing)                 \
    X(shaderStorageTexelBufferArrayNonUniformIndexing) X(descriptorBindingUniformBufferUpdateAfterBind)                \
    X(descriptorBindingSampledImageUpdateAfterBind) X(descriptorBindingStorageImageUpdateAfterBind)                    \
    X(descriptorBindingStorageBufferUpdateAfterBind) X(descriptorBindingUniformTexelBufferUpdateAfterBind)             \
    X(descriptorBindingStorageTexelBufferUpdateAfterBind) X(descriptorBindingUpdateUnusedWhilePending)                 \
    X(descriptorBindingPartiallyBound) X(descriptorBindingVariableDescriptorCount) X(runtimeDescriptorArray)           \
    X(samplerFilterMinmax) X(scalarBlockLayout) X(imagelessFramebuffer) X(uniformBufferStandardLayout)                 \
    X(shaderSubgroupExtendedTypes) X(separateDepthStencilLayouts) X(hostQueryReset) X(timelineSemaphore)               \
    X(bufferDeviceAddress) X(bufferDeviceAddressCaptureReplay) X(bufferDeviceAddressMultiDevice) X(vulkanMemoryModel)  \
    X(vulkanMemoryModelDeviceScope) X(vulkanMemoryModelAvailabilityVisibilityChains) X(shaderOutputViewportIndex)      \
    X(shaderOutputLayer) X(subgroupBroadcastDynamicId)

#define CORE_13(X)                                                                                                     \
    X(robustImageAccess) X(inlineUniformBlock) X(descriptorBindingInlineUniformBlockUpdateAfterBind)                   \
    X(pipelineCreationCacheControl) X(privateData) X(shaderDemoteToHelperInvocation) X(shaderTerminateInvocation)      \
    X(subgroupSizeControl) X(computeFullSubgroups) X(synchronization2) X(textureCompressionASTC_HDR)                   \
    X(shaderZeroInitializeWorkgroupMemory) X(dynamicRendering) X(shaderIntegerDotProduct) X(maintenance4)

/* clang-format on */

typedef struct feature {
    const char *name;
    size_t offset;
} feature;

static VkBool32 at(const void *features, size_t offset)
{
    VkBool32 value;
    memcpy(&value, (const char *)features + offset, sizeof(value));
    return value;
}

/* The first that is wanted and not there; null: none. */
static const char *find_missing(const feature *all, size_t count, const void *wanted, const void *has)
{
    for (size_t i = 0; wanted && i < count; i++) {
        if (at(wanted, all[i].offset) && !at(has, all[i].offset))
            return all[i].name;
    }
    return NULL;
}

#define IN(type, name)                                                                                                 \
    {                                                                                                                  \
#name, offsetof(type, name)                                                                                    \
    }
#define IN_CORE(name) IN(VkPhysicalDeviceFeatures, name),
#define IN_11(name) IN(VkPhysicalDeviceVulkan11Features, name),
#define IN_12(name) IN(VkPhysicalDeviceVulkan12Features, name),
#define IN_13(name) IN(VkPhysicalDeviceVulkan13Features, name),

hd_result hdi_vk_check_features(hd_vk *vk, const hd_vk_desc *desc)
{
    static const feature core[] = {CORE(IN_CORE)}, core11[] = {CORE_11(IN_11)}, core12[] = {CORE_12(IN_12)},
                         core13[] = {CORE_13(IN_13)};
#define MISSING(all, wanted, has) find_missing(all, sizeof(all) / sizeof(all[0]), wanted, has)
    VkPhysicalDeviceVulkan13Features has13 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES};
    VkPhysicalDeviceVulkan12Features has12 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                                              .pNext = &has13};
    VkPhysicalDeviceVulkan11Features has11 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES,
                                              .pNext = &has12};
    VkPhysicalDeviceFeatures2 has = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &has11};
    vk->in.vkGetPhysicalDeviceFeatures2(vk->physical_device, &has);
    const char *missing = MISSING(core, desc->features, &has.features);
    if (!missing)
        missing = MISSING(core11, desc->features11, &has11);
    if (!missing)
        missing = MISSING(core12, desc->features12, &has12);
    if (!missing)
        missing = MISSING(core13, desc->features13, &has13);
    if (!missing)
        return HD_OK;
    hdi_log(&vk->log, HD_LOG_ERROR, "%s lacks the feature %s, which the engine asks for", vk->device_name, missing);
    return HD_MISSING_FEATURE;
}

/* ---- of a device that is adopted ---- */

/* A feature that heddle uses: where it stands in Vulkan's own structure, or in that of the extension that it was. */
typedef struct used_feature {
    feature in;
    bool of_13; /* else of 1.2 */
    VkStructureType alone;
    size_t alone_offset;
} used_feature;

/* What the engine says of it. Without a word about any feature it is taken to be enabled. */
static bool is_enabled(const hd_vk_desc *desc, const used_feature *f)
{
    const void *given = f->of_13 ? (const void *)desc->features13 : (const void *)desc->features12;
    bool enabled = !desc->features12 && !desc->features13 && !desc->device_next;
    if (given)
        return at(given, f->in.offset);
    for (const VkBaseInStructure *next = desc->device_next; next; next = next->pNext) {
        if (next->sType == (f->of_13 ? VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES
                                     : VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES))
            enabled |= at(next, f->in.offset);
        else if (next->sType == f->alone)
            enabled |= at(next, f->alone_offset);
    }
    return enabled;
}

#define ALONE(of_13, type, name, extension, structure_type)                                                            \
    {                                                                                                                  \
        IN(type, name), of_13, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_##structure_type##_FEATURES,                          \
            offsetof(VkPhysicalDevice##extension##Features, name)                                                      \
    }
#define ALONE_12(name, extension, structure_type)                                                                      \
    ALONE(false, VkPhysicalDeviceVulkan12Features, name, extension, structure_type)
#define ALONE_13(name, extension, structure_type)                                                                      \
    ALONE(true, VkPhysicalDeviceVulkan13Features, name, extension, structure_type)

hd_result hdi_vk_check_adopted(hd_vk *vk, const hd_vk_desc *desc)
{
    static const used_feature needed[] = {
        ALONE_12(timelineSemaphore, TimelineSemaphore, TIMELINE_SEMAPHORE),
        ALONE_13(synchronization2, Synchronization2, SYNCHRONIZATION_2),
        ALONE_13(dynamicRendering, DynamicRendering, DYNAMIC_RENDERING),
        ALONE_13(maintenance4, Maintenance4, MAINTENANCE_4),
        ALONE_12(hostQueryReset, HostQueryReset, HOST_QUERY_RESET), /* last: where frames are timed */
    };
    static const used_feature apart =
        ALONE_12(separateDepthStencilLayouts, SeparateDepthStencilLayouts, SEPARATE_DEPTH_STENCIL_LAYOUTS);
    size_t count = sizeof(needed) / sizeof(needed[0]) - (desc->timed_frames == 0);
    vk->aspects_apart &= is_enabled(desc, &apart);
    for (size_t i = 0; i < count; i++) {
        if (is_enabled(desc, &needed[i]))
            continue;
        hdi_log(&vk->log, HD_LOG_ERROR, "the adopted device was made without the feature %s, which heddle needs%s",
                needed[i].in.name, i == 4 ? " where frames are timed" : "");
        return HD_MISSING_FEATURE;
    }
    return HD_OK;
}

/* ---- extensions ---- */

typedef VkResult (*enumerate_fn)(hd_vk *vk, uint32_t *count, VkExtensionProperties *out);

static VkResult of_instance(hd_vk *vk, uint32_t *count, VkExtensionProperties *out)
{
    PFN_vkEnumerateInstanceExtensionProperties enumerate =
        (PFN_vkEnumerateInstanceExtensionProperties)vk->get_instance_proc(NULL,
                                                                          "vkEnumerateInstanceExtensionProperties");
    return enumerate ? enumerate(NULL, count, out) : VK_ERROR_INITIALIZATION_FAILED;
}

static VkResult of_device(hd_vk *vk, uint32_t *count, VkExtensionProperties *out)
{
    PFN_vkEnumerateDeviceExtensionProperties enumerate =
        (PFN_vkEnumerateDeviceExtensionProperties)vk->get_instance_proc(vk->instance,
                                                                        "vkEnumerateDeviceExtensionProperties");
    return enumerate ? enumerate(vk->physical_device, NULL, count, out) : VK_ERROR_INITIALIZATION_FAILED;
}

/* Of a call that has failed for lack of an extension; says nothing where it cannot find out which. */
static void name_missing(hd_vk *vk, enumerate_fn enumerate, const char *const *wanted, uint32_t wanted_count,
                         const char *owner)
{
    uint32_t count = 0;
    if (enumerate(vk, &count, NULL) != VK_SUCCESS)
        return;
    size_t bytes = ((size_t)count + 1) * sizeof(VkExtensionProperties);
    VkExtensionProperties *all = hdi_alloc(&vk->allocator, bytes, 64);
    if (!all)
        return;
    if (enumerate(vk, &count, all) >= VK_SUCCESS) {
        for (uint32_t w = 0; w < wanted_count; w++) {
            bool found = false;
            for (uint32_t i = 0; i < count; i++)
                found |= strcmp(all[i].extensionName, wanted[w]) == 0;
            if (!found)
                hdi_log(&vk->log, HD_LOG_ERROR, "%s has no extension %s, which the engine asks for", owner, wanted[w]);
        }
    }
    hdi_free(&vk->allocator, all, bytes);
}

void hdi_vk_name_missing_extensions(hd_vk *vk, const hd_vk_desc *desc, bool device)
{
    if (device)
        name_missing(vk, of_device, desc->device_extensions, desc->device_extension_count, vk->device_name);
    else
        name_missing(vk, of_instance, desc->instance_extensions, desc->instance_extension_count, "the Vulkan instance");
}
