#include "capture_descriptors.h"

#include <string.h>

#include "call.h"
#include "stream.h"

/* A walk through the stream that keeps what each descriptor set holds (its updates are commands of the host), and which
 * sets are bound in the command buffer. A draw or dispatch gets an access for each descriptor that it can reach, but
 * for resources that its pass declares: the declaration says it better. Draws of one rendering that follow one another
 * with the same sets read the same, and none of them goes without the others: the first one has the accesses. Whether
 * the shader uses the descriptor is not known, nor which bytes where offsets are dynamic. Reads of vertex buffers
 * go from draws whose pipeline takes none. O(descriptors of all draws). */

typedef struct descriptor {
    uint32_t binding, element;
    uint32_t resource;
    uint32_t layout;
    uint64_t access, stages;
    hd_range range;
} descriptor;

typedef struct holder { /* a descriptor set, or what was pushed */
    descriptor *list;
    uint32_t count, room;
    const VkDescriptorSetLayoutCreateInfo *layout;
    bool known; /* its layout was looked up */
} holder;

enum { POINTS = 2, SLOTS = 8, MOST_BOUND = 32 }; /* sets from the last slot on share it: HD_STREAM_STATE_SET */

typedef struct walker {
    hd_stream *s;
    hd_stream *to; /* has the accesses */
    hdi_arena kept, once;
    uint32_t *resource_of; /* objects; HD_NONE: none */
    uint32_t *memory_of;   /* objects: memory by the number that resources have for it; HD_NONE: none has it */
    uint32_t memories;     /* the first number that is free */
    holder *holders;       /* objects, then what was pushed, by point and slot */
    uint32_t bound[POINTS][SLOTS][MOST_BOUND], bound_count[POINTS][SLOTS];
    uint32_t buffer;
    uint8_t *vertices; /* objects, pipelines: whether it takes any; 0: not looked up, 1: yes, or not known, 2: no */
    bool no_vertices;  /* the pipeline that is bound */
    const hd_stream_command *pass; /* the last declaration */
    bool drawn;                    /* in this rendering, with the sets that are bound now */
    uint32_t scope;                /* the rendering; 0: none that its commands could not do without */
    bool failed;
} walker;

/* Handles are numbers of objects here. */
static uint64_t number_of(void *user, uint32_t type, uint32_t object)
{
    (void)user;
    (void)type;
    return object;
}

#define OBJECT(handle) ((uint32_t)(uintptr_t)(handle))

static hdi_call_reader open_data(walker *w, hdi_arena *arena, uint32_t number)
{
    const hd_stream_data *data = &w->s->datas[number];
    return (hdi_call_reader){.bytes = w->s->bytes + data->byte_begin,
                             .refs = w->s->refs + data->ref_begin,
                             .byte_count = data->byte_count,
                             .ref_count = data->ref_count,
                             .arena = arena,
                             .handle = number_of};
}

/* What an object was made with; null: not known. */
static const void *info_of(walker *w, hdi_arena *arena, uint32_t object, const char *type_name)
{
    const hdi_call_type *type = hdi_call_type_find(type_name);
    if (!object || object >= w->s->object_count || !w->s->objects[object].data || !type)
        return NULL;
    hdi_call_reader r = open_data(w, arena, w->s->objects[object].data);
    return hdi_call_read(&r, type);
}

/* ---- resources ---- */

/* The object and the memory that an object that has memory names; false: it has none. */
static bool memory_at(const walker *w, uint32_t object, const char *function, uint32_t refs[2], uint64_t *offset)
{
    const hd_stream *s = w->s;
    const hd_stream_data *data = &s->datas[s->objects[object].data];
    if (!s->objects[object].data || strcmp(s->strings[s->objects[object].name], function) != 0 ||
        data->ref_count != 2 || data->byte_count != sizeof(*offset))
        return false;
    memcpy(refs, s->refs + data->ref_begin, 2 * sizeof(*refs));
    memcpy(offset, s->bytes + data->byte_begin, sizeof(*offset));
    return true;
}

