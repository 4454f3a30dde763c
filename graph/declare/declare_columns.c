#include "declare_columns.h"

#include <string.h>

#include "alloc.h"

/* The columns of a declaration: arrays that keep their memory from frame to frame, and grow in groups.
 *
 * What nearly no pass, resource or use has is not written for each of them: such a column holds its usual value
 * wherever nothing is declared, what declares something else says so, and the next frame puts the usual value back.
 */

enum { UNUSUAL = -1 }; /* of columns that are written anyway */

typedef struct column {
    uint8_t group; /* hdi_columns */
    uint8_t extra; /* elements beyond the capacity */
    int16_t usual; /* the bytes of the usual value */
    uint32_t element_bytes;
    size_t place; /* of the pointer in hd_graph */
} column;

_Static_assert(HDI_NONE == UINT32_MAX, "all bytes are 0xff");
#define COLUMN_OF(group, field, extra, usual)                                                                          \
    {                                                                                                                  \
        group, extra, usual, sizeof(*((hd_graph *)0)->field), offsetof(hd_graph, field)                                \
    }
#define COLUMN(group, field) COLUMN_OF(group, field, 0, UNUSUAL)
static const column columns[] = {
    COLUMN(HDI_PASSES, pass_type),
    COLUMN_OF(HDI_PASSES, pass_flags, 0, 0),
    COLUMN_OF(HDI_PASSES, pass_pin, 0, 0),
    COLUMN(HDI_PASSES, pass_cost),
    COLUMN_OF(HDI_PASSES, pass_use_begin, 1, UNUSUAL),
    COLUMN(HDI_PASSES, pass_exec),
    COLUMN(HDI_RESOURCES, res_flags),
    COLUMN(HDI_RESOURCES, res_state),
    COLUMN(HDI_RESOURCES, res_info),
    COLUMN(HDI_RESOURCES, res_import),
    COLUMN_OF(HDI_RESOURCES, res_pair, 0, 0xff),
    COLUMN(HDI_USES, use_res),
    COLUMN(HDI_USES, use_pass),
    COLUMN(HDI_USES, use_access),
    COLUMN_OF(HDI_USES, use_flags, HDI_USE_FLAGS_SLACK, UNUSUAL),
    COLUMN_OF(HDI_USES, use_range, 0, 0xff),
    COLUMN_OF(HDI_USES, use_exec, 0, 0),
    COLUMN(HDI_RANGES, range),
    COLUMN(HDI_RANGES, range_res),
    COLUMN(HDI_CLEARS, clear_use),
    COLUMN(HDI_CLEARS, clear),
    COLUMN(HDI_ACCESSES, access),
    COLUMN(HDI_VERSIONS, version_res),
    COLUMN(HDI_VERSIONS, version_made),
    COLUMN(HDI_VERSIONS, version_next),
    COLUMN(HDI_LATE_USES, late_use),
    COLUMN(HDI_LATE_USES, late_end),
};
enum { COLUMNS = sizeof(columns) / sizeof(columns[0]) };

static void **data_of(hd_graph *graph, const column *of)
{
    return (void **)(void *)((char *)graph + of->place);
}

static size_t bytes_of(const column *of, uint32_t capacity)
{
    return capacity ? ((size_t)capacity + of->extra) * of->element_bytes : 0;
}

static uint32_t grown(uint32_t capacity, uint32_t need)
{
    enum { LARGE = 1 << 14 }; /* from there on by a quarter: half of many columns would lie there for nothing */
    uint32_t count = capacity ? capacity : 64;
    while (count < need)
        count += count < LARGE ? count : count / 4;
    return count < HDI_MOST_INDICES ? count : HDI_MOST_INDICES;
}

void hdi_set_rooms(hd_graph *graph)
{
    bool failed = graph->error.result != HD_OK;
    graph->pass_room = failed ? 0 : graph->capacity[HDI_PASSES];
    graph->res_room = failed ? 0 : graph->capacity[HDI_RESOURCES];
}

