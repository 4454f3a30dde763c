#include "vk_device.h"
#include "vk_frame.h"
#include "vk_memory.h"

#include "alloc.h"

/* Image views hang on their object in a list: an object has few, and the lists live and die with it. Any worker may
 * ask, so one lock guards all lists; a hit holds it for a few comparisons. Views of imports live for one frame: the
 * engine may destroy an image and get another one behind the same handle, which no comparison would show. */

VkImageAspectFlags hdi_vk_aspects(uint32_t format)
{
    VkImageAspectFlags aspects = (hdi_format_has_depth(format) ? VK_IMAGE_ASPECT_DEPTH_BIT : 0u) |
                                 (hdi_format_has_stencil(format) ? VK_IMAGE_ASPECT_STENCIL_BIT : 0u);
    return aspects ? aspects : VK_IMAGE_ASPECT_COLOR_BIT;
}

static VkImageView find_view(const hdi_vk_object *object, const hd_range *range, VkImageAspectFlags aspects,
                             VkImageViewType type)
{
    for (const hdi_vk_view *view = object->views; view; view = view->next) {
        if (view->range.mip_base == range->mip_base && view->range.mip_count == range->mip_count &&
            view->range.layer_base == range->layer_base && view->range.layer_count == range->layer_count &&
            view->aspects == aspects && view->type == (uint32_t)type)
            return view->view;
    }
    return VK_NULL_HANDLE;
}

static hd_result make_view(hd_vk *vk, hdi_vk_object *object, const hd_range *range, VkImageAspectFlags aspects,
                           VkImageViewType type, VkImageView *out)
{
    hdi_vk_view *view = hdi_alloc(&vk->allocator, sizeof(*view), 64);
    if (!view)
        return HD_OUT_OF_MEMORY;
    *view = (hdi_vk_view){.next = object->views, .range = *range, .aspects = aspects, .type = (uint32_t)type};
    VkImageViewCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
        .image = object->image,
        .viewType = type,
        .format = (VkFormat)object->key.format,
        .subresourceRange = {aspects, range->mip_base, range->mip_count, range->layer_base, range->layer_count},
    };
    hd_result result =
        hdi_vk_result(vk, vk->fn.vkCreateImageView(vk->device, &info, NULL, &view->view), "vkCreateImageView");
    if (result != HD_OK) {
        hdi_free(&vk->allocator, view, sizeof(*view));
        return result;
    }
    object->views = view;
    *out = view->view;
    return HD_OK;
}

void hdi_vk_free_views(hd_vk *vk, hdi_vk_object *object)
{
    for (hdi_vk_view *view = object->views, *next; view; view = next) {
        next = view->next;
        vk->fn.vkDestroyImageView(vk->device, view->view, NULL);
        hdi_free(&vk->allocator, view, sizeof(*view));
    }
    object->views = NULL;
}

VkImageView hdi_vk_view_get(hd_vk *vk, hdi_vk_slot *slot, hdi_vk_object *object, const hd_range *range,
                            VkImageAspectFlags aspects, VkImageViewType type)
{
    hd_result result = HD_OK;
    pthread_mutex_lock(&vk->view_lock);
    VkImageView view = find_view(object, range, aspects, type);
    if (view == VK_NULL_HANDLE)
        result = make_view(vk, object, range, aspects, type, &view);
    pthread_mutex_unlock(&vk->view_lock);
    if (result != HD_OK)
        hdi_vk_note_failure(slot, result);
    return view;
}
