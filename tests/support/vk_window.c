#include "vk_window.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vk_faults.h"
#include "vk_fixture.h"

enum { MOST_IMAGES = 8 };

typedef struct surface {
    struct swapchain *current; /* not retired */
    uint32_t swapchains;
} surface;

typedef struct swapchain {
    surface *surface;
    VkDevice device;
    VkExtent2D extent;
    bool retired;
    uint32_t count, next;
    VkImage images[MOST_IMAGES];
    VkDeviceMemory memory[MOST_IMAGES];
    bool acquired[MOST_IMAGES];
} swapchain;

hdt_window hdt_the_window;

#define DEVICE_FUNCTIONS(X)                                                                                            \
    X(vkCreateImage)                                                                                                   \
    X(vkDestroyImage)                                                                                                  \
    X(vkAllocateMemory)                                                                                                \
    X(vkFreeMemory)                                                                                                    \
    X(vkGetImageMemoryRequirements)                                                                                    \
    X(vkBindImageMemory)                                                                                               \
    X(vkQueueSubmit2)
static struct {
#define MEMBER(name) PFN_##name name;
    DEVICE_FUNCTIONS(MEMBER)
} real;
static PFN_vkGetDeviceProcAddr real_device_proc, own_device_proc; /* own: its calls do not fail */

static void fault(const char *what)
{
    hdt_the_window.faults++;
    fprintf(stderr, "window: %s\n", what);
}

void hdt_window_reset(void)
{
    VkQueue queue = hdt_the_window.queue;
    hdt_the_window = (hdt_window){.queue = queue, .width = 64, .height = 48, .min_images = 2};
}

VkSurfaceKHR hdt_window_surface(void)
{
    hdt_the_window.live_surfaces++;
    return (VkSurfaceKHR)(uintptr_t)calloc(1, sizeof(surface));
}

void hdt_window_drop_surface(VkSurfaceKHR handle)
{
    surface *s = (surface *)(uintptr_t)handle;
    if (s->swapchains)
        fault("a surface is destroyed before its swapchains");
    hdt_the_window.live_surfaces--;
    free(s);
}

/* VK_SUCCESS, or what this call shall return instead. */
static VkResult enter(hdt_window_call call)
{
    hdt_window *w = &hdt_the_window;
    uint32_t number = ++w->calls[call];
    if (w->fail_at && call == w->fail_call && number >= w->fail_at && number < w->fail_at + w->fail_count)
        return w->failure;
    return VK_SUCCESS;
}

/* ---- surface ---- */

static VKAPI_ATTR VkResult VKAPI_CALL surface_support(VkPhysicalDevice device, uint32_t family, VkSurfaceKHR handle,
                                                      VkBool32 *out)
{
    (void)device;
    (void)handle;
    uint32_t families = hdt_the_window.present_families;
    *out = families == 0 || families >> family & 1;
    return enter(HDT_SURFACE_SUPPORT);
}

static VKAPI_ATTR VkResult VKAPI_CALL surface_caps(VkPhysicalDevice device, VkSurfaceKHR handle,
                                                   VkSurfaceCapabilitiesKHR *out)
{
    (void)device;
    (void)handle;
    const hdt_window *w = &hdt_the_window;
    VkExtent2D extent = {w->width, w->height};
    *out = (VkSurfaceCapabilitiesKHR){
        .minImageCount = w->min_images,
        .maxImageCount = w->max_images,
        .currentExtent = w->open_size ? (VkExtent2D){UINT32_MAX, UINT32_MAX} : extent,
        .minImageExtent = w->open_size ? (VkExtent2D){1, 1} : extent,
        .maxImageExtent = w->open_size ? (VkExtent2D){4096, 4096} : extent,
        .maxImageArrayLayers = 1,
        .supportedTransforms = VK_SURFACE_TRANSFORM_IDENTITY_BIT_KHR,
        .currentTransform = VK_SURFACE_TRANSFORM_IDENTITY_BIT_KHR,
        .supportedCompositeAlpha = VK_COMPOSITE_ALPHA_INHERIT_BIT_KHR,
        .supportedUsageFlags = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT |
                               (w->only_drawn_to ? 0u : VK_IMAGE_USAGE_TRANSFER_DST_BIT) |
                               (w->only_drawn_to || w->unreadable ? 0u : VK_IMAGE_USAGE_TRANSFER_SRC_BIT),
    };
    return enter(HDT_SURFACE_CAPS);
}