static bool find_resources(walker *w)
{
    const hd_stream *s = w->s;
    size_t objects = (size_t)s->object_count + 1, bytes = objects * sizeof(uint32_t);
    w->resource_of = HDI_ARENA_ARRAY(&w->kept, uint32_t, objects);
    w->memory_of = HDI_ARENA_ARRAY(&w->kept, uint32_t, objects);
    if (w->kept.failed)
        return false;
    memset(w->resource_of, 0xff, bytes);
    memset(w->memory_of, 0xff, bytes);
    for (uint32_t r = 0; r < s->resource_count; r++) {
        const hd_stream_resource *x = &s->resources[r];
        uint32_t refs[2];
        uint64_t offset;
        if (x->memory != HD_NONE && x->memory >= w->memories)
            w->memories = x->memory + 1;
        if (!x->object)
            continue;
        w->resource_of[x->object] = r;
        if (memory_at(w, x->object, "vkBindBufferMemory", refs, &offset) ||
            memory_at(w, x->object, "vkBindImageMemory", refs, &offset))
            w->memory_of[refs[1]] = x->memory;
    }
    return true;
}

/* Of a buffer that shaders alone touch, the stream does not know so far. An image has a layout, so a barrier knows it.
 */
static void add_buffer(walker *w, uint32_t object)
{
    uint32_t refs[2];
    uint64_t offset;
    const VkBufferCreateInfo *info = memory_at(w, object, "vkBindBufferMemory", refs, &offset)
                                         ? info_of(w, &w->once, refs[0], "VkBufferCreateInfo")
                                         : NULL;
    hd_stream_resource *r = info ? hdi_stream_resource(w->s) : NULL;
    w->failed |= info && !r;
    if (!r)
        return;
    uint32_t *memory = &w->memory_of[refs[1]];
    *memory = *memory == HD_NONE ? w->memories++ : *memory;
    *r = (hd_stream_resource){.name = HD_NONE,
                              .memory = *memory,
                              .offset = offset,
                              .bytes = info->size,
                              .mips = 1,
                              .layers = 1,
                              .flags = info->sharingMode == VK_SHARING_MODE_CONCURRENT ? HD_STREAM_CONCURRENT : 0,
                              .object = object};
    w->resource_of[object] = w->s->resource_count - 1;
}

/* HD_NONE: none. */
static uint32_t resource_of(walker *w, uint32_t object)
{
    if (!object || object >= w->s->object_count)
        return HD_NONE;
    if (w->resource_of[object] == HD_NONE)
        add_buffer(w, object);
    return w->resource_of[object];
}

/* ---- descriptors ---- */

static uint64_t access_of(VkDescriptorType type)
{
    switch (type) {
    case VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER:
    case VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE:
    case VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER:
        return VK_ACCESS_2_SHADER_SAMPLED_READ_BIT;
    case VK_DESCRIPTOR_TYPE_STORAGE_IMAGE:
    case VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER:
    case VK_DESCRIPTOR_TYPE_STORAGE_BUFFER:
    case VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC:
        return VK_ACCESS_2_SHADER_STORAGE_READ_BIT | VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT;
    case VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER:
    case VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC:
        return VK_ACCESS_2_UNIFORM_READ_BIT;
    case VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT:
        return VK_ACCESS_2_INPUT_ATTACHMENT_READ_BIT;
    default:
        return 0; /* samplers; what has no resource of the stream */
    }
}

static uint32_t clamped(uint32_t base, uint32_t count, uint32_t whole)
{
    return count < whole - base ? count : whole - base;
}

static void name_image(walker *w, descriptor *d, const VkDescriptorImageInfo *image)
{
    const VkImageViewCreateInfo *view = info_of(w, &w->once, OBJECT(image->imageView), "VkImageViewCreateInfo");
    uint32_t resource = resource_of(w, view ? OBJECT(view->image) : 0);
    if (resource == HD_NONE)
        return;
    const hd_stream_resource *r = &w->s->resources[resource];
    const VkImageSubresourceRange *part = &view->subresourceRange;
    const uint32_t both = HD_ASPECT_DEPTH | HD_ASPECT_STENCIL;
    if (!r->aspects || part->baseMipLevel >= r->mips)
        return;
    d->resource = resource;
    d->layout = (uint32_t)image->imageLayout;
    d->range.mip_base = (uint16_t)part->baseMipLevel;
    d->range.mip_count = (uint16_t)clamped(part->baseMipLevel, part->levelCount, r->mips);
    bool slices = part->baseArrayLayer >= r->layers; /* of a 3D image: it has one layer */
    d->range.layer_base = slices ? 0 : part->baseArrayLayer;
    d->range.layer_count = slices ? r->layers : clamped(part->baseArrayLayer, part->layerCount, r->layers);
    d->range.aspect = (r->aspects & both) == both && part->aspectMask != both ? part->aspectMask & both : 0;
}

