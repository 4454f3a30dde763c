#include "swapchain.h"

#include <string.h>

#include "alloc.h"
#include "vk_device.h"
#include "vk_frame.h"
#include "vk_memory.h"
#include "vk_timing.h"
#include "vk_window.h"

/* VkSwapchainKHR objects. A new one takes over from the old (oldSwapchain), which is retired: frames in flight may
 * still use its images, and presents its semaphores. Vulkan says of frames when they have finished, of presents it does
 * not. But when an image of the successor was presented and acquired again, and a frame that waited for that has
 * finished, then so has that present, and with it all earlier ones on that queue: then a retired chain goes. A window
 * that is being dragged makes chains faster than that: when a few have gathered, their queues are waited for. */

enum { MOST_RETIRED = 3 };

hd_result hdi_vk_chain_result(hd_vk_swapchain *s, VkResult result, const char *what)
{
    if (result == VK_ERROR_SURFACE_LOST_KHR)
        s->surface_lost = true;
    return hdi_vk_result(s->vk, result, what);
}

/* ---- the end of one ---- */

static void free_chain(hd_vk_swapchain *s, hdi_vk_chain *chain)
{
    hd_vk *vk = s->vk;
    for (uint32_t i = 0; i < chain->image_count; i++) {
        hdi_vk_drop_import(vk, chain->images[i].serial);
        if (chain->images[i].written)
            vk->fn.vkDestroySemaphore(vk->device, chain->images[i].written, NULL);
    }
    for (uint32_t i = 0; i < HDI_VK_ACQUIRES; i++) {
        if (chain->acquires[i].semaphore)
            vk->fn.vkDestroySemaphore(vk->device, chain->acquires[i].semaphore, NULL);
    }
    if (chain->swapchain)
        s->vkDestroySwapchainKHR(vk->device, chain->swapchain, NULL);
    hdi_free(&vk->allocator, chain->images, chain->image_room * sizeof(*chain->images));
    hdi_free(&vk->allocator, chain, sizeof(*chain));
}

static void free_retired(hd_vk_swapchain *s)
{
    while (s->retired) {
        hdi_vk_chain *chain = s->retired;
        s->retired = chain->next;
        free_chain(s, chain);
    }
}

/* Nothing uses any chain any more. */
static void wait_for_use(hd_vk_swapchain *s)
{
    hd_vk *vk = s->vk;
    uint32_t queues = s->chain ? s->chain->queues : 0;
    if (s->held) /* its acquire may be under way on any queue: window systems signal semaphores by submits, too */
        queues = UINT32_MAX;
    for (const hdi_vk_chain *chain = s->retired; chain; chain = chain->next)
        queues |= chain->queues;
    if (hdi_vk_wait_all(vk) != HD_OK)
        hdi_vk_drain(vk);
    for (uint32_t q = 0; q < vk->queue_count; q++) {
        if (queues >> q & 1)
            vk->fn.vkQueueWaitIdle(vk->queues[q].desc.queue); /* its failure leaves nothing better to do */
    }
}

static void retire(hd_vk_swapchain *s)
{
    s->chain->last_frame = s->vk->frame;
    s->chain->next = s->retired;
    s->retired = s->chain;
    s->chain = NULL;
    s->held = false;
    hdi_vk_drop_syncs(s->vk, NULL, &s->told); /* of a frame that was not executed */
}

void hdi_vk_chain_sweep(hd_vk_swapchain *s)
{
    const hdi_vk_chain *now = s->chain;
    if (!s->retired || !now || !now->cycled || now->cycled + s->vk->slot_count > s->vk->frame)
        return;
    for (const hdi_vk_chain *chain = s->retired; chain; chain = chain->next) {
        if (chain->last_frame + s->vk->slot_count > s->vk->frame || (chain->queues | now->queues) != now->queues ||
            (now->queues & (now->queues - 1)) != 0)
            return; /* in flight, or of several queues, whose presents have no order */
    }
    free_retired(s);
}

void hdi_vk_chain_drop_all(hd_vk_swapchain *s)
{
    wait_for_use(s);
    if (s->chain)
        retire(s);
    free_retired(s);
}

