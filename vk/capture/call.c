#include "call.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "call_tables.h"

enum {
    LAST_REFS = 32, /* are looked through for an object that is named again */
    DEEPEST = 32,   /* structures in structures; in Vulkan it is fewer than 10 */
    POINTER = 8,    /* bytes */
};
#define END_OF_CHAIN UINT32_MAX

#ifdef HDI_CALL_NO_TABLES
const hdi_call_type hdi_call_types[1];
const hdi_call hdi_calls[1];
const hdi_call_miss hdi_call_misses[1];
const uint32_t hdi_call_type_count, hdi_call_count, hdi_call_miss_count;
const hdi_call_type *hdi_call_chain_find(uint32_t stype)
{
    (void)stype;
    return NULL;
}
#else
_Static_assert(sizeof(void *) == POINTER, "the bytes of a pointer");
#endif

/* ---- finding: both structures begin with their name ---- */

static int compare_names(const void *name, const void *entry)
{
    return strcmp(name, *(const char *const *)entry);
}

const hdi_call *hdi_call_find(const char *name)
{
    return bsearch(name, hdi_calls, hdi_call_count, sizeof(hdi_calls[0]), compare_names);
}

const hdi_call_type *hdi_call_type_find(const char *name)
{
    const hdi_call_type *type =
        bsearch(name, hdi_call_types, hdi_call_type_count, sizeof(hdi_call_types[0]), compare_names);
    const hdi_call *call = type ? NULL : hdi_call_find(name); /* another name of a command */
    return call && call->invoke ? call->type : type;
}

PFN_vkVoidFunction hdi_call_function(const hdi_call *call, PFN_vkGetDeviceProcAddr get, VkDevice device)
{
    PFN_vkVoidFunction function = get(device, call->name);
    for (uint32_t i = 0; i < hdi_call_count && !function; i++) {
        if (hdi_calls[i].type == call->type)
            function = get(device, hdi_calls[i].name);
    }
    return function;
}

/* The next structure of a chain that is known; its type. */
static const VkBaseInStructure *next_known(const VkBaseInStructure *s, const hdi_call_type **type, bool *unknown)
{
    for (; s; s = s->pNext) {
        *type = hdi_call_chain_find((uint32_t)s->sType);
        if (*type)
            return s;
        *unknown |= s->sType != VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO &&
                    s->sType != VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO; /* between the loader and layers */
    }
    return NULL;
}

/* ---- writing ---- */

void hdi_call_writer_free(hdi_call_writer *w)
{
    hdi_free(&w->allocator, w->bytes, w->byte_room);
    hdi_free(&w->allocator, w->refs, w->ref_room * sizeof(*w->refs));
    w->bytes = NULL;
    w->refs = NULL;
    w->byte_count = w->byte_room = w->ref_count = w->ref_room = 0;
}

/* What hdi_grow doubles stays in 32 bits. */
static bool append(hdi_call_writer *w, const void *bytes, uint64_t count)
{
    if (w->failed || count > INT32_MAX || w->byte_count + count > INT32_MAX ||
        hdi_grow(&w->allocator, (void **)&w->bytes, &w->byte_room, w->byte_count + (uint32_t)count, 1) != HD_OK) {
        w->failed = true;
        return false;
    }
    if (count)
        memcpy(w->bytes + w->byte_count, bytes, count);
    w->byte_count += (uint32_t)count;
    return true;
}

void hdi_call_write_bytes(hdi_call_writer *w, const void *bytes, uint32_t count)
{
    append(w, bytes, count);
}

uint32_t hdi_call_write_ref(hdi_call_writer *w, uint32_t object)
{
    for (uint32_t i = w->ref_count; i > 0 && w->ref_count - i < LAST_REFS; i--) {
        if (w->refs[i - 1] == object)
            return i;
    }
    if (w->failed ||
        hdi_grow(&w->allocator, (void **)&w->refs, &w->ref_room, w->ref_count + 1, sizeof(*w->refs)) != HD_OK) {
        w->failed = true;
        return 0;
    }
    w->refs[w->ref_count++] = object;
    return w->ref_count;
}

