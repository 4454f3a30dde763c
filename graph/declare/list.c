#include "declare_columns.h"

#include <stdio.h>
#include <string.h>

#include "alloc.h"

/* Lists: what several threads declare at once. A list is a chain of calls with their arguments; joining makes the calls
 * in the order of keys. So a frame from lists is by construction what one thread would have declared, errors included,
 * and no thread but the graph's own ever touches the graph's columns: declaring on one thread pays nothing for lists.
 * Rejected: columns of each list, copied and renumbered at the join. Checks depend on what stands before (first writes,
 * versions, histories, double uses), so the join would run most of them all the same.
 *
 * Handles of lists are numbers from one row that lists take in blocks, one atomic addition a block; which list gets
 * which block depends on the threads and is seen nowhere in a plan. The join notes for each number the handle that the
 * graph's call returned. O(1) a resource, O(uses) a pass, twice: on the list's thread and, in the join, on the graph's.
 */

enum { BLOCK = 64 };

typedef struct list_call {
    struct list_call *after;
    hdi_call_kind kind;
    bool is_null;     /* the description was */
    uint32_t handle;  /* what the list's call returned */
    uint32_t *fresh;  /* passes: handle that each use's next got, 0: none; null: no use has one */
    hd_resource *made; /* what the graph's call makes of those */
    union {
        hd_image_desc image;
        hd_buffer_desc buffer;
        hd_import_desc import;
        hd_history_desc history;
        hd_pass_desc pass;
        struct {
            hdi_later_fn fn;
            const void *arguments;
        } later;
    } desc;
} list_call;

struct hdi_list {
    hd_graph face; /* what the engine holds: no columns and no room, so that each call that declares comes here */
    hd_graph *graph;
    struct hdi_list *after;
    uint32_t key;
    uint32_t first_handle;
    uint32_t id, id_end; /* numbers left in the list's block */
    hd_result result;    /* why the list ends early */
    bool twin;           /* another open list has this key */
    _Atomic(bool) open;  /* it has not joined */
    hdi_arena arena;
    list_call *first, **last;
};

/* ---- opening and closing ---- */

static void start(hdi_list *list, uint32_t key)
{
    list->key = key;
    list->first_handle = list->graph->lists.first_handle;
    list->id = list->id_end = 0;
    list->result = HD_OK;
    list->twin = false;
    list->first = NULL;
    list->last = &list->first;
    atomic_store_explicit(&list->open, true, memory_order_relaxed);
}

static hdi_list *make_list(hd_graph *graph)
{
    hdi_list *list = hdi_alloc(&graph->allocator, sizeof(*list), 64);
    if (!list)
        return NULL;
    memset(list, 0, sizeof(*list));
    list->face.list = list;
    list->graph = graph;
    hdi_arena_init(&list->arena, &graph->allocator);
    return list;
}

/* Notes, with a line in the log, that a list is used which has joined: the next join fails. Any thread. */
static bool is_open(hdi_list *list)
{
    if (atomic_load_explicit(&list->open, memory_order_relaxed))
        return true;
    hdi_log(&list->graph->log, HD_LOG_WARNING, "the list of order key %u is used after it joined: nothing is declared",
            list->key);
    atomic_store_explicit(&list->graph->lists.late, (uint64_t)list->key + 1, memory_order_relaxed);
    return false;
}

hd_graph *hd_graph_list(hd_graph *graph, uint32_t order_key)
{
    if (graph && graph->list && is_open(graph->list))
        graph->list->result = HD_INVALID_ARGUMENT; /* the join says so: what goes into no list would be lost */
    if (!graph || graph->list)
        return NULL;
    hdi_lists *lists = &graph->lists;
    pthread_mutex_lock(&lists->mutex);
    hdi_list *list = lists->spare;
    if (list)
        lists->spare = list->after;
    else
        list = make_list(graph);
    if (list) {
        start(list, order_key);
        hdi_list **place = &lists->open;
        while (*place && (*place)->key < order_key)
            place = &(*place)->after;
        list->twin = *place && (*place)->key == order_key;
        list->after = *place;
        *place = list;
    } else {
        lists->failed = true;
    }
    pthread_mutex_unlock(&lists->mutex);
    return list ? &list->face : NULL;
}

