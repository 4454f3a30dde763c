#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "fgt_words.h"
#include "json_error.h"
#include "plan_block.h"
#include "tables.h"
#include "vk_numbers.h"

/* Reads a plan from JSON that any program may have written: fields of the format are checked for type, range and index,
 * other fields are ignored. Two walks over the parsed text: one counts, one fills the block. Jansson does the parsing
 * and uses the C library's memory. */

typedef struct reader {
    hdi_decl decl;
    hdi_json json;
    hdi_plan_counts counts;
    bool fill;
    hd_plan_view view; /* while filling */
    uint32_t scope_left; /* passes that the rendering scope which was read last still holds */
} reader;

/* ---- values ---- */

static bool member(reader *r, const json_t *object, const char *key, uint64_t most, uint64_t *out)
{
    const json_t *value = json_object_get(object, key);
    return value ? hdi_json_natural(&r->json, value, key, most, out) : hdi_json_fail(&r->json, "'%s' is missing", key);
}

static bool member_u32(reader *r, const json_t *object, const char *key, uint32_t most, uint32_t *out)
{
    uint64_t value = 0;
    bool good = member(r, object, key, most, &value);
    *out = (uint32_t)value;
    return good;
}

static bool optional_u32(reader *r, const json_t *object, const char *key, uint32_t absent, uint32_t *out)
{
    *out = absent;
    return !json_object_get(object, key) || member_u32(r, object, key, UINT32_MAX, out);
}

static bool index_below(reader *r, const json_t *object, const char *key, uint32_t count, uint32_t *out)
{
    if (!member_u32(r, object, key, UINT32_MAX, out))
        return false;
    return *out < count || hdi_json_fail(&r->json, "'%s' is %u of %u", key, *out, count);
}

static json_t *array(reader *r, const json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);
    if (json_is_array(value))
        return value;
    hdi_json_fail(&r->json, value ? "'%s' is no array" : "'%s' is missing", key);
    return NULL;
}

static bool object(reader *r, const json_t *value)
{
    return json_is_object(value) || hdi_json_fail(&r->json, "is no object");
}

static bool is_true(const json_t *value)
{
    return json_is_true(value);
}

/* Reasons are words of the one list or another; a word that is not in it, or none, is 0: no reason. */
static uint32_t word_of(const json_t *object, const char *key, const char *(*name)(int), int count)
{
    const char *word = json_string_value(json_object_get(object, key));
    for (int i = 0; word && i < count; i++) {
        if (strcmp(word, name(i)) == 0)
            return (uint32_t)i;
    }
    return 0;
}

static const char *reason_name(int i)
{
    return hd_reason_name((hd_reason)i);
}

static const char *placing_name(int i)
{
    return hd_placing_name((hd_placing)i);
}

static const char *cut_name(int i)
{
    return hd_cut_name((hd_cut)i);
}

/* ---- tables ---- */

static bool read_queues(reader *r, const json_t *list)
{
    size_t i;
    json_t *item;
    if (json_array_size(list) > HD_MAX_QUEUES)
        return hdi_json_fail(&r->json, "more than %d queues", HD_MAX_QUEUES);
    r->counts.queue_count = (uint32_t)json_array_size(list);
    json_array_foreach(list, i, item)
    {
        hdi_json_enter(&r->json, "queues[%zu]", i);
        if (!object(r, item))
            return false;
        const char *word = json_string_value(json_object_get(item, "kind"));
        uint32_t kind = 0, family;
        while (word && kind < 4 && strcmp(word, hdi_fgt_kinds[kind]) != 0)
            kind++;
        if (!word || kind == 4)
            return hdi_json_fail(&r->json, "'kind' is none of gfx, compute, transfer, host");
        if (!optional_u32(r, item, "family", HD_NONE, &family))
            return false;
        if (kind != HD_QUEUE_HOST && family == HD_NONE)
            return hdi_json_fail(&r->json, "'family' is missing");
        if (r->fill)
            ((hd_plan_queue *)r->view.queues)[i] = (hd_plan_queue){kind, kind == HD_QUEUE_HOST ? HD_NONE : family};
    }
    return true;
}

