#include "vk_device.h"
#include "vk_frame.h"
#include "vk_memory.h"

#include <stdio.h>
#include <string.h>

#include "graph_state.h"

/* What record callbacks may ask. A GPU pass looks resources up in the declaration, which stays as it is while the frame
 * is executed; a host pass runs later and looks them up in the copy that was made for it, handles of lists by way of
 * the handles of the graph that they stand for. What a pass asks for and may not have is a mistake: the frame fails,
 * and the callback gets something harmless (memory/spare.c) to go on with. */

hd_result hdi_vk_keep_aliases(const hdi_vk_frame *frame)
{
    const hdi_lists *lists = &frame->graph->lists;
    hdi_vk_slot *slot = frame->slot;
    slot->first_alias = lists->first_handle;
    slot->alias_count = 0;
    if (lists->alias_count == 0)
        return HD_OK;
    slot->aliases = HDI_ARENA_ARRAY(&slot->arena, uint32_t, lists->alias_count);
    if (!slot->aliases)
        return HD_OUT_OF_MEMORY;
    memcpy(slot->aliases, lists->alias, lists->alias_count * sizeof(*slot->aliases));
    slot->alias_count = lists->alias_count;
    return HD_OK;
}

VkCommandBuffer hd_vk_commands(hd_recorder *recorder)
{
    return recorder ? recorder->commands : VK_NULL_HANDLE;
}

uint32_t hd_vk_part(const hd_recorder *recorder)
{
    return recorder ? recorder->part : 0;
}

uint32_t hd_vk_part_count(const hd_recorder *recorder)
{
    return recorder ? recorder->part_count : 1;
}

uint32_t hd_vk_worker(const hd_recorder *recorder)
{
    return recorder ? recorder->worker : HD_NONE;
}

uint64_t hd_vk_frame_index(const hd_recorder *recorder)
{
    return recorder ? recorder->frame_index : 0;
}

/* ---- mistakes ---- */

/* A call that the pass may not make: its frame fails. res: its index, or HD_NONE: not known. */
static void mistake(const hd_recorder *recorder, hd_result result, const char *call, uint32_t res, const char *why)
{
    hd_vk *vk = recorder->vk;
    if (recorder->host) {
        hd_error error = {.result = result, .pass = recorder->host->pass, .resource = HD_NONE, .use = HD_NONE};
        snprintf(error.text, sizeof(error.text), "pass %u '%s': %s of %s", error.pass, recorder->host->name, call, why);
        hdi_vk_fail_later(vk, &vk->slots[recorder->frame_index % vk->slot_count], &error);
        return;
    }
    const hdi_decl *decl = &recorder->frame->decl;
    const char *pass = decl->pass_exec[recorder->pass].name, *name = res == HD_NONE ? NULL : decl->res_info[res].name;
    if (res == HD_NONE)
        hdi_vk_fail(vk, result, recorder->pass, res, "pass %u '%s': %s of %s", recorder->pass, pass ? pass : "", call,
                    why);
    else
        hdi_vk_fail(vk, result, recorder->pass, res, "pass %u '%s': %s of resource %u '%s', %s", recorder->pass,
                    pass ? pass : "", call, res, name ? name : "", why);
    hdi_vk_note_failure(recorder->frame->slot, result);
}

/* ---- objects ---- */

static hdi_vk_object *find_in_host_pass(const hd_recorder *recorder, hd_resource resource, const char *call)
{
    const hdi_vk_slot *slot = &recorder->vk->slots[recorder->frame_index % recorder->vk->slot_count];
    const uint32_t alias = resource.id - slot->first_alias;
    const uint32_t handle = alias < slot->alias_count ? slot->aliases[alias] : resource.id;
    for (uint32_t u = 0; u < recorder->host->use_count; u++) {
        if (recorder->host->uses[u].handle == handle)
            return recorder->host->uses[u].object;
    }
    mistake(recorder, HD_INVALID_ARGUMENT, call, HD_NONE, "a resource that the pass does not declare");
    return NULL;
}