static void close_lists(hd_graph *graph)
{
    hdi_lists *lists = &graph->lists;
    while (lists->open) {
        hdi_list *list = lists->open;
        lists->open = list->after;
        hdi_arena_reset(&list->arena);
        atomic_store_explicit(&list->open, false, memory_order_relaxed);
        list->after = lists->closed;
        lists->closed = list;
    }
    lists->failed = false;
}

/* A list that has joined is opened again in the frame after the next one, so that a use until then is an error.
 */
static void rest_lists(hdi_lists *lists)
{
    hdi_list **end = &lists->spare;
    while (*end)
        end = &(*end)->after;
    *end = lists->rested;
    lists->rested = lists->closed;
    lists->closed = NULL;
}

/* How many numbers lists have taken. */
static uint32_t taken(const hdi_lists *lists)
{
    uint32_t count = atomic_load_explicit(&lists->id_next, memory_order_relaxed);
    return count < HDI_MOST_INDICES ? count : HDI_MOST_INDICES;
}

void hdi_lists_forget(hd_graph *graph)
{
    close_lists(graph);
    rest_lists(&graph->lists);
    graph->lists.alias_count = 0;
    graph->lists.first_handle =
        hdi_next_handle(graph->lists.first_handle, taken(&graph->lists), HDI_LIST_HANDLES, 0);
    atomic_store_explicit(&graph->lists.id_next, 0, memory_order_relaxed);
}

void hdi_lists_free(hd_graph *graph)
{
    hdi_lists *lists = &graph->lists;
    close_lists(graph);
    rest_lists(lists);
    rest_lists(lists);
    while (lists->spare) {
        hdi_list *list = lists->spare;
        lists->spare = list->after;
        hdi_arena_free(&list->arena);
        hdi_free(&graph->allocator, list, sizeof(*list));
    }
    hdi_free(&graph->allocator, lists->alias, lists->alias_capacity * sizeof(*lists->alias));
    pthread_mutex_destroy(&lists->mutex);
}

/* ---- declaring into a list ---- */

static uint32_t new_handle(hdi_list *list)
{
    if (list->id == list->id_end) {
        /* relaxed: the numbers carry nothing; what the list noted reaches the join with the end of its thread. */
        list->id = atomic_fetch_add_explicit(&list->graph->lists.id_next, BLOCK, memory_order_relaxed);
        list->id_end = list->id + BLOCK;
        if (list->id_end >= HDI_MOST_INDICES) {
            list->id = list->id_end = 0;
            list->result = HD_TOO_LARGE;
            return 0;
        }
    }
    return list->first_handle + list->id++;
}

/* Null once the list has failed. */
static list_call *add_call(hdi_list *list, hdi_call_kind kind, bool is_null)
{
    if (!is_open(list) || list->result != HD_OK)
        return NULL;
    list_call *call = HDI_ARENA_ZEROED(&list->arena, list_call, 1);
    uint32_t handle = call ? new_handle(list) : 0;
    if (!handle) {
        if (!call)
            list->result = HD_OUT_OF_MEMORY;
        return NULL;
    }
    call->kind = kind;
    call->is_null = is_null;
    call->handle = handle;
    *list->last = call;
    list->last = &call->after;
    return call;
}

hd_resource hdi_list_resource(hdi_list *list, hdi_call_kind kind, const void *desc)
{
    static const size_t bytes[] = {sizeof(hd_image_desc), sizeof(hd_buffer_desc), sizeof(hd_import_desc),
                                   sizeof(hd_history_desc)};
    list_call *call = add_call(list, kind, !desc);
    if (call && desc)
        memcpy(&call->desc, desc, bytes[kind]);
    return (hd_resource){call ? call->handle : 0};
}

static bool use_writes(const hd_use *use)
{
    if (use->access == HD_ACCESS_CUSTOM)
        return use->custom && use->custom->writes;
    if (use->access == HD_RESOLVE_WRITE)
        return true;
    return (uint32_t)use->access < HD_ACCESS_COUNT && hdi_access_table[use->access].writes;
}