static void name_bytes(walker *w, descriptor *d, uint32_t object, uint64_t offset, uint64_t bytes)
{
    uint32_t resource = resource_of(w, object);
    if (resource == HD_NONE)
        return;
    const hd_stream_resource *r = &w->s->resources[resource];
    if (r->aspects || offset >= r->bytes)
        return;
    d->resource = resource;
    d->range.offset = offset;
    d->range.bytes = bytes < r->bytes - offset ? bytes : r->bytes - offset;
}

static void name_buffer_view(walker *w, descriptor *d, VkBufferView handle)
{
    const VkBufferViewCreateInfo *view = info_of(w, &w->once, OBJECT(handle), "VkBufferViewCreateInfo");
    if (view)
        name_bytes(w, d, OBJECT(view->buffer), view->offset, view->range);
}

/* Stages of shaders are stages of pipelines, but for those beyond the first five. */
static uint64_t stages_of(const holder *set, uint32_t binding)
{
    VkShaderStageFlags flags = VK_SHADER_STAGE_ALL_GRAPHICS | VK_SHADER_STAGE_COMPUTE_BIT;
    for (uint32_t i = 0; set->layout && i < set->layout->bindingCount && set->layout->pBindings; i++) {
        if (set->layout->pBindings[i].binding == binding)
            flags = set->layout->pBindings[i].stageFlags;
    }
    return (uint64_t)(flags & VK_SHADER_STAGE_ALL_GRAPHICS) << 3 |
           (flags & VK_SHADER_STAGE_COMPUTE_BIT ? VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT : 0);
}

static bool is_before(const descriptor *a, const descriptor *b)
{
    return a->binding != b->binding ? a->binding < b->binding : a->element < b->element;
}

/* Lists are in the order of bindings and elements, in which they are mostly written. */
static void put(walker *w, holder *set, const descriptor *d)
{
    uint32_t low = 0, high = set->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (is_before(&set->list[middle], d))
            low = middle + 1;
        else
            high = middle;
    }
    if (low == set->count || is_before(d, &set->list[low])) {
        if (!hdi_arena_grow(&w->kept, &set->list, &set->room, set->count, set->count + 1, sizeof(*set->list))) {
            w->failed = true;
            return;
        }
        memmove(set->list + low + 1, set->list + low, (set->count++ - low) * sizeof(*set->list));
    }
    set->list[low] = *d;
}

static void write_set(walker *w, holder *set, const VkWriteDescriptorSet *x)
{
    uint64_t access = access_of(x->descriptorType);
    bool dynamic = x->descriptorType == VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC ||
                   x->descriptorType == VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC;
    if (!x->pImageInfo && !x->pBufferInfo && !x->pTexelBufferView)
        return;
    for (uint32_t i = 0; i < x->descriptorCount && access && !w->failed; i++) {
        descriptor d = {.binding = x->dstBinding,
                        .element = x->dstArrayElement + i,
                        .resource = HD_NONE,
                        .access = access,
                        .stages = stages_of(set, x->dstBinding)};
        if (x->pImageInfo)
            name_image(w, &d, &x->pImageInfo[i]);
        else if (x->pBufferInfo)
            name_bytes(w, &d, OBJECT(x->pBufferInfo[i].buffer), x->pBufferInfo[i].offset,
                       dynamic ? VK_WHOLE_SIZE : x->pBufferInfo[i].range);
        else if (x->pTexelBufferView)
            name_buffer_view(w, &d, x->pTexelBufferView[i]);
        put(w, set, &d);
    }
}

/* ---- sets ---- */