static bool read_culled(reader *r, const json_t *list)
{
    size_t i;
    json_t *item;
    r->counts.culled_count = (uint32_t)json_array_size(list);
    json_array_foreach(list, i, item)
    {
        uint64_t pass = 0;
        hdi_json_enter(&r->json, "culled[%zu]", i);
        if (!hdi_json_natural(&r->json, item, "pass", UINT32_MAX, &pass))
            return false;
        if (pass >= r->decl.pass_count)
            return hdi_json_fail(&r->json, "pass %llu is not in the graph", (unsigned long long)pass);
        if (r->fill)
            ((uint32_t *)r->view.culled)[i] = (uint32_t)pass;
    }
    return true;
}

static bool read_heaps(reader *r, const json_t *list)
{
    size_t i;
    json_t *item;
    r->counts.heap_count = (uint32_t)json_array_size(list);
    json_array_foreach(list, i, item)
    {
        hd_plan_heap heap = {0};
        hdi_json_enter(&r->json, "heaps[%zu]", i);
        if (!object(r, item) || !member(r, item, "bytes", INT64_MAX, &heap.bytes) ||
            !optional_u32(r, item, "memory", 0, &heap.memory))
            return false;
        heap.flags = (is_true(json_object_get(item, "host")) ? HD_HEAP_HOST : 0) |
                     (is_true(json_object_get(item, "persistent")) ? HD_HEAP_PERSISTENT : 0);
        if (r->fill)
            ((hd_plan_heap *)r->view.heaps)[i] = heap;
    }
    return true;
}

static bool read_resource(reader *r, const json_t *item, hd_plan_resource *out)
{
    *out = (hd_plan_resource){.heap = HD_NONE};
    if (!object(r, item) || !index_below(r, item, "id", r->decl.res_count, &out->id) ||
        !optional_u32(r, item, "final_layout", 0, &out->final_layout) ||
        !optional_u32(r, item, "first_family", HD_NONE, &out->first_family) ||
        !optional_u32(r, item, "final_family", HD_NONE, &out->final_family) ||
        !optional_u32(r, item, "tenant", HD_NONE, &out->tenant))
        return false;
    uint32_t flags = r->decl.res_flags[out->id];
    bool external = (flags & HDI_RES_EXTERNAL) != 0;
    if (is_true(json_object_get(item, "external")) != external)
        return hdi_json_fail(&r->json, "resource %u is %sexternal in the graph", out->id, external ? "" : "not ");
    bool token = hdi_is_token(&r->decl, out->id);
    if (is_true(json_object_get(item, "token")) != token)
        return hdi_json_fail(&r->json, "resource %u is %stoken in the graph", out->id, token ? "a " : "no ");
    if (!external && !token && (!index_below(r, item, "heap", r->counts.heap_count, &out->heap) ||
                      !member(r, item, "offset", INT64_MAX, &out->offset) ||
                      !member(r, item, "bytes", INT64_MAX, &out->bytes)))
        return false;
    const json_t *sharing = json_object_get(item, "sharing");
    if (sharing && (!json_is_string(sharing) || strcmp(json_string_value(sharing), "concurrent") != 0))
        return hdi_json_fail(&r->json, "'sharing' may only be \"concurrent\"");
    out->flags = (sharing ? HD_PLAN_CONCURRENT : 0) | (external ? HD_PLAN_EXTERNAL : 0) |
                 (flags & HDI_RES_BUFFER ? 0 : HD_PLAN_IMAGE) |
                 (flags & (HDI_RES_EXTERNAL | HDI_RES_HISTORY | HDI_RES_HAS_HISTORY) ? HD_PLAN_PERSISTENT : 0);
    out->placing = word_of(item, "placing", placing_name, HD_PLACING_COUNT);
    return true;
}

static bool read_resources(reader *r, const json_t *list)
{
    size_t i;
    json_t *item;
    uint32_t last = 0;
    r->counts.resource_count = (uint32_t)json_array_size(list);
    json_array_foreach(list, i, item)
    {
        hd_plan_resource resource;
        hdi_json_enter(&r->json, "resources[%zu]", i);
        if (!read_resource(r, item, &resource))
            return false;
        if (i > 0 && resource.id <= last)
            return hdi_json_fail(&r->json, "ids are not ascending");
        last = resource.id;
        if (r->fill)
            ((hd_plan_resource *)r->view.resources)[i] = resource;
    }
    return true;
}

/* ---- submits ---- */

