#include "declare_columns.h"

#include <string.h>

#include "alloc.h"

/* The columns of a declaration: arrays that keep their memory from frame to frame, and grow in groups.
 *
 * What nearly no pass, resource or use has is not written for each of them: such a column holds its usual value
 * wherever nothing is declared, whoever declares something else says so, and the next frame puts the usual value back.
 */

enum { UNUSUAL = -1 }; /* of columns that are written anyway */

typedef struct column {
    void **data;
    size_t element_bytes;
    uint32_t extra; /* elements beyond the capacity */
    int usual;      /* the bytes of the usual value */
} column;

enum { MOST_COLUMNS = 6 };

static size_t bytes_of(const column *of, uint32_t capacity)
{
    return ((size_t)capacity + of->extra) * of->element_bytes;
}

/* All columns of a group grow to one capacity, or none does. Callers ask only where there is no room: the lists of
 * columns are not to be made for each pass. */
static hd_result grow(hd_graph *graph, const column *columns, uint32_t column_count, uint32_t *capacity, uint64_t need)
{
    if (need > HDI_MOST_INDICES)
        return HD_TOO_LARGE;
    enum { LARGE = 1 << 14 }; /* from there on by a quarter: half of many columns would lie there for nothing */
    uint32_t grown = *capacity ? *capacity : 64;
    while (grown < need)
        grown += grown < LARGE ? grown : grown / 4;
    grown = grown < HDI_MOST_INDICES ? grown : HDI_MOST_INDICES;
    void *fresh[MOST_COLUMNS];
    for (uint32_t i = 0; i < column_count; i++) {
        fresh[i] = hdi_alloc(&graph->allocator, bytes_of(&columns[i], grown), 64);
        if (fresh[i])
            continue;
        while (i-- > 0)
            hdi_free(&graph->allocator, fresh[i], bytes_of(&columns[i], grown));
        return HD_OUT_OF_MEMORY;
    }
    for (uint32_t i = 0; i < column_count; i++) {
        size_t bytes = *columns[i].data ? bytes_of(&columns[i], *capacity) : 0;
        if (bytes)
            memcpy(fresh[i], *columns[i].data, bytes);
        if (columns[i].usual != UNUSUAL)
            memset((char *)fresh[i] + bytes, columns[i].usual, bytes_of(&columns[i], grown) - bytes);
        hdi_free(&graph->allocator, *columns[i].data, bytes);
        *columns[i].data = fresh[i];
    }
    *capacity = grown;
    return HD_OK;
}

static void free_columns(hd_graph *graph, const column *columns, uint32_t column_count, uint32_t capacity)
{
    for (uint32_t i = 0; i < column_count; i++)
        hdi_free(&graph->allocator, *columns[i].data, *columns[i].data ? bytes_of(&columns[i], capacity) : 0);
}

#define COLUMN_OF(field, more, value)                                                                                  \
    {                                                                                                                  \
        (void **)&graph->field, sizeof(*graph->field), more, value                                                     \
    }
#define COLUMN(field) COLUMN_OF(field, 0, UNUSUAL)
#define PASS_COLUMNS                                                                                                   \
    {                                                                                                                  \
        COLUMN(pass_type), COLUMN_OF(pass_flags, 0, 0), COLUMN_OF(pass_pin, 0, 0), COLUMN(pass_cost),                  \
            COLUMN_OF(pass_use_begin, 1, UNUSUAL), COLUMN(pass_exec)                                                   \
    }
#define RES_COLUMNS                                                                                                    \
    {                                                                                                                  \
        COLUMN(res_flags), COLUMN(res_state), COLUMN(res_info), COLUMN(res_import), COLUMN_OF(res_pair, 0, 0xff)       \
    }
#define USE_COLUMNS                                                                                                    \
    {                                                                                                                  \
        COLUMN(use_res), COLUMN(use_pass), COLUMN(use_access), COLUMN_OF(use_flags, HDI_USE_FLAGS_SLACK, UNUSUAL),     \
            COLUMN_OF(use_range, 0, 0xff), COLUMN_OF(use_exec, 0, 0)                                                   \
    }
#define RANGE_COLUMNS                                                                                                  \
    {                                                                                                                  \
        COLUMN(range), COLUMN(range_res)                                                                               \
    }
#define CLEAR_COLUMNS                                                                                                  \
    {                                                                                                                  \
        COLUMN(clear_use), COLUMN(clear)                                                                               \
    }
#define ACCESS_COLUMNS                                                                                                 \
    {                                                                                                                  \
        COLUMN(access)                                                                                                 \
    }
#define VERSION_COLUMNS                                                                                                \
    {                                                                                                                  \
        COLUMN(version_res), COLUMN(version_made), COLUMN(version_next)                                                \
    }
#define LATE_COLUMNS                                                                                                   \
    {                                                                                                                  \
        COLUMN(late_use), COLUMN(late_end)                                                                             \
    }
#define COUNT(columns) (uint32_t)(sizeof(columns) / sizeof((columns)[0]))

_Static_assert(HDI_NONE == UINT32_MAX, "all bytes are 0xff");

void hdi_set_rooms(hd_graph *graph)
{
    bool failed = graph->error.result != HD_OK;
    graph->pass_room = failed ? 0 : graph->capacity.pass;
    graph->res_room = failed ? 0 : graph->capacity.res;
}

