#include "cache.h"

#include <string.h>

#include "graph_state.h"
#include "hash.h"

/* The plan cache. A plan is a pure function of what the phases read, so the key is exactly that, each column in full:
 *
 *   passes      type, pin, flags (root: cull; no_rendering: attach), cost (schedule), bounds of their uses
 *   uses        resource, access, range, load op and resolve (attach); late reads and what ends their version
 *   ranges      freeze, and all phases that read segments
 *   resources   flags (kind, external, history, host use, content at start), pair, and of hdi_res_info all up to the
 *               name: sizes and usage (lifetime, through the size callback), layouts and sharing (hazard)
 *   accesses    the graph's custom ones (the named ones are constants)
 *   queue set   with the host queue that build_queues added
 *   options     order, budget, packing effort, hand-off price, merging of rendering, size callback and its user pointer
 *
 * Left out is what no phase reads: names, record functions and user pointers (pass_exec), clear values, native handles,
 * the job pool (a parallel compile gives the same bytes), the graph's own name and tag, line numbers of .fgt text. A
 * new column that a phase reads must join `columns_of`: HD_CACHE_CHECK and tests/compile/test_cache.c are there to notice.
 *
 * The entry that was used last is compared with the declaration's columns where they stand: one pass over memory, no
 * copy and no hash, which is all that a steady frame costs. Only where that fails the key is gathered into one block
 * and hashed; entries of the same hash are compared in full, because a hash is never a proof. A miss swaps the gathered
 * block, and that of the new plan, with those of the least recently used entry, so that nothing is copied twice and a
 * steady rotation allocates nothing. */

enum { DEFAULT_PLANS = 4, MOST_PLANS = 1024 };

/* ---- blocks ---- */

enum { MOST_SPARE = 1 << 17 };

hd_result hdi_block_need(hdi_block *block, const hd_allocator *allocator, size_t bytes)
{
    if (bytes <= block->bytes)
        return HD_OK;
    size_t capacity = bytes + (bytes / 4 < MOST_SPARE ? bytes / 4 : MOST_SPARE); /* frames differ by a little */
    hdi_block_free(block, allocator); /* first: both together would be the more */
    block->data = hdi_alloc(allocator, capacity, 64);
    block->bytes = block->data ? capacity : 0;
    return block->data ? HD_OK : HD_OUT_OF_MEMORY;
}

void hdi_block_free(hdi_block *block, const hd_allocator *allocator)
{
    hdi_free(allocator, block->data, block->bytes);
    *block = (hdi_block){NULL, 0};
}

/* ---- the key ---- */

#define RES_KEY_BYTES offsetof(hdi_res_info, name)
#define RES_KEY_WORDS (RES_KEY_BYTES / 8)
_Static_assert(RES_KEY_BYTES == 12 * sizeof(uint32_t) + sizeof(uint64_t), "no padding in the part that is compared");

/* What hdi_access_info says of a custom access, without its padding. */
typedef struct access_key {
    uint64_t stages, access;
    uint32_t layout, image_usage, buffer_usage;
    uint8_t reads, writes, pass_types, attachment;
} access_key;
_Static_assert(sizeof(access_key) == 32, "no padding");

/* Everything of fixed size; compared as bytes, so it starts as zeros. */
typedef struct key_head {
    uint32_t pass_count, res_count, use_count, range_count, access_count;
    uint32_t late_count, order, packing_effort;
    uint64_t memory_budget;
    hdi_queues queues;
    float handoff_us;
    uint32_t merge_rendering;
    hd_size_fn size;
    void *size_user;
} key_head;

typedef struct key_column {
    const void *data;
    size_t bytes;
} key_column;
enum { COLUMN_COUNT = 14 };
_Static_assert(sizeof(hdi_use_exec) == 8, "no padding");

typedef struct key_view {
    key_head head;
    const hdi_decl *decl;
    key_column columns[COLUMN_COUNT];
    size_t bytes; /* of the gathered key */
} key_view;

/* Each piece starts at a multiple of 8, for the words of resources and accesses. */
static size_t padded(size_t bytes)
{
    return (bytes + 7) & ~(size_t)7;
}

static void columns_of(const hdi_decl *d, key_column *out)
{
    const key_column columns[COLUMN_COUNT] = {
        {d->pass_type, d->pass_count},
        {d->pass_flags, d->pass_count},
        {d->pass_pin, d->pass_count},
        {d->pass_cost, d->pass_count * sizeof(*d->pass_cost)},
        {d->pass_use_begin, ((size_t)d->pass_count + 1) * sizeof(*d->pass_use_begin)},
        {d->use_res, d->use_count * sizeof(*d->use_res)},
        {d->use_access, d->use_count * sizeof(*d->use_access)},
        {d->use_range, d->use_count * sizeof(*d->use_range)},
        {d->use_exec, d->use_count * sizeof(*d->use_exec)},
        {d->range, d->range_count * sizeof(*d->range)},
        {d->res_flags, d->res_count},
        {d->res_pair, d->res_count * sizeof(*d->res_pair)},
        {d->late_use, d->late_count * sizeof(*d->late_use)},
        {d->late_end, d->late_count * sizeof(*d->late_end)},
    };
    memcpy(out, columns, sizeof(columns));
}