static VKAPI_ATTR VkResult VKAPI_CALL surface_formats(VkPhysicalDevice device, VkSurfaceKHR handle, uint32_t *count,
                                                      VkSurfaceFormatKHR *out)
{
    (void)device;
    (void)handle;
    static const VkSurfaceFormatKHR has[] = {{VK_FORMAT_R8G8B8A8_SRGB, VK_COLOR_SPACE_SRGB_NONLINEAR_KHR},
                                             {VK_FORMAT_R8G8B8A8_UNORM, VK_COLOR_SPACE_SRGB_NONLINEAR_KHR}};
    if (out)
        memcpy(out, has, sizeof(has));
    *count = 2;
    return enter(HDT_SURFACE_FORMATS);
}

static VKAPI_ATTR VkResult VKAPI_CALL surface_modes(VkPhysicalDevice device, VkSurfaceKHR handle, uint32_t *count,
                                                    VkPresentModeKHR *out)
{
    (void)device;
    (void)handle;
    out[0] = VK_PRESENT_MODE_FIFO_KHR;
    out[1] = VK_PRESENT_MODE_MAILBOX_KHR;
    *count = 2;
    return enter(HDT_SURFACE_MODES);
}

/* ---- swapchain ---- */

static void free_swapchain(swapchain *s)
{
    for (uint32_t i = 0; i < s->count; i++) {
        real.vkDestroyImage(s->device, s->images[i], NULL);
        real.vkFreeMemory(s->device, s->memory[i], NULL);
    }
    if (s->surface->current == s)
        s->surface->current = NULL;
    s->surface->swapchains--;
    hdt_the_window.live_swapchains--;
    free(s);
}

static VkResult make_image(swapchain *s, const VkSwapchainCreateInfoKHR *from)
{
    VkImageCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
        .imageType = VK_IMAGE_TYPE_2D,
        .format = from->imageFormat,
        .extent = {from->imageExtent.width, from->imageExtent.height, 1},
        .mipLevels = 1,
        .arrayLayers = 1,
        .samples = VK_SAMPLE_COUNT_1_BIT,
        .usage = from->imageUsage,
        .sharingMode = from->imageSharingMode,
        .queueFamilyIndexCount = from->queueFamilyIndexCount,
        .pQueueFamilyIndices = from->pQueueFamilyIndices,
    };
    VkResult result = real.vkCreateImage(s->device, &info, NULL, &s->images[s->count]);
    if (result != VK_SUCCESS)
        return result;
    VkMemoryRequirements needs;
    real.vkGetImageMemoryRequirements(s->device, s->images[s->count], &needs);
    uint32_t type = 0;
    while (!(needs.memoryTypeBits >> type & 1))
        type++;
    VkMemoryAllocateInfo memory = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = needs.size, .memoryTypeIndex = type};
    result = real.vkAllocateMemory(s->device, &memory, NULL, &s->memory[s->count]);
    if (result == VK_SUCCESS)
        result = real.vkBindImageMemory(s->device, s->images[s->count], s->memory[s->count], 0);
    s->count++;
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL create_swapchain(VkDevice device, const VkSwapchainCreateInfoKHR *info,
                                                       const VkAllocationCallbacks *memory, VkSwapchainKHR *out)
{
    (void)memory;
    hdt_window *w = &hdt_the_window;
    surface *to = (surface *)(uintptr_t)info->surface;
    swapchain *old = (swapchain *)(uintptr_t)info->oldSwapchain;
    if (to->current && to->current != old)
        fault("a surface has a swapchain already, which is not the old one");
    if (old && (old->retired || old->surface != to))
        fault("the old swapchain is retired or another surface's");
    if (info->imageExtent.width == 0 || info->imageExtent.height == 0)
        fault("a swapchain without extent");
    if (!w->open_size && (info->imageExtent.width != w->width || info->imageExtent.height != w->height))
        fault("a swapchain of another extent than its surface");
    if (info->minImageCount < w->min_images || (w->max_images && info->minImageCount > w->max_images))
        fault("a swapchain with too few or too many images");
    if (info->compositeAlpha != VK_COMPOSITE_ALPHA_INHERIT_BIT_KHR)
        fault("a composite alpha that the surface lacks");
    if (old)
        old->retired = true;
    to->current = NULL;
    VkResult result = enter(HDT_SWAPCHAIN_CREATE);
    if (result != VK_SUCCESS)
        return result;
    swapchain *s = calloc(1, sizeof(*s));
    *s = (swapchain){.surface = to, .device = device, .extent = info->imageExtent};
    to->swapchains++;
    to->current = s;
    w->live_swapchains++;
    w->swapchains++;
    for (uint32_t i = 0; i < info->minImageCount && result == VK_SUCCESS; i++)
        result = make_image(s, info);
    *out = (VkSwapchainKHR)(uintptr_t)s;
    return result;
}