static holder *set_of(walker *w, uint32_t object)
{
    holder *set = &w->holders[object];
    if (set->known)
        return set;
    const VkDescriptorSetAllocateInfo *info = info_of(w, &w->kept, object, "VkDescriptorSetAllocateInfo");
    if (info && info->descriptorSetCount && info->pSetLayouts)
        set->layout = info_of(w, &w->kept, OBJECT(info->pSetLayouts[0]), "VkDescriptorSetLayoutCreateInfo");
    set->known = true;
    return set;
}

static void copy_set(walker *w, holder *to, const VkCopyDescriptorSet *x)
{
    uint32_t object = OBJECT(x->srcSet);
    if (!object || object >= w->s->object_count)
        return;
    const holder *from = set_of(w, object);
    uint32_t count = from->count; /* both may be one set */
    descriptor *list = HDI_ARENA_ARRAY(&w->once, descriptor, count);
    w->failed |= !list;
    if (list && count)
        memcpy(list, from->list, count * sizeof(*list));
    for (uint32_t i = 0; i < count && !w->failed; i++) {
        descriptor d = list[i];
        if (d.binding != x->srcBinding || d.element - x->srcArrayElement >= x->descriptorCount)
            continue;
        d.binding = x->dstBinding;
        d.element += x->dstArrayElement - x->srcArrayElement;
        d.stages = stages_of(to, d.binding);
        put(w, to, &d);
    }
}

static uint32_t read_count(hdi_call_reader *r)
{
    uint32_t count = 0;
    const void *bytes = hdi_call_read_bytes(r, sizeof(count));
    if (bytes)
        memcpy(&count, bytes, sizeof(count));
    return count;
}

static void update(walker *w, const hd_stream_command *x)
{
    const hdi_call_type *write = hdi_call_type_find("VkWriteDescriptorSet");
    const hdi_call_type *copy = hdi_call_type_find("VkCopyDescriptorSet");
    hdi_call_reader r = open_data(w, &w->once, x->data);
    holder *set = set_of(w, x->changes);
    for (uint32_t n = write ? read_count(&r) : 0; n > 0 && !r.failed && !w->failed; n--) {
        const VkWriteDescriptorSet *item = hdi_call_read(&r, write);
        if (item)
            write_set(w, set, item);
    }
    for (uint32_t n = copy && !r.failed ? read_count(&r) : 0; n > 0 && !r.failed && !w->failed; n--) {
        const VkCopyDescriptorSet *item = hdi_call_read(&r, copy);
        if (item)
            copy_set(w, set, item);
    }
}

/* ---- command buffers ---- */

/* The array among the arguments of a command that holds such elements; null: there is none. */
static const void *array_of(const hdi_call_type *type, const void *arguments, uint32_t object, const char *of,
                            uint32_t *count)
{
    for (uint32_t i = 0; i < type->field_count && arguments; i++) {
        const hdi_call_field *field = &type->fields[i];
        bool is = object ? field->kind == HDI_CALL_HANDLE && field->object == object
                         : field->type && strcmp(field->type->name, of) == 0;
        if (!is || field->levels != 1 || !field->count)
            continue;
        const void *array;
        memcpy(&array, (const char *)arguments + field->offset, sizeof(array));
        *count = array ? (uint32_t)field->count(arguments) : 0;
        return array;
    }
    return NULL;
}

static void bind(walker *w, uint32_t point, uint32_t slot, uint32_t set)
{
    w->drawn = false;
    uint32_t *count = &w->bound_count[point][slot], *list = w->bound[point][slot];
    if (slot < SLOTS - 1)
        *count = 0;
    for (uint32_t i = 0; i < *count; i++) {
        if (list[i] == set)
            return;
    }
    if (*count < MOST_BOUND)
        list[(*count)++] = set;
}

/* The first slot of a command that binds; false: of a point that has no bits. */
static bool first_slot(uint64_t sets, uint32_t *point, uint32_t *slot)
{
    for (*point = 0; *point < POINTS; ++*point) {
        for (*slot = 0; *slot < SLOTS; ++*slot) {
            if (sets & HD_STREAM_STATE_SET(*point, *slot))
                return true;
        }
    }
    return false;
}

