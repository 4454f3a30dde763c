#include "vk_device.h"
#include "vk_memory.h"
#include "vk_timing.h"

#include <string.h>

#include "alloc.h"
#include "hash.h"

/* Binds what a plan names to images and buffers. Objects are cached by description and place (heap and offset): a plan
 * that comes again creates nothing. Objects of different plans may lie over one another in a heap: frames are fully
 * synchronized with each other, and none hands its content on. Histories and what they are of are bound before
 * (history.c). */

/* ---- cache ---- */

/* Imports of one image lie in one bucket, whatever they are described as. */
static uint32_t bucket_of(const hdi_vk_key *key, uint64_t serial, uint64_t offset, uint32_t bucket_count)
{
    if (key->bits & HDI_VK_KEY_IMPORT)
        return (uint32_t)hdi_hash_mix(hdi_hash_mix(0, serial), offset) & (bucket_count - 1);
    uint64_t hash = hdi_hash_mix(hdi_hash_mix(hdi_hash_bytes(key, sizeof(*key), 0), serial), offset);
    return (uint32_t)hash & (bucket_count - 1);
}

static hd_result grow_buckets(hd_vk *vk)
{
    if (vk->object_count < vk->bucket_count)
        return HD_OK;
    uint32_t count = vk->bucket_count ? vk->bucket_count * 2 : 64;
    hdi_vk_object **buckets = hdi_alloc(&vk->allocator, count * sizeof(*buckets), 64);
    if (!buckets)
        return HD_OUT_OF_MEMORY;
    memset(buckets, 0, count * sizeof(*buckets));
    for (uint32_t b = 0; b < vk->bucket_count; b++) {
        for (hdi_vk_object *object = vk->buckets[b], *next; object; object = next) {
            next = object->next;
            uint32_t to = bucket_of(&object->key, object->heap_serial, object->offset, count);
            object->next = buckets[to];
            buckets[to] = object;
        }
    }
    hdi_free(&vk->allocator, vk->buckets, vk->bucket_count * sizeof(*buckets));
    vk->buckets = buckets;
    vk->bucket_count = count;
    return HD_OK;
}

void hdi_vk_destroy_object(hd_vk *vk, hdi_vk_object *object)
{
    hdi_vk_free_views(vk, object);
    if (object->key.bits & HDI_VK_KEY_IMPORT)
        object->image = VK_NULL_HANDLE; /* the engine's */
    if (object->image)
        vk->fn.vkDestroyImage(vk->device, object->image, NULL);
    if (object->buffer)
        vk->fn.vkDestroyBuffer(vk->device, object->buffer, NULL);
    hdi_free(&vk->allocator, object, sizeof(*object));
}

static void drop_object(hd_vk *vk, hdi_vk_object *object)
{
    hdi_vk_destroy_object(vk, object);
    vk->object_count--;
    if (vk->guess_capacity)
        memset(vk->guesses, 0, vk->guess_capacity * sizeof(*vk->guesses));
}

static void drop_objects(hd_vk *vk, uint64_t heap_serial, uint64_t age)
{
    for (uint32_t b = 0; b < vk->bucket_count; b++) {
        hdi_vk_object **link = &vk->buckets[b];
        while (*link) {
            hdi_vk_object *object = *link;
            bool import = object->key.bits & HDI_VK_KEY_IMPORT;
            bool drop = heap_serial ? object->heap_serial == heap_serial && !import
                                    : age == 0 || object->last_frame + age < vk->frame;
            if (drop) {
                *link = object->next;
                drop_object(vk, object);
            } else {
                link = &object->next;
            }
        }
    }
}

void hdi_vk_drop_heap_objects(hd_vk *vk, uint64_t heap_serial)
{
    drop_objects(vk, heap_serial, 0);
}

void hdi_vk_drop_import(hd_vk *vk, uint64_t serial)
{
    for (uint32_t b = 0; b < vk->bucket_count; b++) {
        hdi_vk_object **link = &vk->buckets[b];
        while (*link) {
            hdi_vk_object *object = *link;
            if (object->key.bits & HDI_VK_KEY_IMPORT && object->heap_serial == serial) {
                *link = object->next;
                drop_object(vk, object);
            } else {
                link = &object->next;
            }
        }
    }
}

void hdi_vk_sweep_objects(hd_vk *vk, uint64_t age)
{
    drop_objects(vk, 0, age);
    if (age == 0) {
        hdi_free(&vk->allocator, vk->buckets, vk->bucket_count * sizeof(*vk->buckets));
        vk->buckets = NULL;
        vk->bucket_count = 0;
        hdi_free(&vk->allocator, vk->guesses, vk->guess_capacity * sizeof(*vk->guesses));
        vk->guesses = NULL;
        vk->guess_capacity = 0;
    }
}