static bool read_range(reader *r, const json_t *item, hd_plan_barrier *out)
{
    bool is_buffer = (r->decl.res_flags[out->resource] & HDI_RES_BUFFER) != 0;
    const json_t *range = json_object_get(item, "range");
    size_t count = is_buffer ? 2 : 4;
    if (!json_is_array(range) || json_array_size(range) != count)
        return hdi_json_fail(&r->json, "'range' is no array of %zu numbers", count);
    uint64_t v[4] = {0};
    for (size_t i = 0; i < count; i++) {
        uint64_t most = is_buffer ? INT64_MAX : i < 2 ? UINT16_MAX : UINT32_MAX;
        if (!hdi_json_natural(&r->json, json_array_get(range, i), "range", most, &v[i]))
            return false;
    }
    if (is_buffer)
        out->range = (hd_range){.offset = v[0], .bytes = v[1]};
    else
        out->range = (hd_range){.mip_base = (uint16_t)v[0],
                                .mip_count = (uint16_t)v[1],
                                .layer_base = (uint32_t)v[2],
                                .layer_count = (uint32_t)v[3]};
    if (is_buffer)
        return true;
    uint32_t aspect, all = hdi_format_aspects(r->decl.res_info[out->resource].format);
    if (!optional_u32(r, item, "aspect", 0, &aspect))
        return false;
    if (aspect && (aspect == all || (aspect & all) != aspect))
        return hdi_json_fail(&r->json, "'aspect' is %u, not a part of its format", aspect);
    out->range.aspect = aspect;
    return member_u32(r, item, "old_layout", UINT32_MAX, &out->old_layout) &&
           member_u32(r, item, "new_layout", UINT32_MAX, &out->new_layout);
}

static bool read_barrier(reader *r, const json_t *item, hd_plan_barrier *out)
{
    *out = (hd_plan_barrier){.resource = HD_NONE};
    if (!object(r, item) || !member(r, item, "src_stages", INT64_MAX, &out->src_stages) ||
        !member(r, item, "src_access", INT64_MAX, &out->src_access) ||
        !member(r, item, "dst_stages", INT64_MAX, &out->dst_stages) ||
        !member(r, item, "dst_access", INT64_MAX, &out->dst_access) ||
        !optional_u32(r, item, "src_family", HD_NONE, &out->src_family) ||
        !optional_u32(r, item, "dst_family", HD_NONE, &out->dst_family) ||
        !optional_u32(r, item, "reason_pass", HD_NONE, &out->reason_pass) ||
        !optional_u32(r, item, "reason_resource", HD_NONE, &out->reason_resource))
        return false;
    if ((out->src_family == HD_NONE) != (out->dst_family == HD_NONE))
        return hdi_json_fail(&r->json, "'src_family' and 'dst_family' go together");
    out->reason = word_of(item, "reason", reason_name, HD_REASON_COUNT);
    if (!json_object_get(item, "resource"))
        return true;
    return index_below(r, item, "resource", r->decl.res_count, &out->resource) && read_range(r, item, out);
}

static bool read_batch(reader *r, const json_t *list, size_t submit, size_t command)
{
    size_t i;
    json_t *item;
    uint32_t begin = r->counts.barrier_count;
    json_array_foreach(list, i, item)
    {
        hd_plan_barrier barrier;
        hdi_json_enter(&r->json, "submits[%zu].commands[%zu].barrier[%zu]", submit, command, i);
        if (!read_barrier(r, item, &barrier))
            return false;
        if (r->fill)
            ((hd_plan_barrier *)r->view.barriers)[r->counts.barrier_count] = barrier;
        r->counts.barrier_count++;
    }
    if (r->fill)
        ((hd_plan_batch *)r->view.batches)[r->counts.batch_count] =
            (hd_plan_batch){begin, r->counts.barrier_count - begin};
    r->counts.batch_count++;
    return true;
}

static void add_scope(reader *r, const hd_plan_scope *scope)
{
    if (r->fill)
        ((hd_plan_scope *)r->view.scopes)[r->counts.scope_count] = *scope;
    r->counts.scope_count++;
}

static void add_attachment(reader *r, const hd_plan_attachment *attachment)
{
    if (r->fill)
        ((hd_plan_attachment *)r->view.attachments)[r->counts.attachment_count] = *attachment;
    r->counts.attachment_count++;
}