/* Room for what the graph's call makes of the uses' versions. */
static hd_result note_versions(hdi_list *list, list_call *call, hd_use *uses, uint32_t count)
{
    call->fresh = HDI_ARENA_ZEROED(&list->arena, uint32_t, count);
    call->made = HDI_ARENA_ZEROED(&list->arena, hd_resource, count);
    if (!call->fresh || !call->made)
        return HD_OUT_OF_MEMORY;
    for (uint32_t u = 0; u < count; u++) {
        if (!uses[u].next)
            continue;
        bool writes = use_writes(&uses[u]);
        call->fresh[u] = writes ? new_handle(list) : 0;
        uses[u].next->id = writes ? call->fresh[u] : uses[u].resource.id;
        if (writes && !call->fresh[u])
            return list->result;
        uses[u].next = writes ? &call->made[u] : NULL;
    }
    return HD_OK;
}

static hd_result copy_uses(hdi_list *list, list_call *call, const hd_pass_desc *desc)
{
    uint32_t count = desc->use_count;
    hd_use *uses = HDI_ARENA_ARRAY(&list->arena, hd_use, count);
    if (!uses)
        return HD_OUT_OF_MEMORY;
    memcpy(uses, desc->uses, count * sizeof(*uses));
    call->desc.pass.uses = uses;
    bool versions = false;
    for (uint32_t u = 0; u < count; u++) {
        versions |= uses[u].next != NULL;
        if (uses[u].access != HD_ACCESS_CUSTOM || !uses[u].custom)
            continue;
        hd_custom_access *custom = HDI_ARENA_ARRAY(&list->arena, hd_custom_access, 1);
        if (!custom)
            return HD_OUT_OF_MEMORY;
        *custom = *uses[u].custom;
        uses[u].custom = custom;
    }
    return versions ? note_versions(list, call, uses, count) : HD_OK;
}

hd_pass hdi_list_pass(hdi_list *list, const hd_pass_desc *desc)
{
    for (uint32_t u = 0; desc && hdi_has_uses(desc) && u < desc->use_count; u++) {
        if (desc->uses[u].next)
            *desc->uses[u].next = (hd_resource){0};
    }
    list_call *call = add_call(list, HDI_CALL_PASS, !desc);
    if (!call)
        return (hd_pass){0};
    if (desc) {
        call->desc.pass = *desc;
        if (!hdi_has_uses(desc)) /* too many: the join says so */
            call->desc.pass.uses = NULL;
        hd_result result = call->desc.pass.uses && desc->use_count ? copy_uses(list, call, desc) : HD_OK;
        if (result != HD_OK) { /* noted without uses: the list ends here, so that it is seen nowhere */
            call->desc.pass.uses = NULL;
            call->desc.pass.use_count = 0;
            call->fresh = NULL;
            list->result = result;
            return (hd_pass){0};
        }
    }
    return (hd_pass){call->handle};
}

void *hdi_list_keep(hd_graph *list, const void *data, size_t bytes)
{
    void *kept = is_open(list->list) && list->list->result == HD_OK ? hdi_arena_alloc(&list->list->arena, bytes) : NULL;
    if (kept)
        memcpy(kept, data, bytes);
    else if (atomic_load_explicit(&list->list->open, memory_order_relaxed) && list->list->result == HD_OK)
        list->list->result = HD_OUT_OF_MEMORY;
    return kept;
}

hd_graph *hdi_list_graph(const hdi_list *list)
{
    return list->graph;
}

hd_pass hdi_list_later(hd_graph *list, hdi_later_fn fn, const void *arguments, size_t bytes)
{
    const hdi_entered entered = HDI_ENTER(list, "a function that declares passes of its own");
    const void *kept = entered == HDI_REFUSED ? NULL : hdi_list_keep(list, arguments, bytes);
    list_call *call = kept ? add_call(list->list, HDI_CALL_LATER, false) : NULL;
    HDI_LEAVE(list, entered);
    if (!call)
        return (hd_pass){0};
    call->desc.later.fn = fn;
    call->desc.later.arguments = kept;
    return (hd_pass){call->handle};
}

/* ---- joining ---- */

uint32_t hdi_list_alias(const hd_graph *graph, uint32_t id)
{
    uint32_t number = id - graph->lists.first_handle;
    return number < graph->lists.alias_count ? graph->lists.alias[number] : 0;
}

static void set_alias(hd_graph *graph, uint32_t handle, uint32_t id)
{
    if (handle)
        graph->lists.alias[handle - graph->lists.first_handle] = id;
}