static VKAPI_ATTR void VKAPI_CALL destroy_swapchain(VkDevice device, VkSwapchainKHR handle,
                                                    const VkAllocationCallbacks *memory)
{
    (void)device;
    (void)memory;
    free_swapchain((swapchain *)(uintptr_t)handle);
}

static VKAPI_ATTR VkResult VKAPI_CALL swapchain_images(VkDevice device, VkSwapchainKHR handle, uint32_t *count,
                                                       VkImage *out)
{
    (void)device;
    const swapchain *s = (const swapchain *)(uintptr_t)handle;
    if (out)
        memcpy(out, s->images, s->count * sizeof(*out));
    *count = s->count;
    return enter(HDT_SWAPCHAIN_IMAGES);
}

static VkResult submit(VkQueue queue, uint32_t wait_count, const VkSemaphore *waits, VkSemaphore signal)
{
    VkSemaphoreSubmitInfo wait_infos[8], signal_info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
                                                        .semaphore = signal,
                                                        .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT};
    for (uint32_t i = 0; i < wait_count; i++)
        wait_infos[i] = (VkSemaphoreSubmitInfo){.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
                                                .semaphore = waits[i],
                                                .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT};
    VkSubmitInfo2 info = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
        .waitSemaphoreInfoCount = wait_count,
        .pWaitSemaphoreInfos = wait_infos,
        .signalSemaphoreInfoCount = signal != VK_NULL_HANDLE,
        .pSignalSemaphoreInfos = &signal_info,
    };
    return real.vkQueueSubmit2(queue, 1, &info, VK_NULL_HANDLE);
}

static bool out_of_date(const swapchain *s)
{
    const hdt_window *w = &hdt_the_window;
    return s->retired || (!w->open_size && (s->extent.width != w->width || s->extent.height != w->height));
}

static VKAPI_ATTR VkResult VKAPI_CALL acquire(VkDevice device, VkSwapchainKHR handle, uint64_t timeout,
                                              VkSemaphore semaphore, VkFence fence, uint32_t *index)
{
    (void)device;
    (void)timeout;
    hdt_window *w = &hdt_the_window;
    swapchain *s = (swapchain *)(uintptr_t)handle;
    uint32_t acquired = 0;
    for (uint32_t i = 0; i < s->count; i++)
        acquired += s->acquired[i];
    if (s->retired)
        fault("an image of a retired swapchain is acquired");
    if (acquired > s->count - w->min_images)
        fault("so many images are acquired that an acquire need not end");
    if (fence)
        fault("a fence that this window does not know of");
    VkResult result = enter(HDT_ACQUIRE);
    if (result == VK_SUCCESS && out_of_date(s))
        result = VK_ERROR_OUT_OF_DATE_KHR;
    if (result != VK_SUCCESS && result != VK_SUBOPTIMAL_KHR)
        return result;
    while (s->acquired[s->next])
        s->next = (s->next + 1) % s->count;
    *index = s->next;
    s->acquired[s->next] = true;
    s->next = (s->next + 1) % s->count;
    VkResult submitted = submit(w->queue, 0, NULL, semaphore);
    return submitted != VK_SUCCESS ? submitted : w->suboptimal ? VK_SUBOPTIMAL_KHR : result;
}

