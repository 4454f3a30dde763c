#include "state.h"

#include <string.h>

#include "graph_state.h"

/* What record callbacks may ask. A GPU pass looks resources up in the declaration, which stays as it is while the frame
 * is executed; a host pass runs later and looks them up in the copy that was made for it, handles of lists by way of
 * the handles of the graph that they stand for. */

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

static hdi_vk_object *find(const hd_recorder *recorder, hd_resource resource)
{
    if (recorder->host) {
        const hdi_vk_slot *slot = &recorder->vk->slots[recorder->frame_index % recorder->vk->slot_count];
        const uint32_t alias = resource.id - slot->first_alias;
        const uint32_t handle = alias < slot->alias_count ? slot->aliases[alias] : resource.id;
        for (uint32_t u = 0; u < recorder->host->use_count; u++) {
            if (recorder->host->uses[u].handle == handle)
                return recorder->host->uses[u].object;
        }
        return NULL;
    }
    const hdi_vk_frame *frame = recorder->frame;
    uint32_t index = hd_graph_resource_index(frame->graph, resource);
    if (index == HD_NONE)
        return NULL;
    const uint32_t *begin = &frame->decl.pass_use_begin[recorder->pass];
    for (uint32_t u = begin[0]; u < begin[1]; u++) {
        if (frame->decl.use_res[u] == index)
            return frame->bound[index];
    }
    return NULL;
}

VkCommandBuffer hd_vk_commands(hd_recorder *recorder)
{
    return recorder->commands;
}

uint32_t hd_vk_part(const hd_recorder *recorder)
{
    return recorder->part;
}

uint32_t hd_vk_part_count(const hd_recorder *recorder)
{
    return recorder->part_count;
}

uint32_t hd_vk_worker(const hd_recorder *recorder)
{
    return recorder->worker;
}

uint64_t hd_vk_frame_index(const hd_recorder *recorder)
{
    return recorder->frame_index;
}

VkImage hd_vk_image(hd_recorder *recorder, hd_resource resource)
{
    const hdi_vk_object *object = find(recorder, resource);
    return object ? object->image : VK_NULL_HANDLE;
}

VkBuffer hd_vk_buffer(hd_recorder *recorder, hd_resource resource)
{
    const hdi_vk_object *object = find(recorder, resource);
    return object ? object->buffer : VK_NULL_HANDLE;
}

static VkImageViewType view_type(const hdi_vk_key *key, const hd_range *range)
{
    if (key->depth > 1)
        return VK_IMAGE_VIEW_TYPE_3D;
    if (key->flags & VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT && range->layer_count == 6)
        return VK_IMAGE_VIEW_TYPE_CUBE;
    return range->layer_count > 1 ? VK_IMAGE_VIEW_TYPE_2D_ARRAY : VK_IMAGE_VIEW_TYPE_2D;
}

VkImageView hd_vk_view(hd_recorder *recorder, hd_resource resource, const hd_range *range)
{
    hdi_vk_object *object = find(recorder, resource);
    if (!object || !object->image || !recorder->frame)
        return VK_NULL_HANDLE;
    const hdi_vk_key *key = &object->key;
    hd_range whole = range ? *range : (hd_range){{0}};
    if (whole.mip_base >= key->mips || whole.layer_base >= key->layers)
        return VK_NULL_HANDLE;
    if (whole.mip_count == 0)
        whole.mip_count = (uint16_t)(key->mips - whole.mip_base);
    if (whole.layer_count == 0)
        whole.layer_count = key->layers - whole.layer_base;
    if (whole.mip_count > key->mips - whole.mip_base || whole.layer_count > key->layers - whole.layer_base)
        return VK_NULL_HANDLE;
    VkImageAspectFlags aspects = hdi_vk_aspects(key->format);
    if (whole.aspect & ~aspects)
        return VK_NULL_HANDLE;
    if (whole.aspect)
        aspects = whole.aspect;
    else if (aspects & VK_IMAGE_ASPECT_DEPTH_BIT)
        aspects = VK_IMAGE_ASPECT_DEPTH_BIT;
    return hdi_vk_view_get(recorder->vk, recorder->frame->slot, object, &whole, aspects, view_type(key, &whole));
}

void *hd_vk_mapped(hd_recorder *recorder, hd_resource resource)
{
    const hdi_vk_object *object = recorder->host ? find(recorder, resource) : NULL;
    return object ? object->mapped : NULL;
}