static void bind_sets(walker *w, const hd_stream_command *x, const hdi_call *call)
{
    uint32_t point, slot, count = 0;
    hdi_call_reader r = open_data(w, &w->once, x->data);
    const void *arguments = hdi_call_read(&r, call->type);
    if (!first_slot(x->sets, &point, &slot))
        return;
    const VkDescriptorSet *sets = array_of(call->type, arguments, VK_OBJECT_TYPE_DESCRIPTOR_SET, NULL, &count);
    for (uint32_t i = 0; i < count && sets; i++) {
        if (OBJECT(sets[i]))
            bind(w, point, slot + i < SLOTS - 1 ? slot + i : SLOTS - 1, OBJECT(sets[i]));
    }
    const VkWriteDescriptorSet *writes = array_of(call->type, arguments, 0, "VkWriteDescriptorSet", &count);
    uint32_t pushed = w->s->object_count + point * SLOTS + slot;
    for (uint32_t i = 0; i < count && writes; i++) {
        write_set(w, &w->holders[pushed], &writes[i]);
        bind(w, point, slot, pushed);
    }
}

/* Vertex buffers stay bound for draws that have no use for them. */
static void bind_pipeline(walker *w, const hd_stream_command *x)
{
    const hd_stream_data *data = &w->s->datas[x->data];
    uint32_t pipeline = data->ref_count ? w->s->refs[data->ref_begin] : 0;
    uint8_t *vertices = &w->vertices[pipeline];
    if (*vertices == 0) {
        const VkGraphicsPipelineCreateInfo *info = info_of(w, &w->once, pipeline, "VkGraphicsPipelineCreateInfo");
        const VkPipelineVertexInputStateCreateInfo *input = info ? info->pVertexInputState : NULL;
        const VkPipelineDynamicStateCreateInfo *dynamic = info ? info->pDynamicState : NULL;
        bool none = input && input->vertexBindingDescriptionCount == 0;
        for (uint32_t i = 0; dynamic && i < dynamic->dynamicStateCount && dynamic->pDynamicStates; i++)
            none &= dynamic->pDynamicStates[i] != VK_DYNAMIC_STATE_VERTEX_INPUT_EXT;
        *vertices = none ? 2 : 1;
    }
    w->no_vertices = *vertices == 2;
}

static bool is_declared(const walker *w, const hd_stream_command *x, uint32_t resource)
{
    for (uint32_t i = 0; w->pass && x->group && x->group == w->pass->group && i < w->pass->count; i++) {
        if (w->s->accesses[w->pass->begin + i].resource == resource)
            return true;
    }
    return false;
}

static void add_access(walker *w, const hd_stream_command *x, uint32_t point, const descriptor *d)
{
    const uint64_t compute = VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT;
    uint64_t stages = point ? d->stages & compute : d->stages & ~compute;
    if (d->resource == HD_NONE || !stages || is_declared(w, x, d->resource))
        return;
    hd_stream_access *a = hdi_stream_access(w->to);
    w->failed |= !a;
    if (a)
        *a = (hd_stream_access){.stages = stages,
                                .access = d->access,
                                .resource = d->resource,
                                .layout = d->layout,
                                .flags = HD_STREAM_BOUND,
                                .range = d->range};
}

static void use_sets(walker *w, const hd_stream_command *x)
{
    for (uint32_t point = 0; point < POINTS; point++) {
        for (uint32_t slot = 0; slot < SLOTS && x->uses & HD_STREAM_STATE_PIPELINE(point); slot++) {
            for (uint32_t i = 0; i < w->bound_count[point][slot] && x->uses & HD_STREAM_STATE_SET(point, slot); i++) {
                const holder *set = &w->holders[w->bound[point][slot][i]];
                for (uint32_t d = 0; d < set->count && !w->failed; d++)
                    add_access(w, x, point, &set->list[d]);
            }
        }
    }
}

static bool is_draw(const hd_stream_command *x)
{
    return x->uses & HD_STREAM_STATE_PIPELINE(0);
}