static uint64_t word_at(const void *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof(word));
    return word;
}

static void set_word(void *bytes, uint64_t word)
{
    memcpy(bytes, &word, sizeof(word));
}

static void write_handles(hdi_call_writer *w, const hdi_call_field *f, uint32_t at, const uint8_t *from, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        uint64_t handle = word_at(from + i * f->bytes);
        uint32_t object = handle ? w->object(w->user, f->object, handle) : 0;
        w->unknown |= handle && !object;
        set_word(w->bytes + at + i * f->bytes, object ? hdi_call_write_ref(w, object) : 0);
    }
}

static void write_fields(hdi_call_writer *w, const hdi_call_type *type, uint32_t at, const uint8_t *from,
                         const hdi_call_above *above, bool in_chain);

static void write_elements(hdi_call_writer *w, const hdi_call_field *f, const uint8_t *from, uint64_t count,
                           const hdi_call_above *above)
{
    uint32_t at = w->byte_count;
    if (f->kind == HDI_CALL_STRUCT) {
        for (uint64_t i = 0; i < count && append(w, from + i * f->bytes, f->bytes); i++)
            write_fields(w, f->type, w->byte_count - f->bytes, from + i * f->bytes, above, false);
        return;
    }
    if (count > INT32_MAX)
        w->failed = true;
    else if (append(w, from, f->text ? strlen((const char *)from) + 1 : count * f->bytes) && f->kind == HDI_CALL_HANDLE)
        write_handles(w, f, at, from, count);
}

/* Pointers to elements: count of them in an array where there are two levels, else the one at from. */
static void write_pointers(hdi_call_writer *w, const hdi_call_field *f, uint32_t at, const uint8_t *from,
                           uint64_t count, const hdi_call_above *above)
{
    const uint8_t *elements = (const uint8_t *)(uintptr_t)word_at(from);
    set_word(w->bytes + at, elements && count);
    if (!elements || !count)
        return;
    if (f->levels == 1) {
        write_elements(w, f, elements, count, above);
        return;
    }
    const hdi_call_field one = {
        .kind = f->kind, .levels = 1, .text = f->text, .bytes = f->bytes, .object = f->object, .type = f->type};
    uint32_t pointers = w->byte_count;
    if (count > INT32_MAX)
        w->failed = true;
    for (uint64_t i = 0; i < count && append(w, elements + i * POINTER, POINTER); i++)
        continue;
    for (uint64_t i = 0; i < count && !w->failed; i++)
        write_pointers(w, &one, pointers + (uint32_t)i * POINTER, elements + i * POINTER, 1, above);
}

/* In a chain the structure that it hangs on writes them all. */
static void write_chain(hdi_call_writer *w, uint32_t at, const uint8_t *from, const hdi_call_above *above,
                        bool in_chain)
{
    const VkBaseInStructure *s = (const VkBaseInStructure *)(uintptr_t)word_at(from);
    const hdi_call_type *type;
    const uint32_t end = END_OF_CHAIN;
    set_word(w->bytes + at, 0);
    if (in_chain || !(s = next_known(s, &type, &w->unknown)))
        return;
    set_word(w->bytes + at, 1);
    for (; s; s = next_known(s->pNext, &type, &w->unknown)) {
        if (!append(w, &type->stype, sizeof(type->stype)) || !append(w, s, type->bytes))
            return;
        write_fields(w, type, w->byte_count - type->bytes, (const uint8_t *)s, above, true);
    }
    append(w, &end, sizeof(end));
}