/* ---- making ---- */

/* The plan's place must do for the driver's own requirements: it may come from a file or from other sizes. */
static hd_result check_place(hd_vk *vk, const VkMemoryRequirements *needs, const hdi_vk_heap *heap, uint64_t offset,
                             uint32_t res)
{
    uint32_t type = heap->number & (HDI_VK_HOST_HEAP - 1);
    if ((heap->at.offset + offset) % needs->alignment == 0 && offset <= heap->bytes &&
        needs->size <= heap->bytes - offset && needs->memoryTypeBits >> type & 1)
        return HD_OK;
    return hdi_vk_fail(
        vk, HD_INVALID_ARGUMENT, HD_NONE, res,
        "resource %u does not fit its place in the plan (offset %llu, needs %llu bytes aligned to %llu): the plan was "
        "compiled with other sizes",
        res, (unsigned long long)offset, (unsigned long long)needs->size, (unsigned long long)needs->alignment);
}

static hd_result make_image(hd_vk *vk, hdi_vk_object *object, const hdi_vk_heap *heap, uint32_t res)
{
    hdi_vk_image_room room;
    const VkImageCreateInfo *info = hdi_vk_image_info(vk, &object->key, &room);
    hd_result result =
        hdi_vk_result(vk, vk->fn.vkCreateImage(vk->device, info, NULL, &object->image), "vkCreateImage");
    if (result != HD_OK)
        return result;
    VkMemoryRequirements needs;
    vk->fn.vkGetImageMemoryRequirements(vk->device, object->image, &needs);
    result = check_place(vk, &needs, heap, object->offset, res);
    if (result == HD_OK)
        result = hdi_vk_result(
            vk, vk->fn.vkBindImageMemory(vk->device, object->image, heap->at.memory, heap->at.offset + object->offset),
            "vkBindImageMemory");
    if (result != HD_OK)
        vk->fn.vkDestroyImage(vk->device, object->image, NULL);
    return result;
}

static hd_result make_buffer(hd_vk *vk, hdi_vk_object *object, const hdi_vk_heap *heap, uint32_t res)
{
    VkBufferCreateInfo info = hdi_vk_buffer_info(vk, &object->key);
    hd_result result =
        hdi_vk_result(vk, vk->fn.vkCreateBuffer(vk->device, &info, NULL, &object->buffer), "vkCreateBuffer");
    if (result != HD_OK)
        return result;
    VkMemoryRequirements needs;
    vk->fn.vkGetBufferMemoryRequirements(vk->device, object->buffer, &needs);
    result = check_place(vk, &needs, heap, object->offset, res);
    if (result == HD_OK)
        result = hdi_vk_result(
            vk,
            vk->fn.vkBindBufferMemory(vk->device, object->buffer, heap->at.memory, heap->at.offset + object->offset),
            "vkBindBufferMemory");
    if (result != HD_OK)
        vk->fn.vkDestroyBuffer(vk->device, object->buffer, NULL);
    else if (heap->at.mapped)
        object->mapped = (unsigned char *)heap->at.mapped + object->offset;
    return result;
}

static hdi_vk_object *find_object(const hd_vk *vk, const hdi_vk_key *key, uint64_t serial, uint64_t offset,
                                  uint32_t bucket)
{
    for (hdi_vk_object *object = vk->buckets[bucket]; object; object = object->next) {
        if (object->heap_serial == serial && object->offset == offset && memcmp(&object->key, key, sizeof(*key)) == 0)
            return object;
    }
    return NULL;
}

static void add_object(hd_vk *vk, hdi_vk_object *object, uint32_t bucket)
{
    object->next = vk->buckets[bucket];
    vk->buckets[bucket] = object;
    vk->object_count++;
}