static bool read_scope(reader *r, const json_t *item, uint32_t pass)
{
    hd_plan_scope scope = {.command_begin = r->counts.command_count, .attachment_begin = r->counts.attachment_count};
    uint32_t uses = r->decl.pass_use_begin[pass + 1] - r->decl.pass_use_begin[pass];
    if (!object(r, item) || !member_u32(r, item, "passes", UINT32_MAX, &scope.command_count))
        return false;
    if (scope.command_count == 0)
        return hdi_json_fail(&r->json, "'passes' is 0");
    const json_t *list = array(r, item, "attachments");
    size_t i;
    json_t *entry;
    json_array_foreach(list, i, entry)
    {
        hd_plan_attachment attachment;
        if (!object(r, entry) || !index_below(r, entry, "use", uses, &attachment.use) ||
            !member_u32(r, entry, "load", UINT32_MAX, &attachment.load) ||
            !member_u32(r, entry, "store", UINT32_MAX, &attachment.store) ||
            !optional_u32(r, entry, "resolve", HD_NONE, &attachment.resolve))
            return false;
        add_attachment(r, &attachment);
    }
    scope.attachment_count = r->counts.attachment_count - scope.attachment_begin;
    add_scope(r, &scope);
    r->scope_left = scope.command_count - 1;
    return list != NULL;
}

/* For a plan that does not say how attachments begin and end: every pass is a scope by itself, everything is stored. */
static void plain_scope(reader *r, uint32_t pass)
{
    hd_plan_scope scope = {r->counts.command_count, 1, r->counts.attachment_count, 0};
    if (r->decl.pass_type[pass] != HD_PASS_GFX || r->decl.pass_flags[pass] & HDI_PASS_NO_RENDERING)
        return;
    uint32_t first = r->decl.pass_use_begin[pass];
    for (uint32_t use = first; use < r->decl.pass_use_begin[pass + 1]; use++) {
        const hdi_access_info *access = &r->decl.access[r->decl.use_access[use]];
        if (access->attachment != HDI_ATTACHMENT_COLOR && access->attachment != HDI_ATTACHMENT_DEPTH)
            continue;
        uint32_t resolve = r->decl.use_exec[use].resolve;
        hd_plan_attachment attachment = {use - first, hdi_load_op(&r->decl, use),
                                         access->writes ? HDI_STORE_OP_STORE : HDI_STORE_OP_NONE,
                                         resolve ? resolve - 1 : HD_NONE};
        add_attachment(r, &attachment);
        scope.attachment_count++;
    }
    if (scope.attachment_count)
        add_scope(r, &scope);
}

static bool read_command(reader *r, const json_t *item, size_t submit, size_t index)
{
    hd_plan_command command = {.kind = HD_COMMAND_PASS};
    if (!object(r, item))
        return false;
    if (json_object_get(item, "pass")) {
        if (json_object_get(item, "barrier"))
            return hdi_json_fail(&r->json, "is both a pass and a barrier");
        if (!index_below(r, item, "pass", r->decl.pass_count, &command.index))
            return false;
        const json_t *scope = json_object_get(item, "rendering");
        if (r->scope_left)
            r->scope_left--;
        else if (!scope)
            plain_scope(r, command.index);
        else if (!read_scope(r, scope, command.index))
            return false;
    } else {
        const json_t *list = json_object_get(item, "barrier");
        if (!json_is_array(list))
            return hdi_json_fail(&r->json, "is neither a pass nor a barrier");
        command.kind = HD_COMMAND_BARRIER;
        command.index = r->counts.batch_count;
        if (json_object_get(item, "set") && json_object_get(item, "wait"))
            return hdi_json_fail(&r->json, "both sets and waits");
        const char *key = json_object_get(item, "set") ? "set" : "wait";
        if (json_object_get(item, key)) {
            command.kind = key[0] == 's' ? HD_COMMAND_SET : HD_COMMAND_WAIT;
            if (!member_u32(r, item, key, UINT32_MAX, &command.event))
                return false;
        }
        if (!read_batch(r, list, submit, index))
            return false;
    }
    if (r->fill)
        ((hd_plan_command *)r->view.commands)[r->counts.command_count] = command;
    r->counts.command_count++;
    return true;
}