/* The structure's own bytes stand in the writer, from at on. */
static void write_fields(hdi_call_writer *w, const hdi_call_type *type, uint32_t at, const uint8_t *from,
                         const hdi_call_above *above, bool in_chain)
{
    const hdi_call_above here = {type, from, above};
    for (uint32_t i = 0; i < type->field_count && !w->failed; i++) {
        const hdi_call_field *f = &type->fields[i];
        uint64_t count = f->count ? f->count(from) : 1;
        bool valid = !f->valid || f->valid(from, above);
        uint32_t to = at + f->offset;
        if (!valid || f->kind == HDI_CALL_COMMANDS || f->kind == HDI_CALL_DROPPED || f->kind == HDI_CALL_PADDING)
            memset(w->bytes + to, 0, f->levels ? POINTER : count * f->bytes);
        else if (f->kind == HDI_CALL_CHAIN)
            write_chain(w, to, from + f->offset, &here, in_chain);
        else if (f->levels)
            write_pointers(w, f, to, from + f->offset, count, &here);
        else if (f->kind == HDI_CALL_HANDLE)
            write_handles(w, f, to, from + f->offset, count);
        else
            for (uint64_t e = 0; e < count; e++)
                write_fields(w, f->type, to + (uint32_t)e * f->bytes, from + f->offset + e * f->bytes, &here, false);
    }
}

void hdi_call_write(hdi_call_writer *w, const hdi_call_type *type, const void *value)
{
    if (append(w, value, type->bytes))
        write_fields(w, type, w->byte_count - type->bytes, value, NULL, false);
}

/* ---- reading ---- */

const void *hdi_call_read_bytes(hdi_call_reader *r, uint32_t count)
{
    if (r->failed || count > r->byte_count - r->at) {
        r->failed = true;
        return NULL;
    }
    const uint8_t *bytes = r->bytes + r->at;
    r->at += count;
    return bytes;
}

static void read_fields(hdi_call_reader *r, const hdi_call_type *type, uint8_t *to, bool in_chain);

/* Room for count elements, of which each has at least so many bytes in what is left. */
static uint8_t *room_for(hdi_call_reader *r, uint64_t count, uint32_t bytes)
{
    uint8_t *room =
        r->failed || count > (r->byte_count - r->at) / bytes ? NULL : hdi_arena_array(r->arena, count, bytes);
    r->failed |= !room;
    return room;
}

/* The own bytes of a structure, and all else. */
static void read_struct(hdi_call_reader *r, const hdi_call_type *type, uint8_t *to, bool in_chain)
{
    const void *bytes = hdi_call_read_bytes(r, type->bytes);
    if (!bytes)
        return;
    memcpy(to, bytes, type->bytes);
    read_fields(r, type, to, in_chain);
}

static void read_handles(hdi_call_reader *r, const hdi_call_field *f, uint8_t *to, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        uint64_t place = word_at(to + i * f->bytes);
        if (place > r->ref_count) {
            r->failed = true;
            return;
        }
        set_word(to + i * f->bytes, place ? r->handle(r->user, f->object, r->refs[place - 1]) : 0);
    }
}

static uint8_t *read_elements(hdi_call_reader *r, const hdi_call_field *f, uint64_t count)
{
    if (f->text) {
        const uint8_t *text = r->bytes + r->at, *end = memchr(text, 0, r->byte_count - r->at);
        count = end ? (uint64_t)(end - text) + 1 : UINT64_MAX;
    }
    uint8_t *elements = room_for(r, count, f->bytes);
    if (!elements)
        return NULL;
    if (f->kind == HDI_CALL_STRUCT) {
        for (uint64_t i = 0; i < count && !r->failed; i++)
            read_struct(r, f->type, elements + i * f->bytes, false);
        return elements;
    }
    memcpy(elements, hdi_call_read_bytes(r, (uint32_t)count * f->bytes), count * f->bytes);
    if (f->kind == HDI_CALL_HANDLE)
        read_handles(r, f, elements, count);
    return elements;
}