hd_result hdi_vk_make_object(hd_vk *vk, const hdi_vk_key *key, const hdi_vk_heap *heap, uint64_t offset, uint32_t res,
                             const char *name, hdi_vk_object **out)
{
    hdi_vk_object *object = hdi_alloc(&vk->allocator, sizeof(*object), 64);
    if (!object)
        return HD_OUT_OF_MEMORY;
    *object = (hdi_vk_object){.key = *key,
                              .serial = ++vk->object_serial,
                              .heap_serial = heap->serial,
                              .offset = offset,
                              .last_frame = vk->frame};
    hd_result result =
        key->bits & HDI_VK_KEY_BUFFER ? make_buffer(vk, object, heap, res) : make_image(vk, object, heap, res);
    if (result != HD_OK) {
        hdi_free(&vk->allocator, object, sizeof(*object));
        return result;
    }
    if (object->image)
        hdi_vk_name(vk, VK_OBJECT_TYPE_IMAGE, (uint64_t)(uintptr_t)object->image, name);
    else
        hdi_vk_name(vk, VK_OBJECT_TYPE_BUFFER, (uint64_t)(uintptr_t)object->buffer, name);
    *out = object;
    return HD_OK;
}

static hd_result get_object(const hdi_vk_frame *frame, const hdi_vk_key *key, const hdi_vk_heap *heap, uint64_t offset,
                            uint32_t res, hdi_vk_object **out)
{
    hd_vk *vk = frame->vk;
    hd_result result = grow_buckets(vk);
    if (result != HD_OK)
        return result;
    uint32_t bucket = bucket_of(key, heap->serial, offset, vk->bucket_count);
    *out = find_object(vk, key, heap->serial, offset, bucket);
    if (*out) {
        (*out)->last_frame = vk->frame;
        return HD_OK;
    }
    result = hdi_vk_make_object(vk, key, heap, offset, res, frame->decl.res_info[res].name, out);
    if (result == HD_OK)
        add_object(vk, *out, bucket);
    return result;
}

static const hdi_vk_key *key_in_plan(const hdi_vk_frame *frame, const hd_plan_resource *plan)
{
    return &frame->kept->keys[plan - frame->plan.resources];
}

/* ---- entry ---- */

/* Whether two descriptions, but for what the uses of a frame imply, can be of one image. */
static bool are_alike(const hdi_vk_key *a, const hdi_vk_key *b)
{
    return a->width == b->width && a->height == b->height && a->depth == b->depth && a->format == b->format &&
           a->mips == b->mips && a->layers == b->layers && a->samples == b->samples && a->flags == b->flags;
}

/* With one serial a handle is of one image. */
static hd_result check_serial(hd_vk *vk, const hdi_vk_key *key, const hdi_res_import *from, uint32_t res,
                              const char *name, uint32_t bucket)
{
    for (const hdi_vk_object *other = vk->buckets[bucket]; other; other = other->next) {
        bool same = other->key.bits & HDI_VK_KEY_IMPORT && other->heap_serial == from->serial &&
                    other->offset == (uint64_t)(uintptr_t)from->native;
        if (same && !are_alike(&other->key, key))
            return hdi_vk_fail(vk, HD_INVALID_ARGUMENT, HD_NONE, res,
                               "resource %u '%s' is imported with serial %llu, with which an earlier frame gave the "
                               "VkImage another size, format, count or flags",
                               res, name ? name : "", (unsigned long long)from->serial);
    }
    return HD_OK;
}

/* An import that the engine tells apart from all others: it is cached for the sake of its views. */
static hd_result keep_import(hd_vk *vk, const hdi_vk_key *key, const hdi_res_import *from, uint32_t res,
                             const char *name, hdi_vk_object **out)
{
    uint64_t handle = (uint64_t)(uintptr_t)from->native;
    hd_result result = grow_buckets(vk);
    if (result != HD_OK)
        return result;
    uint32_t bucket = bucket_of(key, from->serial, handle, vk->bucket_count);
    hdi_vk_object *object = find_object(vk, key, from->serial, handle, bucket);
    if (!object) {
        result = check_serial(vk, key, from, res, name, bucket);
        if (result != HD_OK)
            return result;
        object = hdi_alloc(&vk->allocator, sizeof(*object), 64);
        if (!object)
            return HD_OUT_OF_MEMORY;
        *object = (hdi_vk_object){.key = *key,
                                  .serial = ++vk->object_serial,
                                  .heap_serial = from->serial,
                                  .offset = handle,
                                  .image = (VkImage)from->native};
        add_object(vk, object, bucket);
    }
    object->last_frame = vk->frame;
    *out = object;
    return HD_OK;
}

