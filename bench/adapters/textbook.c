#include <stdlib.h>
#include <string.h>

#ifdef HB_BUILT_IN
#include "adapters.h"
#else
#include "adapter.h"
#endif

/* A frame graph as a textbook has it, and the example for adapters: passes in declaration order on one queue, unused
 * passes culled, one barrier for each hazard, every resource in memory of its own. It needs nothing but adapter.h:
 *
 *     cc -O2 -shared -fPIC -I bench bench/adapters/textbook.c -o textbook.so
 *     heddle-bench --adapter ./textbook.so
 *
 * A resource is cut into cells: the subresources of an image, the pieces of a buffer between the ends of its ranges. All
 * that is known of synchronization is one state a cell. */

enum { LAYOUT_UNDEFINED, LAYOUT_GENERAL };
enum { SEEN = 4 }; /* scopes that have seen the last write, kept a cell; more than these get a barrier again */

typedef struct textbook_scope {
    uint64_t stages, access;
} textbook_scope;

/* What happened to a cell since its last write. */
typedef struct textbook_cell {
    textbook_scope write;         /* stages 0: none in this frame */
    uint64_t read_stages;         /* of all reads since */
    textbook_scope seen[SEEN];    /* reads that a barrier has made the write visible to */
    uint32_t seen_count, layout;
} textbook_cell;

typedef struct textbook_barrier {
    textbook_scope from, to;
    uint32_t resource, old_layout, new_layout;
    hb_range range;
} textbook_barrier;

typedef struct textbook_step { /* a kept pass, behind its barriers */
    uint32_t pass, barrier_begin, barrier_end;
} textbook_step;

typedef struct textbook {
    const hb_workload *workload;
    /* What declaring fills; a real engine would pass descriptions here. */
    uint32_t pass_count, use_count;
    uint32_t *use_resource, *use_range;
    uint16_t *use_access;
    uint32_t *cell_begin, *cell_count; /* a resource; there may be unused cells behind its own */
    uint64_t *cell_end;                /* of a buffer's cell: the byte behind it */
    textbook_cell *cell;
    uint32_t cell_room;
    uint8_t *live, *kept, *used; /* a cell; a pass; a resource */
    textbook_step *step;
    textbook_barrier *barrier;
    uint32_t step_count, barrier_count, barrier_room;
    uint64_t *offset, heap_bytes;
    uint64_t allocations;
} textbook;

static const char *name(void)
{
    return "textbook";
}

static const char *version(void)
{
    return "1";
}

static uint64_t capabilities(void)
{
    return HB_CAN_IMAGE_RANGES | HB_CAN_BUFFER_RANGES | HB_CAN_SEVERAL_QUEUES | HB_CAN_PINS; /* it takes one of them */
}

static void *room(textbook *t, size_t count, size_t bytes)
{
    t->allocations++;
    return calloc(count ? count : 1, bytes);
}

static void close_handle(void *handle)
{
    textbook *t = handle;
    if (!t)
        return;
    void *all[] = {t->use_resource, t->use_range, t->use_access, t->cell_begin, t->cell_count, t->cell_end,
                   t->cell,         t->live,      t->kept,       t->used,       t->step,       t->barrier, t->offset};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        free(all[i]);
    free(t);
}

/* ---- cells ---- */

static int is_buffer(const hb_workload *w, uint32_t r)
{
    return w->resource_kind[r] == HB_RESOURCE_BUFFER;
}