/* to: a pointer, as write_pointers left it. */
static void read_pointers(hdi_call_reader *r, const hdi_call_field *f, uint8_t *to, uint64_t count)
{
    uint64_t word = word_at(to);
    uint8_t *elements = NULL;
    if (word > 1 || (word && !count))
        r->failed = true;
    if (!word || r->failed)
        return;
    if (f->levels == 1) {
        elements = read_elements(r, f, count);
    } else {
        const hdi_call_field one = {
            .kind = f->kind, .levels = 1, .text = f->text, .bytes = f->bytes, .object = f->object, .type = f->type};
        elements = room_for(r, count, POINTER);
        if (elements)
            memcpy(elements, hdi_call_read_bytes(r, (uint32_t)count * POINTER), count * POINTER);
        for (uint64_t i = 0; i < count && !r->failed; i++)
            read_pointers(r, &one, elements + i * POINTER, 1);
    }
    set_word(to, (uint64_t)(uintptr_t)elements);
}

static void read_chain(hdi_call_reader *r, uint8_t *to, bool in_chain)
{
    uint64_t word = word_at(to);
    set_word(to, 0);
    if (word > 1 || (word && in_chain))
        r->failed = true;
    while (word && !r->failed) {
        const void *bytes = hdi_call_read_bytes(r, sizeof(uint32_t));
        uint32_t stype = END_OF_CHAIN;
        if (bytes)
            memcpy(&stype, bytes, sizeof(stype));
        if (stype == END_OF_CHAIN)
            return;
        const hdi_call_type *type = hdi_call_chain_find(stype);
        uint8_t *next = type ? room_for(r, 1, type->bytes) : NULL;
        if (!next) {
            r->failed = true;
            return;
        }
        read_struct(r, type, next, true);
        memcpy(next, &stype, sizeof(stype));
        set_word(to, (uint64_t)(uintptr_t)next);
        to = next + offsetof(VkBaseInStructure, pNext);
    }
}

static void read_fields(hdi_call_reader *r, const hdi_call_type *type, uint8_t *to, bool in_chain)
{
    if (++r->depth > DEEPEST)
        r->failed = true;
    for (uint32_t i = 0; i < type->field_count && !r->failed; i++) {
        const hdi_call_field *f = &type->fields[i];
        uint64_t count = f->count ? f->count(to) : 1;
        uint8_t *at = to + f->offset;
        if (f->kind == HDI_CALL_COMMANDS)
            set_word(at, r->commands);
        else if (f->kind == HDI_CALL_DROPPED || f->kind == HDI_CALL_PADDING)
            memset(at, 0, f->bytes);
        else if (f->kind == HDI_CALL_CHAIN)
            read_chain(r, at, in_chain);
        else if (f->levels)
            read_pointers(r, f, at, count);
        else if (f->kind == HDI_CALL_HANDLE)
            read_handles(r, f, at, count);
        else
            for (uint64_t e = 0; e < count && !r->failed; e++)
                read_fields(r, f->type, at + e * f->bytes, false);
    }
    r->depth--;
}

void *hdi_call_read(hdi_call_reader *r, const hdi_call_type *type)
{
    uint8_t *value = room_for(r, 1, type->bytes);
    if (value)
        read_struct(r, type, value, false);
    return r->failed ? NULL : value;
}

/* ---- what Vulkan ignores ---- */

uint32_t hdi_call_descriptor(VkDescriptorType type)
{
    switch (type) {
    case VK_DESCRIPTOR_TYPE_SAMPLER:
        return HDI_CALL_SAMPLER;
    case VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER:
        return HDI_CALL_SAMPLER | HDI_CALL_IMAGE;
    case VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE:
    case VK_DESCRIPTOR_TYPE_STORAGE_IMAGE:
    case VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT:
    case VK_DESCRIPTOR_TYPE_BLOCK_MATCH_IMAGE_QCOM:
    case VK_DESCRIPTOR_TYPE_SAMPLE_WEIGHT_IMAGE_QCOM:
        return HDI_CALL_IMAGE;
    case VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER:
    case VK_DESCRIPTOR_TYPE_STORAGE_BUFFER:
    case VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC:
    case VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC:
        return HDI_CALL_BUFFER;
    case VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER:
    case VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER:
        return HDI_CALL_TEXELS;
    default:
        return 0;
    }
}