static uint32_t custom_count(const hdi_decl *decl)
{
    return decl->access_count - HDI_ACCESS_CUSTOM_FIRST;
}

static void view_key(const hdi_decl *decl, const hdi_queues *queues, const hd_compile_desc *desc, key_view *out)
{
    memset(&out->head, 0, sizeof(out->head));
    out->head.pass_count = decl->pass_count;
    out->head.res_count = decl->res_count;
    out->head.use_count = decl->use_count;
    out->head.range_count = decl->range_count;
    out->head.access_count = decl->access_count;
    out->head.late_count = decl->late_count;
    out->head.order = (uint32_t)desc->order;
    out->head.packing_effort = desc->packing_effort;
    out->head.memory_budget = desc->memory_budget;
    out->head.queues = *queues;
    out->head.handoff_us = desc->handoff_us > 0.0f ? desc->handoff_us : 0.0f;
    out->head.merge_rendering = desc->merge_rendering;
    out->head.size = desc->size;
    out->head.size_user = desc->size ? desc->size_user : NULL;
    out->decl = decl;
    columns_of(decl, out->columns);
    out->bytes = padded(sizeof(key_head));
    for (int c = 0; c < COLUMN_COUNT; c++)
        out->bytes += padded(out->columns[c].bytes);
    out->bytes += decl->res_count * RES_KEY_BYTES + custom_count(decl) * sizeof(access_key);
}

static access_key key_of_access(const hdi_access_info *info)
{
    return (access_key){.stages = info->stages,
                        .access = info->access,
                        .layout = info->layout,
                        .image_usage = info->image_usage,
                        .buffer_usage = info->buffer_usage,
                        .reads = info->reads,
                        .writes = info->writes,
                        .pass_types = info->pass_types,
                        .attachment = info->attachment};
}

static bool resources_equal(const hdi_decl *decl, const unsigned char *key)
{
    for (uint32_t r = 0; r < decl->res_count; r++, key += RES_KEY_BYTES) {
        const unsigned char *info = (const unsigned char *)&decl->res_info[r];
        uint64_t differs = 0;
        for (size_t w = 0; w < RES_KEY_WORDS; w++) {
            uint64_t mine, kept;
            memcpy(&mine, info + 8 * w, 8);
            memcpy(&kept, key + 8 * w, 8);
            differs |= mine ^ kept;
        }
        if (differs)
            return false;
    }
    return true;
}

/* The declaration where it stands, against a gathered key. */
static bool equals(const key_view *view, const hdi_cache_entry *entry)
{
    const unsigned char *key = entry->key.data;
    if (entry->key_bytes != view->bytes || memcmp(key, &view->head, sizeof(view->head)) != 0)
        return false;
    key += padded(sizeof(key_head));
    for (int c = 0; c < COLUMN_COUNT; c++) {
        if (view->columns[c].bytes && memcmp(key, view->columns[c].data, view->columns[c].bytes) != 0)
            return false;
        key += padded(view->columns[c].bytes);
    }
    if (!resources_equal(view->decl, key))
        return false;
    key += view->decl->res_count * RES_KEY_BYTES;
    for (uint32_t a = 0; a < custom_count(view->decl); a++, key += sizeof(access_key)) {
        access_key mine = key_of_access(&view->decl->access[HDI_ACCESS_CUSTOM_FIRST + a]);
        if (memcmp(key, &mine, sizeof(mine)) != 0)
            return false;
    }
    return true;
}

/* Copies a piece and zeroes its padding. */
static unsigned char *put(unsigned char *to, const void *data, size_t bytes)
{
    size_t whole = padded(bytes);
    if (bytes)
        memcpy(to, data, bytes);
    memset(to + bytes, 0, whole - bytes);
    return to + whole;
}

static void gather(const key_view *view, unsigned char *to)
{
    to = put(to, &view->head, sizeof(view->head));
    for (int c = 0; c < COLUMN_COUNT; c++)
        to = put(to, view->columns[c].data, view->columns[c].bytes);
    for (uint32_t r = 0; r < view->decl->res_count; r++, to += RES_KEY_BYTES)
        memcpy(to, &view->decl->res_info[r], RES_KEY_BYTES);
    for (uint32_t a = 0; a < custom_count(view->decl); a++) {
        access_key mine = key_of_access(&view->decl->access[HDI_ACCESS_CUSTOM_FIRST + a]);
        to = put(to, &mine, sizeof(mine));
    }
}

/* ---- the entries ---- */