static bool read_waits(reader *r, const json_t *list, size_t submit)
{
    size_t i;
    json_t *item;
    json_array_foreach(list, i, item)
    {
        hd_plan_wait wait = {0};
        hdi_json_enter(&r->json, "submits[%zu].waits[%zu]", submit, i);
        if (!object(r, item) || !index_below(r, item, "queue", r->counts.queue_count, &wait.queue) ||
            !member(r, item, "value", INT64_MAX, &wait.value) || !member(r, item, "stages", INT64_MAX, &wait.stages) ||
            !optional_u32(r, item, "reason_pass", HD_NONE, &wait.reason_pass))
            return false;
        if (r->fill)
            ((hd_plan_wait *)r->view.waits)[r->counts.wait_count] = wait;
        r->counts.wait_count++;
    }
    return true;
}

static bool read_submit(reader *r, const json_t *item, size_t index)
{
    hd_plan_submit submit = {.wait_begin = r->counts.wait_count, .command_begin = r->counts.command_count};
    hdi_json_enter(&r->json, "submits[%zu]", index);
    if (!object(r, item) || !index_below(r, item, "queue", r->counts.queue_count, &submit.queue))
        return false;
    submit.cut = word_of(item, "cut", cut_name, HD_CUT_COUNT);
    const json_t *waits = array(r, item, "waits"), *commands = array(r, item, "commands");
    const json_t *signal = json_object_get(item, "signal");
    if (!waits || !commands)
        return false;
    if (signal) {
        hdi_json_enter(&r->json, "submits[%zu].signal", index);
        if (!object(r, signal) || !member(r, signal, "value", INT64_MAX, &submit.signal_value) ||
            !member(r, signal, "stages", INT64_MAX, &submit.signal_stages))
            return false;
        if (submit.signal_value == 0)
            return hdi_json_fail(&r->json, "'value' is 0");
    }
    if (!read_waits(r, waits, index))
        return false;
    size_t i;
    json_t *command;
    json_array_foreach(commands, i, command)
    {
        hdi_json_enter(&r->json, "submits[%zu].commands[%zu]", index, i);
        if (!read_command(r, command, index, i))
            return false;
    }
    submit.wait_count = r->counts.wait_count - submit.wait_begin;
    submit.command_count = r->counts.command_count - submit.command_begin;
    if (r->fill)
        ((hd_plan_submit *)r->view.submits)[r->counts.submit_count] = submit;
    r->counts.submit_count++;
    return true;
}

/* One walk: counts, and with fill set also writes. */
static bool read_plan(reader *r, const json_t *root)
{
    r->counts = (hdi_plan_counts){.pass_count = r->decl.pass_count, .declared_resource_count = r->decl.res_count};
    r->json.where[0] = 0;
    r->scope_left = 0;
    uint64_t version = 0;
    if (!object(r, root) || !member(r, root, "plan", UINT32_MAX, &version))
        return false;
    if (version != 1)
        return hdi_json_fail(&r->json, "version %llu is not 1", (unsigned long long)version);
    const json_t *queues = array(r, root, "queues"), *culled = array(r, root, "culled"),
                 *heaps = array(r, root, "heaps");
    const json_t *resources = array(r, root, "resources"), *submits = array(r, root, "submits");
    if (!queues || !culled || !heaps || !resources || !submits)
        return false;
    if (!read_queues(r, queues) || !read_culled(r, culled) || !read_heaps(r, heaps) || !read_resources(r, resources))
        return false;
    size_t i;
    json_t *item;
    json_array_foreach(submits, i, item)
    {
        if (!read_submit(r, item, i))
            return false;
    }
    return true;
}

hd_result hd_plan_read_json(const hd_graph *graph, const char *text, size_t bytes, const hd_allocator *allocator,
                            hd_plan **out, char *error, size_t error_bytes)
{
    static const hd_allocator standard = {0};
    if (!graph || !out || (!text && bytes))
        return HD_INVALID_ARGUMENT;
    *out = NULL;
    if (!allocator)
        allocator = &standard;
    reader r = {.decl = hdi_graph_decl(graph), .json = {.what = "plan", .error = error, .error_bytes = error_bytes}};
    json_t *root = hdi_json_parse(&r.json, text, bytes);
    if (root && read_plan(&r, root)) {
        hdi_plan_counts counts = r.counts;
        void *block = hdi_alloc(allocator, hdi_plan_size(&counts), 64);
        if (block) {
            hd_plan *plan = hdi_plan_begin(block, &counts);
            r.view = hd_plan_read(plan);
            r.fill = true;
            read_plan(&r, root);
            hdi_plan_finish(plan);
            *out = plan;
        } else {
            hdi_json_no_memory(&r.json);
        }
    }
    json_decref(root);
    return r.json.result;
}
