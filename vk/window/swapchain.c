#include "swapchain.h"

#include <string.h>

#include "alloc.h"
#include "graph_state.h"
#include "vk_device.h"
#include "vk_frame.h"
#include "vk_window.h"

/* A window's images as imports of frames. An acquired image stays held until a frame that used it was executed and then
 * presented: a frame that failed, or did without, leaves it to the next, so that neither images nor signals of
 * semaphores are lost. Out of date and suboptimal only mark the chain stale; the next acquire makes another one
 * (chain.c).
 *
 * Semaphores: one an image for the present, free again when the image is acquired the next time; one a frame in flight
 * and one more for the acquire, free again when the frame that waited has finished. */

enum { TRIES = 3 };

/* ---- create and destroy ---- */

static const char *load(hd_vk_swapchain *s)
{
    const hd_vk *vk = s->vk;
#define LOAD(name)                                                                                                     \
    s->name = (PFN_##name)vk->get_instance_proc(vk->instance, #name);                                                  \
    if (!s->name)                                                                                                      \
        return "VK_KHR_surface, an instance extension,";
    HDI_VK_SURFACE_FUNCTIONS(LOAD)
#undef LOAD
#define LOAD(name)                                                                                                     \
    s->name = (PFN_##name)vk->in.vkGetDeviceProcAddr(vk->device, #name);                                               \
    if (!s->name)                                                                                                      \
        return "VK_KHR_swapchain, a device extension,";
    HDI_VK_SWAPCHAIN_FUNCTIONS(LOAD)
#undef LOAD
    return NULL;
}

static void copy_wishes(hd_vk_swapchain *s, const hd_vk_swapchain_desc *desc)
{
    s->format_count = desc->format_count < HDI_VK_WISHES ? desc->format_count : HDI_VK_WISHES;
    s->mode_count = desc->present_mode_count < HDI_VK_WISHES ? desc->present_mode_count : HDI_VK_WISHES;
    if (s->format_count)
        memcpy(s->formats, desc->formats, s->format_count * sizeof(*s->formats));
    if (s->mode_count)
        memcpy(s->modes, desc->present_modes, s->mode_count * sizeof(*s->modes));
}

static hd_result open_surface(hd_vk_swapchain *s)
{
    if (!s->surface)
        return HD_OK;
    hd_result result = hdi_vk_chain_look_at_surface(s);
    return result == HD_OK ? hdi_vk_chain_make(s) : result;
}

/* Null, or what is wrong with the description. */
static const char *desc_fault(const hd_vk_swapchain_desc *desc)
{
    if (desc->format_count && !desc->formats)
        return "formats is null and format_count is not 0";
    if (desc->present_mode_count && !desc->present_modes)
        return "present_modes is null and present_mode_count is not 0";
    return (uint32_t)desc->sharing > HD_SHARING_CONCURRENT ? "sharing is no hd_sharing" : NULL;
}

/* Leaves it without an hd_vk. */
static void detach(hd_vk_swapchain *s)
{
    hd_vk_swapchain **link = &s->vk->swapchains;
    while (*link != s)
        link = &(*link)->next;
    *link = s->next;
    if (s->chain || s->retired)
        hdi_vk_chain_drop_all(s);
    s->vk = NULL;
}

static void destroy(hd_vk_swapchain *s)
{
    hd_allocator allocator = s->allocator;
    if (s->vk)
        detach(s);
    hdi_free(&allocator, s, sizeof(*s));
}

void hdi_vk_drop_swapchains(hd_vk *vk)
{
    while (vk->swapchains) {
        hdi_log(&vk->log, HD_LOG_ERROR, "hd_vk_destroy comes before hd_vk_swapchain_destroy of one of its swapchains");
        detach(vk->swapchains);
    }
}

/* A call on a swapchain; HD_OK: it is to be left. */
static hd_result enter(const hd_vk_swapchain *s, const char *call)
{
    return s && s->vk ? hdi_vk_enter(s->vk, call) : HD_INVALID_ARGUMENT;
}

static hd_result create(hd_vk *vk, const hd_vk_swapchain_desc *desc, hd_vk_swapchain **out)
{
    const char *fault = desc_fault(desc);
    if (fault)
        return hdi_vk_fail(vk, HD_INVALID_ARGUMENT, HD_NONE, HD_NONE, "a swapchain cannot be made: %s", fault);
    hd_vk_swapchain *s = hdi_alloc(&vk->allocator, sizeof(*s), 64);
    if (!s)
        return HD_OUT_OF_MEMORY;
    memset(s, 0, sizeof(*s));
    s->vk = vk;
    s->allocator = vk->allocator;
    s->next = vk->swapchains;
    vk->swapchains = s;
    s->surface = desc->surface;
    s->width = desc->width;
    s->height = desc->height;
    s->image_count = desc->image_count;
    s->usage = desc->usage;
    s->sharing = desc->sharing;
    s->timeout_ns = desc->timeout_ns ? desc->timeout_ns : UINT64_MAX;
    copy_wishes(s, desc);
    const char *missing = load(s);
    hd_result result = HD_MISSING_FEATURE;
    if (missing)
        hdi_vk_fail(vk, result, HD_NONE, HD_NONE, "a swapchain needs %s and it is not enabled", missing);
    else
        result = open_surface(s);
    if (result != HD_OK) {
        destroy(s);
        return result;
    }
    *out = s;
    return HD_OK;
}

hd_result hd_vk_swapchain_create(hd_vk *vk, const hd_vk_swapchain_desc *desc, hd_vk_swapchain **out)
{
    if (!out)
        return HD_INVALID_ARGUMENT;
    *out = NULL;
    if (!vk || !desc)
        return HD_INVALID_ARGUMENT;
    hd_result result = hdi_vk_enter(vk, "hd_vk_swapchain_create");
    return result == HD_OK ? hdi_vk_leave(vk, create(vk, desc, out), NULL) : result;
}

void hd_vk_swapchain_destroy(hd_vk_swapchain *s)
{
    hd_vk *vk = s ? s->vk : NULL;
    if (!s || (vk && hdi_vk_enter(vk, "hd_vk_swapchain_destroy") != HD_OK))
        return;
    destroy(s);
    if (vk)
        hdi_vk_leave(vk, HD_OK, NULL);
}

hd_result hd_vk_swapchain_set_surface(hd_vk_swapchain *s, VkSurfaceKHR surface)
{
    hd_result result = enter(s, "hd_vk_swapchain_set_surface");
    if (result != HD_OK)
        return result;
    hdi_vk_chain_drop_all(s);
    s->surface = surface;
    s->surface_lost = s->stale = s->suboptimal = false;
    return hdi_vk_leave(s->vk, open_surface(s), NULL);
}

void hd_vk_swapchain_resize(hd_vk_swapchain *s, uint32_t width, uint32_t height)
{
    if (!s)
        return;
    s->stale |= s->width != width || s->height != height;
    s->width = width;
    s->height = height;
}

void hd_vk_swapchain_info_get(const hd_vk_swapchain *s, hd_vk_swapchain_info *out)
{
    const hdi_vk_chain *chain = s ? s->chain : NULL;
    if (out)
        *out = s ? (hd_vk_swapchain_info){.made = s->made, .presented = s->presented} : (hd_vk_swapchain_info){0};
    if (!chain || !out)
        return;
    out->width = chain->extent.width;
    out->height = chain->extent.height;
    out->format = chain->format;
    out->present_mode = chain->mode;
    out->image_count = chain->image_count;
}

/* ---- acquire ---- */

/* A semaphore for which no frame waits any more. */
static uint32_t free_semaphore(const hd_vk_swapchain *s)
{
    uint32_t i = 0;
    const hd_vk *vk = s->vk;
    while (i < vk->slot_count && s->chain->acquires[i].frame &&
           s->chain->acquires[i].frame + vk->slot_count > vk->frame)
        i++;
    return i; /* of slot_count + 1 one is free: so many frames cannot be in flight */
}

/* One try; *again: a new chain may do better. */
static hd_result acquire_image(hd_vk_swapchain *s, bool *again)
{
    hd_vk *vk = s->vk;
    uint32_t acquire = free_semaphore(s), index = 0;
    VkResult got = s->vkAcquireNextImageKHR(vk->device, s->chain->swapchain, s->timeout_ns,
                                            s->chain->acquires[acquire].semaphore, VK_NULL_HANDLE, &index);
    *again = false;
    switch (got) {
    case VK_SUBOPTIMAL_KHR:
        s->suboptimal |= !s->chain->accept_suboptimal;
        break;
    case VK_SUCCESS:
        break;
    case VK_TIMEOUT:
    case VK_NOT_READY:
        return HD_OK;
    case VK_ERROR_OUT_OF_DATE_KHR:
    case VK_ERROR_FULL_SCREEN_EXCLUSIVE_MODE_LOST_EXT:
        *again = s->stale = true;
        return HD_OK;
    default:
        return hdi_vk_chain_result(s, got, "vkAcquireNextImageKHR");
    }
    s->held = true;
    s->index = index;
    s->acquire = acquire;
    s->told = (hdi_vk_told){0};
    s->held_again = s->chain->images[index].presented;
    s->chain->images[index].presented = false;
    hdi_vk_chain_sweep(s);
    return HD_OK;
}

/* An image is held, or there is none to be had. */
static hd_result hold_image(hd_vk_swapchain *s)
{
    hd_result result = HD_OK;
    bool again = true;
    for (uint32_t tries = 0; tries < TRIES && again && result == HD_OK; tries++) {
        if (!s->chain || s->stale || (s->suboptimal && !s->held))
            result = hdi_vk_chain_make(s);
        if (result != HD_OK || !s->chain || s->stale || s->held)
            return result;
        result = acquire_image(s, &again);
    }
    return result;
}

/* For this frame it has been acquired already. */
static bool is_declared(const hd_vk_swapchain *s, const hd_graph *graph)
{
    bool found = false;
    for (uint32_t i = 0; i < s->vk->sync_count && s->held; i++)
        found |= s->vk->syncs[i].told == &s->told && s->vk->syncs[i].graph == graph;
    return found && hd_graph_resource_index(graph, s->import) != HD_NONE;
}

static hd_result declare(hd_vk_swapchain *s, hd_graph *graph, hd_resource *out)
{
    hd_vk *vk = s->vk;
    hdi_vk_chain *chain = s->chain;
    const hdi_vk_shown *shown = &chain->images[s->index];
    hd_resource import = hd_graph_import(graph, &(hd_import_desc){
                                                    .name = "swapchain",
                                                    .image = (void *)shown->image,
                                                    .width = chain->extent.width,
                                                    .height = chain->extent.height,
                                                    .format = chain->format.format,
                                                    .final_layout = VK_IMAGE_LAYOUT_PRESENT_SRC_KHR,
                                                    .sharing = s->sharing,
                                                    .serial = shown->serial,
                                                });
    if (!import.id)
        return hd_graph_error(graph)->result;
    hd_vk_sync sync = {.wait = chain->acquires[s->acquire].semaphore, .signal = shown->written};
    hd_result result = hdi_vk_sync_import(vk, graph, import, &sync, &s->told);
    if (result != HD_OK)
        return hdi_graph_fail(graph, result, HD_NONE, hd_graph_resource_index(graph, import), HD_NONE,
                              "semaphores of a swapchain");
    *out = s->import = import;
    return HD_OK;
}

/* ---- present ---- */

/* The queue that had the image last, or where families do not matter any. HD_NONE: none. */
static uint32_t presenting_queue(const hd_vk_swapchain *s)
{
    const hd_vk *vk = s->vk;
    if (s->can_present >> s->told.queue & 1)
        return s->told.queue;
    for (uint32_t q = 0; q < vk->queue_count; q++) {
        bool same = vk->queues[q].desc.family == vk->queues[s->told.queue].desc.family;
        if (s->can_present >> q & 1 && (same || s->sharing == HD_SHARING_CONCURRENT))
            return q;
    }
    return HD_NONE;
}

static hd_result present_image(hd_vk_swapchain *s, uint32_t q)
{
    hdi_vk_chain *chain = s->chain;
    hdi_vk_shown *shown = &chain->images[s->index];
    VkPresentInfoKHR info = {
        .sType = VK_STRUCTURE_TYPE_PRESENT_INFO_KHR,
        .waitSemaphoreCount = 1,
        .pWaitSemaphores = &shown->written,
        .swapchainCount = 1,
        .pSwapchains = &chain->swapchain,
        .pImageIndices = &s->index,
    };
    VkResult result = s->vkQueuePresentKHR(s->vk->queues[q].desc.queue, &info);
    chain->acquires[s->acquire].frame = s->told.frame + 1;
    chain->queues |= 1u << q;
    if (s->held_again && chain->cycled == 0)
        chain->cycled = s->told.frame + 1;
    s->held = false;
    switch (result) {
    case VK_SUBOPTIMAL_KHR:
        s->suboptimal |= !chain->accept_suboptimal;
        break;
    case VK_SUCCESS:
        break;
    case VK_ERROR_OUT_OF_DATE_KHR:
    case VK_ERROR_FULL_SCREEN_EXCLUSIVE_MODE_LOST_EXT:
        s->stale = true;
        return HD_OK;
    default:
        s->stale = true; /* the image is lost to this chain, and so may the signal of its semaphore be */
        return hdi_vk_chain_result(s, result, "vkQueuePresentKHR");
    }
    shown->presented = true;
    s->presented++;
    return HD_OK;
}

static hd_result present(hd_vk_swapchain *s)
{
    hd_result lost = (hd_result)atomic_load_explicit(&s->vk->lost, memory_order_acquire);
    if (lost != HD_OK || !s->held || !s->told.done)
        return lost;
    uint32_t q = presenting_queue(s);
    if (q != HD_NONE) {
        hd_result result = hdi_vk_host_wait_value(s->vk, s->told.host_needed);
        return result == HD_OK ? present_image(s, q) : result;
    }
    s->held = false;
    s->stale = true;
    return hdi_vk_fail(
        s->vk, HD_UNSUPPORTED, HD_NONE, HD_NONE,
        "the frame used the swapchain's image last on a queue of family %u, which cannot present: let a pass on "
        "another queue come last, or make the swapchain with HD_SHARING_CONCURRENT",
        s->vk->queues[s->told.queue].desc.family);
}

hd_result hd_vk_swapchain_present(hd_vk_swapchain *s)
{
    hd_result result = enter(s, "hd_vk_swapchain_present");
    return result == HD_OK ? hdi_vk_leave(s->vk, present(s), NULL) : result;
}

/* ---- entry ---- */

static hd_result acquire(hd_vk_swapchain *s, hd_graph *graph, hd_resource *image)
{
    hd_result result = (hd_result)atomic_load_explicit(&s->vk->lost, memory_order_acquire);
    if (result == HD_OK)
        result = hd_graph_error(graph)->result;
    if (result != HD_OK || !s->surface)
        return result;
    if (s->surface_lost)
        return HD_SURFACE_LOST;
    if (is_declared(s, graph)) {
        *image = s->import;
        return HD_OK;
    }
    if (s->held && s->told.done) /* the engine left that out */
        result = present(s);
    if (result == HD_OK)
        result = hold_image(s);
    return result == HD_OK && s->held ? declare(s, graph, image) : result;
}

hd_result hd_vk_swapchain_acquire(hd_vk_swapchain *s, hd_graph *graph, hd_resource *image)
{
    if (!s || !graph || graph->list || !image)
        return HD_INVALID_ARGUMENT;
    *image = (hd_resource){0};
    hd_result result = enter(s, "hd_vk_swapchain_acquire");
    return result == HD_OK ? hdi_vk_leave(s->vk, acquire(s, graph, image), graph) : result;
}

typedef struct show {
    hd_vk_swapchain *swapchain;
    hd_resource from;
    hd_vk_as as;
} show;

static hd_pass make_show(hd_graph *graph, const void *arguments)
{
    const show *call = arguments;
    const hd_vk_swapchain *s = call->swapchain;
    if (!s->vk || !s->held || hd_graph_resource_index(graph, s->import) == HD_NONE)
        return (hd_pass){0};
    if (!(s->chain->caps.supportedUsageFlags & VK_IMAGE_USAGE_TRANSFER_DST_BIT)) {
        hdi_graph_fail(graph, HD_UNSUPPORTED, HD_NONE, hd_graph_resource_index(graph, s->import), HD_NONE,
                       "images of this surface can only be drawn to: show blits");
        return (hd_pass){0};
    }
    hd_range first = {.mip_count = 1, .layer_count = 1};
    return hd_vk_blit(s->vk, graph, call->from, &first, s->import, NULL, VK_FILTER_LINEAR, &call->as);
}

hd_pass hd_vk_swapchain_show(hd_vk_swapchain *s, hd_graph *graph, hd_resource from, const hd_vk_as *as)
{
    const show call = {s, from, as ? *as : (hd_vk_as){.name = "show"}};
    if (!s || !graph)
        return (hd_pass){0};
    return graph->list ? hdi_list_later(graph, make_show, &call, sizeof(call)) : make_show(graph, &call);
}