static int compare_edges(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Cuts each buffer at the ends of its ranges, each image into its subresources. False: no memory. */
static int make_cells(textbook *t)
{
    const hb_workload *w = t->workload;
    for (uint32_t r = 0; r < w->resource_count; r++)
        t->cell_count[r] = is_buffer(w, r) ? 1 : w->resource_mips[r] * w->resource_layers[r];
    for (uint32_t u = 0; u < w->use_count; u++)
        t->cell_count[w->use_resource[u]] += w->use_range[u] != HB_NONE && is_buffer(w, w->use_resource[u]) ? 2 : 0;
    for (uint32_t r = 0; r < w->resource_count; r++) {
        t->cell_begin[r] = t->cell_room;
        t->cell_room += t->cell_count[r];
    }
    t->cell = room(t, t->cell_room, sizeof(*t->cell));
    t->cell_end = room(t, t->cell_room, sizeof(*t->cell_end));
    t->live = room(t, t->cell_room, 1);
    if (!t->cell || !t->cell_end || !t->live)
        return 0;
    for (uint32_t r = 0; r < w->resource_count; r++) {
        if (is_buffer(w, r)) {
            t->cell_end[t->cell_begin[r]] = w->resource_size[r];
            t->cell_count[r] = 1;
        }
    }
    for (uint32_t u = 0; u < w->use_count; u++) {
        uint32_t r = w->use_resource[u];
        if (w->use_range[u] == HB_NONE || !is_buffer(w, r))
            continue;
        const hb_range *range = &w->range[w->use_range[u]];
        uint64_t *list = &t->cell_end[t->cell_begin[r]];
        list[t->cell_count[r]++] = range->offset;
        list[t->cell_count[r]++] = range->offset + range->bytes;
    }
    for (uint32_t r = 0; r < w->resource_count; r++) {
        if (!is_buffer(w, r))
            continue;
        uint64_t *list = &t->cell_end[t->cell_begin[r]];
        qsort(list, t->cell_count[r], sizeof(*list), compare_edges);
        uint32_t kept = 0;
        for (uint32_t i = 0; i < t->cell_count[r]; i++) {
            if (list[i] != 0 && (kept == 0 || list[i] != list[kept - 1]))
                list[kept++] = list[i];
        }
        t->cell_count[r] = kept;
    }
    return 1;
}

/* Whether a use touches cell `index` of its resource. */
static int touches(const textbook *t, uint32_t u, uint32_t index)
{
    const hb_workload *w = t->workload;
    uint32_t r = t->use_resource[u];
    if (t->use_range[u] == HB_NONE)
        return 1;
    const hb_range *range = &w->range[t->use_range[u]];
    if (is_buffer(w, r)) {
        uint64_t end = t->cell_end[t->cell_begin[r] + index];
        return end > range->offset && end <= range->offset + range->bytes;
    }
    uint32_t mip = index % w->resource_mips[r], layer = index / w->resource_mips[r];
    return mip - range->mip_base < range->mip_count && layer - range->layer_base < range->layer_count;
}

static hb_range range_of(const textbook *t, uint32_t r, uint32_t index)
{
    const hb_workload *w = t->workload;
    if (is_buffer(w, r)) {
        const uint64_t *end = &t->cell_end[t->cell_begin[r] + index];
        uint64_t begin = index ? end[-1] : 0;
        return (hb_range){.offset = begin, .bytes = *end - begin};
    }
    return (hb_range){.mip_base = index % w->resource_mips[r],
                      .mip_count = 1,
                      .layer_base = index / w->resource_mips[r],
                      .layer_count = 1};
}

/* ---- a frame ---- */

static void *open_handle(const hb_workload *w, const hb_options *options, char *error, size_t error_bytes)
{
    textbook *t = calloc(1, sizeof(*t));
    (void)options; /* declared order, one thread, nothing reused */
    if (!t)
        return NULL;
    t->workload = w;
    t->use_resource = room(t, w->use_count, sizeof(*t->use_resource));
    t->use_range = room(t, w->use_count, sizeof(*t->use_range));
    t->use_access = room(t, w->use_count, sizeof(*t->use_access));
    t->cell_begin = room(t, w->resource_count, sizeof(*t->cell_begin));
    t->cell_count = room(t, w->resource_count, sizeof(*t->cell_count));
    t->kept = room(t, w->pass_count, 1);
    t->used = room(t, w->resource_count, 1);
    t->step = room(t, w->pass_count, sizeof(*t->step));
    t->offset = room(t, w->resource_count, sizeof(*t->offset));
    if (!t->use_resource || !t->use_range || !t->use_access || !t->cell_begin || !t->cell_count || !t->kept || !t->used ||
        !t->step || !t->offset || !make_cells(t)) {
        snprintf(error, error_bytes, "no memory");
        close_handle(t);
        return NULL;
    }
    return t;
}

/* Copies the frame, as an engine's calls would fill a graph. */
static int declare(void *handle)
{
    textbook *t = handle;
    const hb_workload *w = t->workload;
    t->pass_count = w->pass_count;
    t->use_count = w->use_count;
    for (uint32_t u = 0; u < w->use_count; u++) {
        t->use_resource[u] = w->use_resource[u];
        t->use_access[u] = w->use_access[u];
        t->use_range[u] = w->use_range[u];
    }
    return 0;
}

/* A pass is kept if it is a root or something live is written by it; walked from the last pass to the first. */
static void cull(textbook *t)
{
    const hb_workload *w = t->workload;
    for (uint32_t r = 0; r < w->resource_count; r++)
        memset(t->live + t->cell_begin[r], w->resource_external[r], t->cell_count[r]);
    for (uint32_t p = w->pass_count; p-- > 0;) {
        uint32_t begin = w->pass_use_begin[p], end = w->pass_use_begin[p + 1];
        int kept = w->pass_root[p];
        for (uint32_t u = begin; u < end && !kept; u++) {
            uint32_t r = t->use_resource[u];
            for (uint32_t i = 0; w->access[t->use_access[u]].writes && i < t->cell_count[r] && !kept; i++)
                kept = touches(t, u, i) && t->live[t->cell_begin[r] + i];
        }
        t->kept[p] = (uint8_t)kept;
        for (int reads = 0; kept && reads < 2; reads++) { /* what it overwrites leaves, then what it reads joins */
            for (uint32_t u = begin; u < end; u++) {
                uint32_t r = t->use_resource[u];
                for (uint32_t i = 0; w->access[t->use_access[u]].reads == reads && i < t->cell_count[r]; i++) {
                    if (touches(t, u, i))
                        t->live[t->cell_begin[r] + i] = (uint8_t)reads;
                }
            }
        }
    }
}

static int add_barrier(textbook *t, textbook_barrier barrier)
{
    if (t->barrier_count == t->barrier_room) {
        uint32_t more = t->barrier_room ? t->barrier_room * 2 : 256;
        void *grown = realloc(t->barrier, more * sizeof(*t->barrier));
        if (!grown)
            return 0;
        t->allocations++;
        t->barrier = grown;
        t->barrier_room = more;
    }
    t->barrier[t->barrier_count++] = barrier;
    return 1;
}

/* The layout of a use: reads of a depth image that its pass samples as well agree on the read-only one. */
static uint32_t layout_of(const textbook *t, uint32_t p, uint32_t u)
{
    const hb_workload *w = t->workload;
    uint32_t layout = w->access[t->use_access[u]].layout;
    for (uint32_t other = w->pass_use_begin[p]; other < w->pass_use_begin[p + 1]; other++) {
        if (t->use_resource[other] == t->use_resource[u] && w->access[t->use_access[other]].attachment == 2)
            layout = w->access[t->use_access[other]].layout;
    }
    return layout;
}

/* The barrier that a use of a cell needs, and what the cell is in behind it. False: no memory. */
static int use_cell(textbook *t, const hb_access *access, uint32_t layout, uint32_t r, uint32_t index)
{
    textbook_cell *cell = &t->cell[t->cell_begin[r] + index];
    textbook_scope to = {access->stages, access->access};
    int moves = layout != cell->layout, seen = 0;
    for (uint32_t i = 0; i < cell->seen_count; i++)
        seen |= cell->seen[i].stages == to.stages && cell->seen[i].access == to.access;
    int hazard = access->writes ? cell->write.stages || cell->read_stages : cell->write.stages && !seen;
    if (moves || hazard) {
        textbook_barrier barrier = {.from = {cell->write.stages | cell->read_stages, cell->write.access},
                                    .to = to,
                                    .resource = r,
                                    .old_layout = access->reads ? cell->layout : LAYOUT_UNDEFINED,
                                    .new_layout = layout,
                                    .range = range_of(t, r, index)};
        if (!add_barrier(t, barrier))
            return 0;
    }
    if (access->writes || moves) { /* a transition is a write, and its barrier has shown it to this use */
        *cell = (textbook_cell){.write = to, .layout = layout};
        if (!access->writes) {
            cell->write.access = 0;
            cell->read_stages = to.stages;
            cell->seen[cell->seen_count++] = to;
        }
        return 1;
    }
    cell->read_stages |= to.stages;
    if (!seen && cell->write.stages && cell->seen_count < SEEN)
        cell->seen[cell->seen_count++] = to;
    return 1;
}

/* One resource behind another: each has memory of its own. */
static void place(textbook *t)
{
    const hb_workload *w = t->workload;
    t->heap_bytes = 0;
    for (uint32_t r = 0; r < w->resource_count; r++) {
        if (w->resource_external[r])
            continue;
        uint64_t mask = w->resource_alignment[r] - 1;
        t->offset[r] = (t->heap_bytes + mask) & ~mask;
        t->heap_bytes = t->offset[r] + w->resource_bytes[r];
    }
}

static int compile(void *handle)
{
    textbook *t = handle;
    const hb_workload *w = t->workload;
    cull(t);
    memset(t->used, 0, w->resource_count);
    memset(t->cell, 0, t->cell_room * sizeof(*t->cell));
    for (uint32_t r = 0; r < w->resource_count; r++) {
        for (uint32_t i = 0; i < t->cell_count[r]; i++)
            t->cell[t->cell_begin[r] + i].layout =
                w->resource_external[r] && !is_buffer(w, r) ? LAYOUT_GENERAL : LAYOUT_UNDEFINED;
    }
    t->step_count = t->barrier_count = 0;
    for (uint32_t p = 0; p < t->pass_count; p++) {
        if (!t->kept[p])
            continue;
        textbook_step *step = &t->step[t->step_count++];
        *step = (textbook_step){.pass = p, .barrier_begin = t->barrier_count};
        for (uint32_t u = w->pass_use_begin[p]; u < w->pass_use_begin[p + 1]; u++) {
            uint32_t r = t->use_resource[u], layout = is_buffer(w, r) ? LAYOUT_UNDEFINED : layout_of(t, p, u);
            t->used[r] = 1;
            for (uint32_t i = 0; i < t->cell_count[r]; i++) {
                if (touches(t, u, i) && !use_cell(t, &w->access[t->use_access[u]], layout, r, i))
                    return 1;
            }
        }
        step->barrier_end = t->barrier_count;
    }
    /* External images are left in the layout that they came in. */
    for (uint32_t r = 0; r < w->resource_count; r++) {
        for (uint32_t i = 0; w->resource_external[r] && !is_buffer(w, r) && i < t->cell_count[r]; i++) {
            textbook_cell *cell = &t->cell[t->cell_begin[r] + i];
            if (cell->layout != LAYOUT_GENERAL &&
                !add_barrier(t, (textbook_barrier){.from = {cell->write.stages | cell->read_stages, cell->write.access},
                                                   .resource = r,
                                                   .old_layout = cell->layout,
                                                   .new_layout = LAYOUT_GENERAL,
                                                   .range = range_of(t, r, i)}))
                return 1;
        }
    }
    place(t);
    return 0;
}

/* ---- the plan ---- */

static void write_barriers(const textbook *t, FILE *f, uint32_t begin, uint32_t end)
{
    fprintf(f, "{\"barrier\":[");
    for (uint32_t b = begin; b < end; b++) {
        const textbook_barrier *barrier = &t->barrier[b];
        const hb_range *range = &barrier->range;
        fprintf(f,
                "%s{\"src_stages\":%llu,\"src_access\":%llu,\"dst_stages\":%llu,\"dst_access\":%llu,"
                "\"resource\":%u,",
                b > begin ? "," : "", (unsigned long long)barrier->from.stages,
                (unsigned long long)barrier->from.access, (unsigned long long)barrier->to.stages,
                (unsigned long long)barrier->to.access, barrier->resource);
        if (is_buffer(t->workload, barrier->resource))
            fprintf(f, "\"range\":[%llu,%llu]}", (unsigned long long)range->offset, (unsigned long long)range->bytes);
        else
            fprintf(f, "\"old_layout\":%u,\"new_layout\":%u,\"range\":[%u,%u,%u,%u]}", barrier->old_layout,
                    barrier->new_layout, range->mip_base, range->mip_count, range->layer_base, range->layer_count);
    }
    fprintf(f, "]}");
}

static int export_plan(void *handle, FILE *f)
{
    const textbook *t = handle;
    const hb_workload *w = t->workload;
    const char *comma = "";
    uint32_t queue = 0; /* the first that runs everything */
    while (queue < w->queue_count && w->queue_kind[queue] != HB_QUEUE_GFX)
        queue++;
    fprintf(f, "{\"plan\":1,\"graph\":\"%s\",\"queues\":[{\"kind\":\"gfx\",\"family\":%u}],\"culled\":[", w->name,
            w->queue_family[queue]);
    for (uint32_t p = 0; p < w->pass_count; p++) {
        if (!t->kept[p]) {
            fprintf(f, "%s%u", comma, p);
            comma = ",";
        }
    }
    fprintf(f, "],\"heaps\":[");
    if (t->heap_bytes)
        fprintf(f, "{\"bytes\":%llu}", (unsigned long long)t->heap_bytes);
    fprintf(f, "],\"resources\":[");
    comma = "";
    for (uint32_t r = 0; r < w->resource_count; r++) {
        if (!t->used[r])
            continue;
        if (w->resource_external[r])
            fprintf(f, "%s{\"id\":%u,\"external\":true%s}", comma, r,
                    is_buffer(w, r) ? "" : ",\"final_layout\":1");
        else
            fprintf(f, "%s{\"id\":%u,\"heap\":0,\"offset\":%llu,\"bytes\":%llu}", comma, r,
                    (unsigned long long)t->offset[r], (unsigned long long)w->resource_bytes[r]);
        comma = ",";
    }
    fprintf(f, "],\"submits\":[{\"queue\":0,\"waits\":[],\"commands\":[");
    uint32_t written = 0;
    for (uint32_t s = 0; s < t->step_count; s++) {
        const textbook_step *step = &t->step[s];
        if (s)
            fprintf(f, ",");
        if (step->barrier_end > step->barrier_begin) {
            write_barriers(t, f, step->barrier_begin, step->barrier_end);
            fprintf(f, ",");
        }
        fprintf(f, "{\"pass\":%u}", step->pass);
        written = step->barrier_end;
    }
    if (t->barrier_count > written) {
        fprintf(f, ",");
        write_barriers(t, f, written, t->barrier_count);
    }
    fprintf(f, "]}]}\n");
    return ferror(f);
}

static void counts(void *handle, hb_counts *out)
{
    const textbook *t = handle;
    *out = (hb_counts){t->allocations, HB_UNKNOWN, HB_UNKNOWN};
}

const hb_adapter hb_textbook = {
    .interface = HB_INTERFACE,
    .name = name,
    .version = version,
    .capabilities = capabilities,
    .open = open_handle,
    .declare = declare,
    .compile = compile,
    .export_plan = export_plan,
    .counts = counts,
    .close = close_handle,
};

#ifndef HB_BUILT_IN
const hb_adapter *hb_adapter_get(void);
const hb_adapter *hb_adapter_get(void)
{
    return &hb_textbook;
}
#endif