/* ---- what the surface can ---- */

hd_result hdi_vk_chain_look_at_surface(hd_vk_swapchain *s)
{
    hd_vk *vk = s->vk;
    s->can_present = 0;
    for (uint32_t q = 0; q < vk->queue_count; q++) {
        VkBool32 can = VK_FALSE;
        VkResult result =
            s->vkGetPhysicalDeviceSurfaceSupportKHR(vk->physical_device, vk->queues[q].desc.family, s->surface, &can);
        if (result != VK_SUCCESS)
            return hdi_vk_chain_result(s, result, "vkGetPhysicalDeviceSurfaceSupportKHR");
        s->can_present |= (can != VK_FALSE) << q;
    }
    if (s->can_present)
        return HD_OK;
    return hdi_vk_fail(vk, HD_UNSUPPORTED, HD_NONE, HD_NONE,
                       "%s has no queue among those of this hd_vk that can present to the surface", vk->device_name);
}

static VkSurfaceFormatKHR best_format(const hd_vk_swapchain *s, const VkSurfaceFormatKHR *has, uint32_t count)
{
    static const VkSurfaceFormatKHR usual[] = {
        {VK_FORMAT_B8G8R8A8_UNORM, VK_COLOR_SPACE_SRGB_NONLINEAR_KHR},
        {VK_FORMAT_R8G8B8A8_UNORM, VK_COLOR_SPACE_SRGB_NONLINEAR_KHR},
        {VK_FORMAT_A8B8G8R8_UNORM_PACK32, VK_COLOR_SPACE_SRGB_NONLINEAR_KHR},
    };
    for (uint32_t w = 0; w < s->format_count + 3; w++) {
        const VkSurfaceFormatKHR *wish = w < s->format_count ? &s->formats[w] : &usual[w - s->format_count];
        for (uint32_t i = 0; i < count; i++) {
            if (has[i].format == wish->format && has[i].colorSpace == wish->colorSpace)
                return *wish;
        }
    }
    return has[0];
}

static hd_result choose_format(hd_vk_swapchain *s, VkSurfaceFormatKHR *out)
{
    hd_vk *vk = s->vk;
    uint32_t count = 0;
    VkResult got = s->vkGetPhysicalDeviceSurfaceFormatsKHR(vk->physical_device, s->surface, &count, NULL);
    if (got != VK_SUCCESS)
        return hdi_vk_chain_result(s, got, "vkGetPhysicalDeviceSurfaceFormatsKHR");
    size_t bytes = ((size_t)count + 1) * sizeof(VkSurfaceFormatKHR);
    VkSurfaceFormatKHR *has = hdi_alloc(&vk->allocator, bytes, 64);
    if (!has)
        return HD_OUT_OF_MEMORY;
    got = s->vkGetPhysicalDeviceSurfaceFormatsKHR(vk->physical_device, s->surface, &count, has);
    hd_result result =
        got == VK_INCOMPLETE ? HD_OK : hdi_vk_chain_result(s, got, "vkGetPhysicalDeviceSurfaceFormatsKHR");
    if (result == HD_OK && count == 0)
        result = hdi_vk_fail(vk, HD_UNSUPPORTED, HD_NONE, HD_NONE, "the surface has no format");
    if (result == HD_OK)
        *out = best_format(s, has, count);
    hdi_free(&vk->allocator, has, bytes);
    return result;
}

static hd_result choose_mode(hd_vk_swapchain *s, VkPresentModeKHR *out)
{
    VkPresentModeKHR has[32]; /* Vulkan has fewer */
    uint32_t count = 32;
    VkResult got = s->vkGetPhysicalDeviceSurfacePresentModesKHR(s->vk->physical_device, s->surface, &count, has);
    if (got != VK_SUCCESS && got != VK_INCOMPLETE)
        return hdi_vk_chain_result(s, got, "vkGetPhysicalDeviceSurfacePresentModesKHR");
    *out = VK_PRESENT_MODE_FIFO_KHR; /* every surface has it */
    for (uint32_t w = s->mode_count; w-- > 0;) {
        for (uint32_t i = 0; i < count; i++)
            *out = has[i] == s->modes[w] ? has[i] : *out;
    }
    return HD_OK;
}