static uint32_t make_call(hd_graph *graph, const list_call *call)
{
    switch (call->kind) {
    case HDI_CALL_IMAGE:
        return hd_graph_image(graph, call->is_null ? NULL : &call->desc.image).id;
    case HDI_CALL_BUFFER:
        return hd_graph_buffer(graph, call->is_null ? NULL : &call->desc.buffer).id;
    case HDI_CALL_IMPORT:
        return hd_graph_import(graph, call->is_null ? NULL : &call->desc.import).id;
    case HDI_CALL_HISTORY:
        return hd_graph_history_with(graph, call->is_null ? NULL : &call->desc.history).id;
    case HDI_CALL_LATER:
        return call->desc.later.fn(graph, call->desc.later.arguments).id;
    default:
        return hd_graph_pass(graph, call->is_null ? NULL : &call->desc.pass).id;
    }
}

static void join_list(hd_graph *graph, const hdi_list *list)
{
    char detail[64];
    snprintf(detail, sizeof(detail), "the list of order key %u", list->key);
    if (list->twin) {
        snprintf(detail, sizeof(detail), "two lists have the order key %u", list->key);
        hdi_graph_fail(graph, HD_INVALID_ARGUMENT, HD_NONE, HD_NONE, HD_NONE, detail);
        return;
    }
    for (const list_call *call = list->first; call; call = call->after) {
        set_alias(graph, call->handle, make_call(graph, call));
        for (uint32_t u = 0; call->kind == HDI_CALL_PASS && call->fresh && u < call->desc.pass.use_count; u++)
            set_alias(graph, call->fresh[u], call->made[u].id);
        if (graph->error.result != HD_OK)
            return;
    }
    if (list->result != HD_OK)
        hdi_graph_fail(graph, list->result, HD_NONE, HD_NONE, HD_NONE, detail);
}

/* An alias, of nothing yet, for each number that lists have taken. */
static hd_result need_aliases(hd_graph *graph)
{
    hdi_lists *lists = &graph->lists;
    uint32_t need = taken(lists);
    hd_result result = hdi_grow(&graph->allocator, (void **)&lists->alias, &lists->alias_capacity, need,
                                sizeof(*lists->alias));
    if (result == HD_OK && need > lists->alias_count) {
        memset(lists->alias + lists->alias_count, 0, (need - lists->alias_count) * sizeof(*lists->alias));
        lists->alias_count = need;
    }
    return result;
}

static hd_result join(hd_graph *graph)
{
    hdi_lists *lists = &graph->lists;
    const char *raced = atomic_exchange_explicit(&graph->raced, NULL, memory_order_relaxed);
    if (raced) {
        char detail[HDI_FAULT_BYTES];
        snprintf(detail, sizeof(detail), "%s, called while another thread was in the graph", raced);
        hdi_graph_fail(graph, HD_INVALID_ARGUMENT, HD_NONE, HD_NONE, HD_NONE, detail);
    }
    uint64_t late = atomic_load_explicit(&lists->late, memory_order_relaxed);
    if (late) {
        char detail[HDI_FAULT_BYTES];
        atomic_store_explicit(&lists->late, 0, memory_order_relaxed);
        snprintf(detail, sizeof(detail), "the list of order key %u", (uint32_t)(late - 1));
        hdi_graph_fail(graph, HD_LIST_JOINED, HD_NONE, HD_NONE, HD_NONE, detail);
    }
    if (!lists->open && !lists->failed)
        return graph->error.result;
    hd_result result = lists->failed ? HD_OUT_OF_MEMORY : need_aliases(graph);
    if (result != HD_OK)
        hdi_graph_fail(graph, result, HD_NONE, HD_NONE, HD_NONE, "lists of other threads");
    for (const hdi_list *list = lists->open; list && graph->error.result == HD_OK; list = list->after)
        join_list(graph, list);
    close_lists(graph);
    return graph->error.result;
}

hd_result hd_graph_join(hd_graph *graph)
{
    const hdi_entered entered = graph && !graph->list ? hdi_graph_enter(graph, "hd_graph_join", false) : HDI_REFUSED;
    if (entered == HDI_REFUSED)
        return HD_INVALID_ARGUMENT;
    const hd_result result = join(graph);
    hdi_graph_leave(graph, entered);
    return result;
}