hd_result hdi_cache_init(hdi_cache *cache, const hd_allocator *allocator, uint32_t plans)
{
    *cache = (hdi_cache){.hash_mask = UINT64_MAX};
    if (plans == HD_NONE)
        return HD_OK;
    if (plans > MOST_PLANS)
        return HD_INVALID_ARGUMENT;
    plans = plans ? plans : DEFAULT_PLANS;
    cache->entries = hdi_alloc(allocator, plans * sizeof(*cache->entries), 64);
    if (!cache->entries)
        return HD_OUT_OF_MEMORY;
    memset(cache->entries, 0, plans * sizeof(*cache->entries));
    cache->count = plans;
    return HD_OK;
}

static void drop_plans(hdi_cache *cache, const hd_allocator *allocator)
{
    for (uint32_t i = 0; i < cache->count; i++) {
        hdi_block_free(&cache->entries[i].key, allocator);
        hdi_block_free(&cache->entries[i].plan, allocator);
        cache->entries[i] = (hdi_cache_entry){0};
    }
    hdi_block_free(&cache->key, allocator);
    cache->key_bytes = 0;
}

void hdi_cache_free(hdi_cache *cache, const hd_allocator *allocator)
{
    drop_plans(cache, allocator);
    hdi_free(allocator, cache->entries, cache->count * sizeof(*cache->entries));
}

static hdi_cache_entry *hit(hdi_cache *cache, hdi_cache_entry *entry)
{
    entry->last_use = ++cache->clock;
    cache->newest = (uint32_t)(entry - cache->entries);
    cache->stats.hits++;
    return entry;
}

hdi_cache_entry *hdi_cache_find(hdi_cache *cache, const hd_allocator *allocator, const hdi_decl *decl,
                                const hdi_queues *queues, const hd_compile_desc *desc)
{
    if (cache->count == 0)
        return NULL;
    key_view view;
    view_key(decl, queues, desc, &view);
    hdi_cache_entry *newest = &cache->entries[cache->newest];
    if (newest->kept && equals(&view, newest))
        return hit(cache, newest);
    cache->key_bytes = 0;
    if (hdi_block_need(&cache->key, allocator, view.bytes) != HD_OK) {
        cache->stats.misses++;
        return NULL;
    }
    cache->key_bytes = view.bytes;
    gather(&view, cache->key.data);
    cache->hash = hdi_hash_bytes(cache->key.data, view.bytes, 0) & cache->hash_mask;
    for (uint32_t i = 0; i < cache->count; i++) {
        hdi_cache_entry *entry = &cache->entries[i];
        if (entry->kept && entry->hash == cache->hash && entry->key_bytes == view.bytes &&
            memcmp(entry->key.data, cache->key.data, view.bytes) == 0)
            return hit(cache, entry);
    }
    cache->stats.misses++;
    return NULL;
}

/* The entry that a new plan takes; null: plans are not kept, or this one has no key. */
static hdi_cache_entry *make_room(hdi_cache *cache)
{
    if (cache->count == 0 || cache->key_bytes == 0)
        return NULL;
    hdi_cache_entry *oldest = &cache->entries[0];
    for (uint32_t i = 1; i < cache->count && oldest->kept; i++) {
        hdi_cache_entry *entry = &cache->entries[i];
        if (!entry->kept || entry->last_use < oldest->last_use)
            oldest = entry;
    }
    return oldest;
}

static void swap_blocks(hdi_block *a, hdi_block *b)
{
    hdi_block block = *a;
    *a = *b;
    *b = block;
}

void hdi_cache_keep(hdi_cache *cache, hdi_block *plan)
{
    hdi_cache_entry *entry = make_room(cache);
    if (!entry)
        return;
    cache->stats.dropped += entry->kept;
    swap_blocks(&entry->key, &cache->key);
    swap_blocks(&entry->plan, plan);
    entry->key_bytes = cache->key_bytes;
    entry->hash = cache->hash;
    entry->last_use = ++cache->clock;
    entry->kept = true;
    cache->newest = (uint32_t)(entry - cache->entries);
}

hd_cache_stats hd_graph_cache_stats(const hd_graph *graph)
{
    if (!graph)
        return (hd_cache_stats){0};
    const hdi_cache *cache = &graph->cache;
    hd_cache_stats stats = cache->stats;
    stats.most = cache->count;
    for (uint32_t i = 0; i < cache->count; i++) {
        stats.plans += cache->entries[i].kept;
        stats.bytes += cache->entries[i].key.bytes + cache->entries[i].plan.bytes;
    }
    stats.bytes += cache->key.bytes;
    return stats;
}

void hd_graph_drop_plans(hd_graph *graph)
{
    if (!graph || graph->list || !hdi_graph_enter(graph, "hd_graph_drop_plans", true))
        return;
    drop_plans(&graph->cache, &graph->allocator);
    hdi_block_free(&graph->plan, &graph->allocator);
    hdi_graph_leave(graph, HDI_ENTERED);
}