static hd_result bind_import(hdi_vk_frame *frame, const hd_plan_resource *plan)
{
    const bool token = hdi_is_token(&frame->decl, plan->id); /* no object stands behind it */
    const hdi_res_import none = {0}, *from = token ? &none : &frame->decl.res_import[plan->id];
    const char *name = frame->decl.res_info[plan->id].name;
    bool buffer = frame->decl.res_flags[plan->id] & HDI_RES_BUFFER;
    if (!from->native && !token)
        return hdi_vk_fail(frame->vk, HD_INVALID_ARGUMENT, HD_NONE, plan->id,
                           "resource %u '%s' is imported without a %s and cannot be executed", plan->id,
                           name ? name : "", buffer ? "VkBuffer" : "VkImage");
    const hdi_vk_key *described = key_in_plan(frame, plan);
    if (!buffer && from->serial) {
        hdi_vk_key key = *described;
        key.bits |= HDI_VK_KEY_IMPORT;
        return keep_import(frame->vk, &key, from, plan->id, name, &frame->bound[plan->id]);
    }
    hdi_vk_object *object = &frame->slot->imports[frame->slot->import_count++];
    *object = (hdi_vk_object){.key = *described, .serial = ++frame->vk->object_serial};
    if (buffer)
        object->buffer = (VkBuffer)from->native;
    else
        object->image = (VkImage)from->native;
    frame->bound[plan->id] = object;
    return HD_OK;
}

static hd_result bind_resource(hdi_vk_frame *frame, const hd_plan_resource *plan)
{
    uint32_t flags = frame->decl.res_flags[plan->id];
    hdi_vk_object **guess = &hdi_vk_guess_of(frame->vk, (uint32_t)(plan - frame->plan.resources))->object;
    if (flags & HDI_KEEPS_STATE)
        *guess = NULL; /* they change from frame to frame */
    if (flags & HDI_RES_EXTERNAL || hdi_is_token(&frame->decl, plan->id))
        return bind_import(frame, plan);
    if (flags & HDI_KEEPS_STATE)
        return HD_OK; /* bound before */
    if (plan->heap >= frame->plan.heap_count || !frame->heaps[plan->heap])
        return hdi_vk_fail(frame->vk, HD_INVALID_ARGUMENT, HD_NONE, plan->id, "the plan puts resource %u into no heap",
                           plan->id);
    const hdi_vk_key *key = key_in_plan(frame, plan);
    const hdi_vk_heap *heap = frame->heaps[plan->heap];
    if (*guess && (*guess)->heap_serial == heap->serial && (*guess)->offset == plan->offset &&
        memcmp(&(*guess)->key, key, sizeof(*key)) == 0) {
        (*guess)->last_frame = frame->vk->frame;
        frame->bound[plan->id] = *guess;
        return HD_OK;
    }
    hd_result result = get_object(frame, key, heap, plan->offset, plan->id, &frame->bound[plan->id]);
    *guess = result == HD_OK ? frame->bound[plan->id] : NULL;
    return result;
}

/* The same, where the guesses were made for this very plan: only the heap may be another one. */
static inline hd_result bind_again(hdi_vk_frame *frame, const hd_plan_resource *plan, uint32_t index)
{
    hdi_vk_object *object = hdi_vk_guess_of(frame->vk, index)->object;
    if (!object || plan->heap == HD_NONE || object->heap_serial != frame->heaps[plan->heap]->serial)
        return bind_resource(frame, plan);
    object->last_frame = frame->vk->frame;
    frame->bound[plan->id] = object;
    return HD_OK;
}

hd_result hdi_vk_realise_resources(hdi_vk_frame *frame)
{
    hd_vk *vk = frame->vk;
    hdi_vk_kept *kept = frame->kept;
    const hd_plan_view *plan = &frame->plan;
    hdi_arena *arena = &frame->slot->arena;
    frame->slot->imports = HDI_ARENA_ARRAY(arena, hdi_vk_object, kept->import_count);
    if (arena->failed)
        return HD_OUT_OF_MEMORY;
    uint32_t known = vk->guess_capacity;
    hd_result result = hdi_grow(&vk->allocator, (void **)&vk->guesses, &vk->guess_capacity,
                                plan->resource_count * vk->copy_count, sizeof(*vk->guesses));
    if (vk->guess_capacity > known)
        memset(vk->guesses + known, 0, (vk->guess_capacity - known) * sizeof(*vk->guesses));
    uint64_t *owner = &vk->guess_owner[vk->frame % vk->copy_count];
    bool again = kept->serial && *owner == kept->serial;
    frame->rebound = false;
    for (uint32_t i = 0; i < plan->resource_count && result == HD_OK; i++) {
        result = again ? bind_again(frame, &plan->resources[i], i) : bind_resource(frame, &plan->resources[i]);
        if (result == HD_OK)
            frame->rebound |= frame->bound[plan->resources[i].id]->serial != kept->patched[i];
    }
    *owner = result == HD_OK ? kept->serial : 0;
    return result;
}