/* Null: the pass does not declare it, or it is of the other kind; that has been told. */
static hdi_vk_object *find(const hd_recorder *recorder, hd_resource resource, const char *call, bool buffer)
{
    hdi_vk_object *object = NULL;
    uint32_t index = HD_NONE;
    if (recorder->host) {
        object = find_in_host_pass(recorder, resource, call);
    } else {
        const hdi_vk_frame *frame = recorder->frame;
        index = hd_graph_resource_index(frame->graph, resource);
        const uint32_t *begin = &frame->decl.pass_use_begin[recorder->pass];
        for (uint32_t u = begin[0]; u < begin[1] && index != HD_NONE && !object; u++)
            object = frame->decl.use_res[u] == index ? frame->bound[index] : NULL;
        if (index == HD_NONE)
            mistake(recorder, HD_BAD_HANDLE, call, HD_NONE, "a resource that is none, stale or of another graph");
        else if (!object)
            mistake(recorder, HD_INVALID_ARGUMENT, call, index, "which the pass does not declare");
    }
    bool token = object && !object->buffer && !object->image;
    if (!object || (!token && (object->buffer != VK_NULL_HANDLE) == buffer))
        return object;
    mistake(recorder, HD_INVALID_ARGUMENT, call, index,
            token            ? "a token, which has no memory"
            : recorder->host ? buffer ? "an image" : "a buffer"
            : buffer         ? "which is an image"
                             : "which is a buffer");
    return NULL;
}

VkImage hd_vk_image(hd_recorder *recorder, hd_resource resource)
{
    if (!recorder)
        return VK_NULL_HANDLE;
    const hdi_vk_object *object = find(recorder, resource, "hd_vk_image", false);
    return object ? object->image : hdi_vk_spare_get(recorder->vk)->image;
}

VkBuffer hd_vk_buffer(hd_recorder *recorder, hd_resource resource)
{
    if (!recorder)
        return VK_NULL_HANDLE;
    const hdi_vk_object *object = find(recorder, resource, "hd_vk_buffer", true);
    return object ? object->buffer : hdi_vk_spare_get(recorder->vk)->buffer;
}

void *hd_vk_mapped(hd_recorder *recorder, hd_resource resource)
{
    if (!recorder)
        return NULL;
    const hdi_vk_object *object = find(recorder, resource, "hd_vk_mapped", true);
    if (object && !recorder->host)
        mistake(recorder, HD_INVALID_ARGUMENT, "hd_vk_mapped",
                hd_graph_resource_index(recorder->frame->graph, resource), "but only host passes have it mapped");
    else if (object && !object->mapped)
        mistake(recorder, HD_INVALID_ARGUMENT, "hd_vk_mapped", HD_NONE, "an import, which the engine maps itself");
    return object && recorder->host ? object->mapped : NULL;
}

/* ---- views ---- */

static VkImageViewType view_type(const hdi_vk_key *key, const hd_range *range)
{
    if (key->depth > 1)
        return VK_IMAGE_VIEW_TYPE_3D;
    if (key->flags & VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT && range->layer_count == 6)
        return VK_IMAGE_VIEW_TYPE_CUBE;
    return range->layer_count > 1 ? VK_IMAGE_VIEW_TYPE_2D_ARRAY : VK_IMAGE_VIEW_TYPE_2D;
}

/* Whether a use of the pass's holds all of a part of the image. */
static bool is_in_a_use(const hd_recorder *recorder, uint32_t res, const hd_range *part)
{
    const hdi_decl *decl = &recorder->frame->decl;
    for (uint32_t u = decl->pass_use_begin[recorder->pass]; u < decl->pass_use_begin[recorder->pass + 1]; u++) {
        const hd_range use = hdi_vk_use_range(recorder->frame, u);
        if (decl->use_res[u] == res && part->mip_base >= use.mip_base && part->layer_base >= use.layer_base &&
            part->mip_base + part->mip_count <= use.mip_base + use.mip_count &&
            part->layer_base + part->layer_count <= use.layer_base + use.layer_count &&
            (use.aspect == 0 || !(part->aspect & ~use.aspect)))
            return true;
    }
    return false;
}

/* Several uses of the pass may hold it together. */
static bool is_used(const hd_recorder *recorder, uint32_t res, const hd_range *range)
{
    bool used = is_in_a_use(recorder, res, range);
    if (used)
        return true;
    used = true;
    for (uint32_t mip = range->mip_base; mip < (uint32_t)range->mip_base + range->mip_count && used; mip++) {
        for (uint32_t layer = range->layer_base; layer < range->layer_base + range->layer_count && used; layer++)
            used = is_in_a_use(recorder, res,
                               &(hd_range){.mip_base = (uint16_t)mip,
                                           .mip_count = 1,
                                           .layer_base = layer,
                                           .layer_count = 1,
                                           .aspect = range->aspect});
    }
    return used;
}