static uint32_t clamp(uint32_t value, uint32_t least, uint32_t most)
{
    return value < least ? least : value > most ? most : value;
}

/* Of 0 in one direction: the window is minimised. */
static VkExtent2D choose_extent(const hd_vk_swapchain *s, const VkSurfaceCapabilitiesKHR *caps)
{
    if (caps->currentExtent.width != UINT32_MAX)
        return caps->currentExtent;
    if (s->width == 0 || s->height == 0)
        return (VkExtent2D){0, 0};
    return (VkExtent2D){clamp(s->width, caps->minImageExtent.width, caps->maxImageExtent.width),
                        clamp(s->height, caps->minImageExtent.height, caps->maxImageExtent.height)};
}

static VkCompositeAlphaFlagBitsKHR choose_alpha(VkCompositeAlphaFlagsKHR has)
{
    if (has & VK_COMPOSITE_ALPHA_OPAQUE_BIT_KHR || has == 0)
        return VK_COMPOSITE_ALPHA_OPAQUE_BIT_KHR;
    return (VkCompositeAlphaFlagBitsKHR)(has & (~has + 1)); /* the lowest */
}

/* ---- making ---- */

static hd_result make_semaphore(hd_vk *vk, VkSemaphore *out)
{
    VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
    VkResult result = vk->fn.vkCreateSemaphore(vk->device, &info, NULL, out);
    if (result != VK_SUCCESS)
        *out = VK_NULL_HANDLE;
    else
        hdi_vk_name(vk, VK_OBJECT_TYPE_SEMAPHORE, (uint64_t)(uintptr_t)*out, "swapchain");
    return hdi_vk_result(vk, result, "vkCreateSemaphore for a swapchain");
}

static hd_result get_images(hd_vk_swapchain *s, hdi_vk_chain *chain)
{
    hd_vk *vk = s->vk;
    uint32_t count = 0;
    VkResult got = s->vkGetSwapchainImagesKHR(vk->device, chain->swapchain, &count, NULL);
    if (got != VK_SUCCESS)
        return hdi_vk_chain_result(s, got, "vkGetSwapchainImagesKHR");
    size_t bytes = ((size_t)count + 1) * sizeof(VkImage);
    VkImage *images = hdi_alloc(&vk->allocator, bytes, 64);
    chain->images = hdi_alloc(&vk->allocator, ((size_t)count + 1) * sizeof(*chain->images), 64);
    chain->image_room = chain->images ? count + 1 : 0;
    hd_result result = images && chain->images ? HD_OK : HD_OUT_OF_MEMORY;
    if (result == HD_OK)
        result = hdi_vk_chain_result(s, s->vkGetSwapchainImagesKHR(vk->device, chain->swapchain, &count, images),
                                     "vkGetSwapchainImagesKHR");
    for (uint32_t i = 0; i < count && result == HD_OK; i++) {
        chain->images[i] = (hdi_vk_shown){.image = images[i], .serial = ++vk->heap_serial | HDI_VK_OWN_SERIAL};
        chain->image_count = i + 1;
        result = make_semaphore(vk, &chain->images[i].written);
    }
    for (uint32_t i = 0; i < vk->slot_count + 1 && result == HD_OK; i++)
        result = make_semaphore(vk, &chain->acquires[i].semaphore);
    hdi_free(&vk->allocator, images, bytes);
    return result;
}