hd_result hdi_need_passes(hd_graph *graph, uint64_t need)
{
    if (need <= graph->capacity.pass)
        return HD_OK;
    const column columns[] = PASS_COLUMNS;
    hd_result result = grow(graph, columns, COUNT(columns), &graph->capacity.pass, need);
    hdi_set_rooms(graph);
    return result;
}

hd_result hdi_need_resources(hd_graph *graph, uint64_t need)
{
    if (need <= graph->capacity.res)
        return HD_OK;
    const column columns[] = RES_COLUMNS;
    hd_result result = grow(graph, columns, COUNT(columns), &graph->capacity.res, need);
    hdi_set_rooms(graph);
    return result;
}

hd_result hdi_need_uses(hd_graph *graph, uint64_t need)
{
    if (need <= graph->capacity.use)
        return HD_OK;
    const column columns[] = USE_COLUMNS;
    return grow(graph, columns, COUNT(columns), &graph->capacity.use, need);
}

hd_result hdi_need_ranges(hd_graph *graph, uint64_t need)
{
    if (need <= graph->capacity.range)
        return HD_OK;
    const column columns[] = RANGE_COLUMNS;
    return grow(graph, columns, COUNT(columns), &graph->capacity.range, need);
}

hd_result hdi_need_clears(hd_graph *graph, uint64_t need)
{
    if (need <= graph->capacity.clear)
        return HD_OK;
    const column columns[] = CLEAR_COLUMNS;
    return grow(graph, columns, COUNT(columns), &graph->capacity.clear, need);
}

hd_result hdi_need_accesses(hd_graph *graph, uint64_t need)
{
    if (need <= graph->capacity.access)
        return HD_OK;
    const column columns[] = ACCESS_COLUMNS;
    return grow(graph, columns, COUNT(columns), &graph->capacity.access, need);
}

hd_result hdi_need_versions(hd_graph *graph, uint64_t need)
{
    if (need <= graph->capacity.version)
        return HD_OK;
    const column columns[] = VERSION_COLUMNS;
    return grow(graph, columns, COUNT(columns), &graph->capacity.version, need);
}

hd_result hdi_need_late(hd_graph *graph, uint64_t need)
{
    if (need <= graph->capacity.late)
        return HD_OK;
    const column columns[] = LATE_COLUMNS;
    return grow(graph, columns, COUNT(columns), &graph->capacity.late, need);
}

void hdi_reset_columns(hd_graph *graph)
{
    size_t passes = graph->pass_count, resources = graph->res_count, uses = graph->use_count;
    if (graph->unusual & HDI_UNUSUAL_PASSES) {
        memset(graph->pass_flags, 0, passes * sizeof(*graph->pass_flags));
        memset(graph->pass_pin, 0, passes * sizeof(*graph->pass_pin));
    }
    if (graph->unusual & HDI_UNUSUAL_LOADS)
        memset(graph->use_exec, 0, uses * sizeof(*graph->use_exec));
    if (graph->range_count)
        memset(graph->use_range, 0xff, uses * sizeof(*graph->use_range));
    if (graph->unusual & HDI_UNUSUAL_PAIRS)
        memset(graph->res_pair, 0xff, resources * sizeof(*graph->res_pair));
    graph->unusual = 0;
}

void hdi_reset_pass(hd_graph *graph, uint32_t pass, uint32_t first, uint32_t end)
{
    size_t uses = end - first;
    graph->pass_flags[pass] = graph->pass_pin[pass] = 0;
    memset(graph->use_exec + first, 0, uses * sizeof(*graph->use_exec));
    memset(graph->use_range + first, 0xff, uses * sizeof(*graph->use_range));
}

void hdi_free_columns(hd_graph *graph)
{
    const column passes[] = PASS_COLUMNS, resources[] = RES_COLUMNS, uses[] = USE_COLUMNS, ranges[] = RANGE_COLUMNS,
                 clears[] = CLEAR_COLUMNS, accesses[] = ACCESS_COLUMNS, versions[] = VERSION_COLUMNS,
                 late[] = LATE_COLUMNS;
    _Static_assert(COUNT(passes) <= MOST_COLUMNS && COUNT(resources) <= MOST_COLUMNS && COUNT(uses) <= MOST_COLUMNS &&
                       COUNT(ranges) <= MOST_COLUMNS && COUNT(clears) <= MOST_COLUMNS &&
                       COUNT(accesses) <= MOST_COLUMNS && COUNT(versions) <= MOST_COLUMNS &&
                       COUNT(late) <= MOST_COLUMNS,
                   "they grow together");
    free_columns(graph, passes, COUNT(passes), graph->capacity.pass);
    free_columns(graph, resources, COUNT(resources), graph->capacity.res);
    free_columns(graph, uses, COUNT(uses), graph->capacity.use);
    free_columns(graph, ranges, COUNT(ranges), graph->capacity.range);
    free_columns(graph, clears, COUNT(clears), graph->capacity.clear);
    free_columns(graph, accesses, COUNT(accesses), graph->capacity.access);
    free_columns(graph, versions, COUNT(versions), graph->capacity.version);
    free_columns(graph, late, COUNT(late), graph->capacity.late);
}