/* All columns of a group grow to one capacity, or none does. */
hd_result hdi_need(hd_graph *graph, hdi_columns group, uint64_t need)
{
    const uint32_t before = graph->capacity[group];
    if (need <= before)
        return HD_OK;
    if (need > HDI_MOST_INDICES)
        return HD_TOO_LARGE;
    const uint32_t after = grown(before, (uint32_t)need);
    void *fresh[COLUMNS] = {NULL};
    bool failed = false;
    for (size_t i = 0; i < COLUMNS; i++) {
        if (columns[i].group == group && !failed)
            fresh[i] = hdi_alloc(&graph->allocator, bytes_of(&columns[i], after), 64);
        failed |= columns[i].group == group && !fresh[i];
    }
    for (size_t i = 0; i < COLUMNS; i++) {
        void **data = data_of(graph, &columns[i]), *old = *data;
        size_t bytes = bytes_of(&columns[i], before), all = bytes_of(&columns[i], after);
        if (!fresh[i])
            continue;
        if (failed) {
            hdi_free(&graph->allocator, fresh[i], all);
            continue;
        }
        if (bytes)
            memcpy(fresh[i], old, bytes);
        if (columns[i].usual != UNUSUAL)
            memset((char *)fresh[i] + bytes, columns[i].usual, all - bytes);
        hdi_free(&graph->allocator, old, bytes);
        *data = fresh[i];
    }
    if (failed)
        return HD_OUT_OF_MEMORY;
    graph->capacity[group] = after;
    hdi_set_rooms(graph);
    return HD_OK;
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
    for (size_t i = 0; i < COLUMNS; i++)
        hdi_free(&graph->allocator, *data_of(graph, &columns[i]),
                 bytes_of(&columns[i], graph->capacity[columns[i].group]));
}

/* HDI_RES_READERS of an access that reads an image in a layout. */
uint64_t hdi_readers_of(uint32_t layout, uint32_t own_layout)
{
    const uint32_t bit_of[] = {HDI_LAYOUT_SHADER_READ_ONLY, HDI_LAYOUT_GENERAL,     HDI_LAYOUT_DEPTH_STENCIL_READ_ONLY,
                               HDI_LAYOUT_TRANSFER_SRC,     HDI_LAYOUT_PRESENT_SRC, own_layout};
    const uint64_t first = HDI_RES_READERS & -HDI_RES_READERS;
    for (size_t bit = 0; bit < sizeof(bit_of) / sizeof(bit_of[0]); bit++)
        if (bit_of[bit] == layout)
            return first << bit;
    return HDI_RES_READERS & ~(HDI_RES_READERS >> 2);
}

void hdi_make_rules(const hdi_access_info *info, uint32_t access, uint32_t image_row, uint32_t buffer_row,
                    uint32_t own_layout, hdi_use_rules *rules)
{
    bool attachment = info->attachment == HDI_ATTACHMENT_COLOR || info->attachment == HDI_ATTACHMENT_DEPTH;
    uint64_t flags =
        (info->reads ? HDI_USE_READS : 0) | (info->writes ? HDI_USE_WRITES : 0) | (attachment ? HDI_USE_ATTACHMENT : 0);
    for (uint32_t kind = 0; kind < HDI_RES_KINDS; kind++) {
        bool is_buffer = kind & HDI_RES_BUFFER, allowed = is_buffer ? info->on_buffer : info->on_image;
        size_t at = hdi_rule_index(access, (uint64_t)kind << HDI_RES_KIND_SHIFT);
        uint64_t rule = (is_buffer ? info->buffer_usage : info->image_usage) | (info->reads ? 0 : HDI_RES_FULL) |
                        (is_buffer || info->writes ? 0 : hdi_readers_of(info->layout, own_layout)) |
                        (flags | (is_buffer ? HDI_USE_BUFFER : 0)) << HDI_RULE_FLAGS |
                        (uint64_t)(is_buffer ? buffer_row : image_row) << HDI_RULE_ROW;
        allowed = allowed && !(kind & HDI_RES_HISTORY && info->writes);
        for (uint32_t type = 0; type <= HD_PASS_HOST; type++)
            rules->of[type][at] = allowed && info->pass_types >> type & 1 ? rule : 0;
    }
}