/* What the uses of the pass span. */
static hd_range used_range(const hd_recorder *recorder, uint32_t res)
{
    const hdi_decl *decl = &recorder->frame->decl;
    uint32_t mip[2] = {UINT32_MAX, 0}, layer[2] = {UINT32_MAX, 0}, aspect = 0;
    bool all_aspects = false;
    for (uint32_t u = decl->pass_use_begin[recorder->pass]; u < decl->pass_use_begin[recorder->pass + 1]; u++) {
        const hd_range use = hdi_vk_use_range(recorder->frame, u);
        if (decl->use_res[u] != res)
            continue;
        mip[0] = use.mip_base < mip[0] ? use.mip_base : mip[0];
        mip[1] = use.mip_base + use.mip_count > mip[1] ? (uint32_t)use.mip_base + use.mip_count : mip[1];
        layer[0] = use.layer_base < layer[0] ? use.layer_base : layer[0];
        layer[1] = use.layer_base + use.layer_count > layer[1] ? use.layer_base + use.layer_count : layer[1];
        aspect |= use.aspect;
        all_aspects |= use.aspect == 0;
    }
    return (hd_range){.mip_base = (uint16_t)mip[0],
                      .mip_count = (uint16_t)(mip[1] - mip[0]),
                      .layer_base = layer[0],
                      .layer_count = layer[1] - layer[0],
                      .aspect = all_aspects ? 0 : aspect};
}

/* Null, or why there can be no such view; *view: with explicit counts and aspects. */
static const char *view_fault(const hd_recorder *recorder, uint32_t res, const hdi_vk_key *key, const hd_range *range,
                              hd_range *view)
{
    VkImageAspectFlags aspects = hdi_vk_aspects(key->format);
    hd_range whole = range ? *range : used_range(recorder, res);
    if (whole.mip_base >= key->mips || whole.layer_base >= key->layers)
        return "with a range outside of it";
    if (whole.mip_count == 0)
        whole.mip_count = (uint16_t)(key->mips - whole.mip_base);
    if (whole.layer_count == 0)
        whole.layer_count = key->layers - whole.layer_base;
    if (whole.mip_count > key->mips - whole.mip_base || whole.layer_count > key->layers - whole.layer_base)
        return "with a range outside of it";
    if (whole.aspect & ~aspects)
        return "with an aspect that it does not have";
    if (whole.aspect)
        aspects = whole.aspect;
    if (!(range && range->aspect) && aspects & VK_IMAGE_ASPECT_DEPTH_BIT)
        aspects = VK_IMAGE_ASPECT_DEPTH_BIT;
    whole.aspect = aspects;
    *view = whole;
    return is_used(recorder, res, &whole) ? NULL : "with a range of which the pass does not declare all";
}

VkImageView hd_vk_view_as(hd_recorder *recorder, hd_resource resource, const hd_vk_view_desc *desc,
                          hd_vk_view_info *out)
{
    const hd_vk_view_desc plain = {0};
    if (out)
        *out = (hd_vk_view_info){0};
    if (!recorder)
        return VK_NULL_HANDLE;
    if (!desc)
        desc = &plain;
    hdi_vk_object *object = find(recorder, resource, "hd_vk_view", false);
    if (object && recorder->host)
        mistake(recorder, HD_INVALID_ARGUMENT, "hd_vk_view", HD_NONE, "an image, which host passes have no views of");
    if (!object || recorder->host)
        return hdi_vk_spare_get(recorder->vk)->view;
    const hdi_vk_frame *frame = recorder->frame;
    uint32_t res = hd_graph_resource_index(frame->graph, resource);
    hdi_vk_shape shape = {.swizzle = desc->swizzle};
    const char *fault = view_fault(recorder, res, &object->key, desc->range, &shape.range);
    bool seen = hdi_vk_see(frame, recorder->pass, res, &object->key, (uint32_t)desc->format, &shape);
    if (fault || !seen) {
        mistake(recorder, fault ? HD_BAD_RANGE : HD_INVALID_ARGUMENT, "hd_vk_view", res,
                fault ? fault : "in a format that no use of the pass has");
        return hdi_vk_spare_get(recorder->vk)->view;
    }
    shape.type = (uint32_t)view_type(&object->key, &shape.range);
    return hdi_vk_view_get(recorder->vk, frame->slot, object, &shape, frame->decl.res_info[res].name, out);
}

VkImageView hd_vk_view(hd_recorder *recorder, hd_resource resource, const hd_range *range)
{
    return hd_vk_view_as(recorder, resource, &(hd_vk_view_desc){.range = range}, NULL);
}
