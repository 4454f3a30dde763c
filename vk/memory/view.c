#include "vk_device.h"
#include "vk_frame.h"
#include "vk_memory.h"
#include "vk_timing.h"

#include <string.h>

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

static hdi_vk_view *find_view(const hdi_vk_object *object, const hdi_vk_shape *shape)
{
    hdi_vk_view *view = object->views;
    while (view && memcmp(&view->shape, shape, sizeof(*shape)) != 0)
        view = view->next;
    return view;
}

static hd_result make_view(hd_vk *vk, hdi_vk_object *object, const hdi_vk_shape *shape, const char *name,
                           hdi_vk_view **out)
{
    const hd_range *range = &shape->range;
    hdi_vk_view *view = hdi_alloc(&vk->allocator, sizeof(*view), 64);
    if (!view)
        return HD_OUT_OF_MEMORY;
    *view = (hdi_vk_view){.next = object->views, .shape = *shape};
    hd_vk_view_info *made = &view->info;
    *made = (hd_vk_view_info){
        .image = object->image,
        .type = (VkImageViewType)shape->type,
        .format = (VkFormat)shape->format,
        .usage = shape->usage,
        .swizzle = shape->swizzle,
        .range = {range->aspect, range->mip_base, range->mip_count, range->layer_base, range->layer_count}};
    VkImageViewUsageCreateInfo usage = {.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_USAGE_CREATE_INFO, .usage = shape->usage};
    VkImageViewCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
        .pNext = shape->usage ? &usage : NULL,
        .image = object->image,
        .viewType = made->type,
        .format = made->format,
        .components = made->swizzle,
        .subresourceRange = made->range,
    };
    hd_result result =
        hdi_vk_result(vk, vk->fn.vkCreateImageView(vk->device, &info, NULL, &made->view), "vkCreateImageView");
    if (result != HD_OK) {
        hdi_free(&vk->allocator, view, sizeof(*view));
        return result;
    }
    hdi_vk_name(vk, VK_OBJECT_TYPE_IMAGE_VIEW, (uint64_t)(uintptr_t)made->view, name);
    made->serial = ++vk->view_serial;
    if (vk->view_callbacks.made)
        made->number = vk->view_callbacks.made(made, name ? name : "", vk->view_callbacks.user);
    object->views = view;
    *out = view;
    return HD_OK;
}

void hdi_vk_free_views(hd_vk *vk, hdi_vk_object *object)
{
    for (hdi_vk_view *view = object->views, *next; view; view = next) {
        next = view->next;
        if (vk->view_callbacks.dropped)
            vk->view_callbacks.dropped(&view->info, vk->view_callbacks.user);
        vk->fn.vkDestroyImageView(vk->device, view->info.view, NULL);
        hdi_free(&vk->allocator, view, sizeof(*view));
    }
    object->views = NULL;
}

VkImageView hdi_vk_view_get(hd_vk *vk, hdi_vk_slot *slot, hdi_vk_object *object, const hdi_vk_shape *shape,
                            const char *name, hd_vk_view_info *out)
{
    hd_result result = HD_OK;
    pthread_mutex_lock(&vk->view_lock);
    hdi_vk_view *view = find_view(object, shape);
    if (!view)
        result = make_view(vk, object, shape, name, &view);
    hd_vk_view_info info = result == HD_OK ? view->info : (hd_vk_view_info){0};
    pthread_mutex_unlock(&vk->view_lock);
    if (result != HD_OK)
        hdi_vk_note_failure(slot, result);
    if (out)
        *out = info;
    return info.view;
}