static hd_result create_swapchain(hd_vk_swapchain *s, hdi_vk_chain *chain)
{
    hd_vk *vk = s->vk;
    const VkSurfaceCapabilitiesKHR *caps = &chain->caps;
    uint32_t least = caps->minImageCount, most = caps->maxImageCount ? caps->maxImageCount : UINT32_MAX;
    VkImageUsageFlags helpful = VK_IMAGE_USAGE_TRANSFER_DST_BIT & caps->supportedUsageFlags;
    bool shared = s->sharing == HD_SHARING_CONCURRENT && vk->family_count > 1;
    if (s->usage & ~caps->supportedUsageFlags)
        return hdi_vk_fail(vk, HD_UNSUPPORTED, HD_NONE, HD_NONE, "images of the surface cannot have the usage 0x%x",
                           s->usage & ~caps->supportedUsageFlags);
    VkSwapchainCreateInfoKHR info = {
        .sType = VK_STRUCTURE_TYPE_SWAPCHAIN_CREATE_INFO_KHR,
        .surface = s->surface,
        .minImageCount = clamp(s->image_count ? s->image_count : least + 1, least, most),
        .imageFormat = chain->format.format,
        .imageColorSpace = chain->format.colorSpace,
        .imageExtent = chain->extent,
        .imageArrayLayers = 1,
        .imageUsage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | helpful | s->usage,
        .imageSharingMode = shared ? VK_SHARING_MODE_CONCURRENT : VK_SHARING_MODE_EXCLUSIVE,
        .queueFamilyIndexCount = shared ? vk->family_count : 0,
        .pQueueFamilyIndices = shared ? vk->families : NULL,
        .preTransform = caps->currentTransform,
        .compositeAlpha = choose_alpha(caps->supportedCompositeAlpha),
        .presentMode = chain->mode,
        .clipped = VK_TRUE,
        .oldSwapchain = s->chain ? s->chain->swapchain : VK_NULL_HANDLE,
    };
    VkResult made = s->vkCreateSwapchainKHR(vk->device, &info, NULL, &chain->swapchain);
    if (s->chain) /* the old one is retired even when this failed */
        retire(s);
    if (made != VK_SUCCESS)
        chain->swapchain = VK_NULL_HANDLE;
    return hdi_vk_chain_result(s, made, "vkCreateSwapchainKHR");
}

static bool same_surface(const hdi_vk_chain *chain, const VkSurfaceCapabilitiesKHR *caps, VkExtent2D extent)
{
    return chain->extent.width == extent.width && chain->extent.height == extent.height &&
           chain->caps.currentTransform == caps->currentTransform;
}

static uint32_t count_retired(const hd_vk_swapchain *s)
{
    uint32_t count = 0;
    for (const hdi_vk_chain *chain = s->retired; chain; chain = chain->next)
        count++;
    return count;
}

hd_result hdi_vk_chain_make(hd_vk_swapchain *s)
{
    hd_vk *vk = s->vk;
    VkSurfaceCapabilitiesKHR caps;
    VkResult got = s->vkGetPhysicalDeviceSurfaceCapabilitiesKHR(vk->physical_device, s->surface, &caps);
    if (got != VK_SUCCESS)
        return hdi_vk_chain_result(s, got, "vkGetPhysicalDeviceSurfaceCapabilitiesKHR");
    VkExtent2D extent = choose_extent(s, &caps);
    if (extent.width == 0 || extent.height == 0) {
        s->stale = true;
        return HD_OK;
    }
    bool same = s->chain && same_surface(s->chain, &caps, extent), only_suboptimal = s->suboptimal && !s->stale;
    if (same && only_suboptimal && s->chain->accept_suboptimal) {
        s->suboptimal = false;
        return HD_OK;
    }
    if (count_retired(s) >= MOST_RETIRED) {
        wait_for_use(s);
        free_retired(s);
    }
    hdi_vk_chain *chain = hdi_alloc(&vk->allocator, sizeof(*chain), 64);
    if (!chain)
        return HD_OUT_OF_MEMORY;
    memset(chain, 0, sizeof(*chain));
    chain->caps = caps;
    chain->extent = extent;
    chain->accept_suboptimal = same && only_suboptimal;
    hd_result result = choose_format(s, &chain->format);
    if (result == HD_OK)
        result = choose_mode(s, &chain->mode);
    if (result == HD_OK)
        result = create_swapchain(s, chain);
    if (result == HD_OK)
        result = get_images(s, chain);
    if (result != HD_OK) {
        free_chain(s, chain);
        return result;
    }
    s->chain = chain;
    s->stale = s->suboptimal = false;
    s->made++;
    return HD_OK;
}