const void *hdi_call_above_find(const hdi_call_above *above, const hdi_call_type *type)
{
    while (above && above->type != type)
        above = above->above;
    return above ? above->value : NULL;
}

bool hdi_call_dynamic(const VkGraphicsPipelineCreateInfo *info, VkDynamicState state)
{
    const VkPipelineDynamicStateCreateInfo *dynamic = info ? info->pDynamicState : NULL;
    for (uint32_t i = 0; dynamic && dynamic->pDynamicStates && i < dynamic->dynamicStateCount; i++) {
        if (dynamic->pDynamicStates[i] == state)
            return true;
    }
    return false;
}

static const void *in_chain_of(const void *next, VkStructureType stype)
{
    const VkBaseInStructure *s = next;
    while (s && s->sType != stype)
        s = s->pNext;
    return s;
}

/* The parts of a pipeline that info has: without VK_EXT_graphics_pipeline_library all of them. */
static uint32_t parts_of(const VkGraphicsPipelineCreateInfo *info)
{
    const VkGraphicsPipelineLibraryCreateInfoEXT *own =
        in_chain_of(info->pNext, VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_LIBRARY_CREATE_INFO_EXT);
    const VkPipelineLibraryCreateInfoKHR *linked =
        in_chain_of(info->pNext, VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR);
    if (own)
        return own->flags;
    return info->flags & VK_PIPELINE_CREATE_LIBRARY_BIT_KHR || (linked && linked->libraryCount > 0) ? 0 : UINT32_MAX;
}

uint32_t hdi_call_pipeline(const VkGraphicsPipelineCreateInfo *info)
{
    const uint32_t parts = parts_of(info);
    const bool vertices = parts & VK_GRAPHICS_PIPELINE_LIBRARY_VERTEX_INPUT_INTERFACE_BIT_EXT;
    const bool raster = parts & VK_GRAPHICS_PIPELINE_LIBRARY_PRE_RASTERIZATION_SHADERS_BIT_EXT;
    const bool fragments = parts & VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_SHADER_BIT_EXT;
    const bool output = parts & VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_OUTPUT_INTERFACE_BIT_EXT;
    const bool discard = raster && info->pRasterizationState && info->pRasterizationState->rasterizerDiscardEnable &&
                         !hdi_call_dynamic(info, VK_DYNAMIC_STATE_RASTERIZER_DISCARD_ENABLE);
    /* Without a render pass it is known which attachments there are. */
    const VkPipelineRenderingCreateInfo *rendering =
        in_chain_of(info->pNext, VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO);
    const bool known = output && !info->renderPass;
    const bool colors = !known || (rendering && rendering->colorAttachmentCount > 0);
    const bool depth =
        !known || (rendering && (rendering->depthAttachmentFormat || rendering->stencilAttachmentFormat));
    VkShaderStageFlags stages = 0;
    for (uint32_t i = 0; (raster || fragments) && info->pStages && i < info->stageCount; i++)
        stages |= info->pStages[i].stage;
    const bool mesh = stages & (VK_SHADER_STAGE_MESH_BIT_EXT | VK_SHADER_STAGE_TASK_BIT_EXT);
    uint32_t states = 0;
    if (vertices && !mesh)
        states |= HDI_CALL_INPUT_ASSEMBLY |
                  (hdi_call_dynamic(info, VK_DYNAMIC_STATE_VERTEX_INPUT_EXT) ? 0 : HDI_CALL_VERTEX_INPUT);
    if (raster)
        states |= HDI_CALL_RASTERIZATION | (discard ? 0 : HDI_CALL_VIEWPORT);
    if (raster && stages & VK_SHADER_STAGE_TESSELLATION_EVALUATION_BIT)
        states |= HDI_CALL_TESSELLATION;
    if ((fragments || output) && !discard)
        states |= HDI_CALL_MULTISAMPLE;
    if (fragments && depth && !discard)
        states |= HDI_CALL_DEPTH_STENCIL;
    if (output && colors && !discard)
        states |= HDI_CALL_COLOR_BLEND;
    return states;
}