static void walk_command(walker *w, hd_stream_command *x)
{
    const hd_stream *s = w->s;
    if (x->kind != HD_STREAM_ACCESS || (x->count && !is_draw(x))) {
        w->drawn = false;
        w->scope = x->kind == HD_STREAM_ACCESS ? s->accesses[x->begin].scope : 0;
    }
    if (x->kind != HD_STREAM_ACCESS)
        return;
    if (x->buffer != w->buffer) {
        memset(w->bound_count, 0, sizeof(w->bound_count));
        for (uint32_t i = 0; i < POINTS * SLOTS; i++)
            w->holders[s->object_count + i].count = 0;
        w->buffer = x->buffer;
        w->drawn = w->no_vertices = false;
    }
    const char *name = s->strings[x->name];
    const hdi_call *call = x->data && x->sets ? hdi_call_find(name) : NULL;
    hdi_arena_reset(&w->once);
    if (x->data && x->changes && strcmp(name, "vkUpdateDescriptorSets") == 0)
        update(w, x);
    else if (x->data && x->sets & HD_STREAM_STATE_PIPELINE(0))
        bind_pipeline(w, x);
    else if (call && call->invoke && strstr(name, "DescriptorSet"))
        bind_sets(w, x, call);
    if (x->count && s->accesses[x->begin].flags & HD_STREAM_DECLARED)
        w->pass = x;
}

/* The accesses of the command, old and new, go to the end of the new list. */
static void move_accesses(walker *w, const hd_stream_command *x)
{
    for (uint32_t i = x->begin; i < x->begin + x->count && x->kind == HD_STREAM_ACCESS; i++) {
        if (is_draw(x) && w->no_vertices && w->s->accesses[i].access == VK_ACCESS_2_VERTEX_ATTRIBUTE_READ_BIT)
            continue;
        hd_stream_access *a = hdi_stream_access(w->to);
        w->failed |= !a;
        if (a)
            *a = w->s->accesses[i];
    }
    if (x->kind != HD_STREAM_ACCESS || (is_draw(x) && w->drawn))
        return;
    use_sets(w, x);
    w->drawn |= is_draw(x) && w->scope;
}

static void walk(walker *w, uint32_t *begin)
{
    for (uint32_t c = 0; c < w->s->command_count && !w->failed; c++) {
        walk_command(w, &w->s->commands[c]);
        begin[c] = w->to->access_count;
        move_accesses(w, &w->s->commands[c]);
    }
    begin[w->s->command_count] = w->to->access_count;
}

static void take_accesses(hd_stream *s, hd_stream *from, const uint32_t *begin)
{
    hd_stream old = *s;
    for (uint32_t c = 0; c < s->command_count; c++) {
        if (s->commands[c].kind != HD_STREAM_ACCESS)
            continue;
        s->commands[c].begin = begin[c];
        s->commands[c].count = begin[c + 1] - begin[c];
    }
    s->accesses = from->accesses;
    s->access_count = from->access_count;
    s->access_room = from->access_room;
    from->accesses = old.accesses;
    from->access_count = old.access_count;
    from->access_room = old.access_room;
}

hd_result hdi_capture_descriptors(hd_stream *s)
{
    if (s->data_count < 2)
        return HD_OK;
    walker w = {.s = s, .to = hdi_stream_make(&s->allocator)};
    hdi_arena_init(&w.kept, &s->allocator);
    hdi_arena_init(&w.once, &s->allocator);
    w.vertices = HDI_ARENA_ZEROED(&w.kept, uint8_t, (size_t)s->object_count + 1);
    w.holders = HDI_ARENA_ZEROED(&w.kept, holder, (size_t)s->object_count + POINTS * SLOTS);
    uint32_t *begin = HDI_ARENA_ARRAY(&w.kept, uint32_t, (size_t)s->command_count + 1);
    w.failed = !find_resources(&w) || w.kept.failed || !w.to;
    if (!w.failed)
        walk(&w, begin);
    w.failed |= w.kept.failed || w.once.failed;
    if (!w.failed)
        take_accesses(s, w.to, begin);
    hd_stream_free(w.to);
    hdi_arena_free(&w.kept);
    hdi_arena_free(&w.once);
    return w.failed ? HD_OUT_OF_MEMORY : HD_OK;
}