static VKAPI_ATTR VkResult VKAPI_CALL present(VkQueue queue, const VkPresentInfoKHR *info)
{
    hdt_window *w = &hdt_the_window;
    swapchain *s = (swapchain *)(uintptr_t)info->pSwapchains[0];
    uint32_t index = info->pImageIndices[0];
    if (index >= s->count || !s->acquired[index])
        fault("an image is presented that is not acquired");
    if (w->on_present)
        w->on_present();
    VkResult result = enter(HDT_PRESENT);
    if (result == VK_ERROR_OUT_OF_HOST_MEMORY || result == VK_ERROR_OUT_OF_DEVICE_MEMORY ||
        result == VK_ERROR_DEVICE_LOST)
        return result;
    s->acquired[index] = false;
    VkResult submitted = submit(queue, info->waitSemaphoreCount, info->pWaitSemaphores, VK_NULL_HANDLE);
    if (submitted != VK_SUCCESS)
        return submitted;
    if (result == VK_SUCCESS && out_of_date(s))
        result = VK_ERROR_OUT_OF_DATE_KHR;
    if (result == VK_SUCCESS || result == VK_SUBOPTIMAL_KHR)
        w->presented++;
    return result == VK_SUCCESS && w->suboptimal ? VK_SUBOPTIMAL_KHR : result;
}

/* ---- entry ---- */

static PFN_vkVoidFunction VKAPI_CALL device_proc(VkDevice device, const char *name)
{
    static const struct {
        const char *name;
        PFN_vkVoidFunction function;
    } mine[] = {
        {"vkCreateSwapchainKHR", (PFN_vkVoidFunction)create_swapchain},
        {"vkDestroySwapchainKHR", (PFN_vkVoidFunction)destroy_swapchain},
        {"vkGetSwapchainImagesKHR", (PFN_vkVoidFunction)swapchain_images},
        {"vkAcquireNextImageKHR", (PFN_vkVoidFunction)acquire},
        {"vkQueuePresentKHR", (PFN_vkVoidFunction)present},
    };
#define LOAD(name) real.name = (PFN_##name)own_device_proc(device, #name);
    if (device && strcmp(name, "vkCreateSwapchainKHR") == 0) {
        DEVICE_FUNCTIONS(LOAD)
    }
    for (size_t i = 0; i < sizeof(mine) / sizeof(mine[0]); i++) {
        if (strcmp(name, mine[i].name) == 0)
            return mine[i].function;
    }
    return real_device_proc(device, name);
}

PFN_vkVoidFunction VKAPI_PTR hdt_window_proc(VkInstance instance, const char *name)
{
    static const struct {
        const char *name;
        PFN_vkVoidFunction function;
    } mine[] = {
        {"vkGetPhysicalDeviceSurfaceSupportKHR", (PFN_vkVoidFunction)surface_support},
        {"vkGetPhysicalDeviceSurfaceCapabilitiesKHR", (PFN_vkVoidFunction)surface_caps},
        {"vkGetPhysicalDeviceSurfaceFormatsKHR", (PFN_vkVoidFunction)surface_formats},
        {"vkGetPhysicalDeviceSurfacePresentModesKHR", (PFN_vkVoidFunction)surface_modes},
    };
    for (size_t i = 0; i < sizeof(mine) / sizeof(mine[0]); i++) {
        if (strcmp(name, mine[i].name) == 0)
            return mine[i].function;
    }
    PFN_vkVoidFunction found = hdt_faults_proc(instance, name);
    if (found && strcmp(name, "vkGetDeviceProcAddr") == 0) {
        real_device_proc = (PFN_vkGetDeviceProcAddr)found;
        own_device_proc = (PFN_vkGetDeviceProcAddr)hdt_vk_hooked(instance, name);
        return (PFN_vkVoidFunction)device_proc;
    }
    return found;
}
