/* What the files that declare need of one another: room in the columns, and handles. */
#ifndef HDI_DECLARE_COLUMNS_H
#define HDI_DECLARE_COLUMNS_H

#include "graph_state.h"

/* Handles are numbers that go on from frame to frame, so that those of another frame are out of range until the row
 * comes round: one row of resources and passes, one of versions, and one of what lists declare, which stands for a
 * handle of the graph from the join on. Rejected: a number of the frame above an index, of which 32 bits had room for
 * 1024 frames. */
#define HDI_VERSION_HANDLES 0x80000000u
#define HDI_LIST_HANDLES 0xc0000000u
#define HDI_MOST_INDICES ((1u << 22) - 1) /* in one frame */

/* Where a row goes on, of which a frame has used so many. end: where the next row begins. */
static inline uint32_t hdi_next_handle(uint32_t first, uint32_t used, uint32_t begin, uint32_t end)
{
    uint32_t next = first + used;
    return end - next > HDI_MOST_INDICES ? next : begin;
}

/* Whether a description has uses that may be looked at: a count that no frame has room for is none of what is there. */
static inline bool hdi_has_uses(const hd_pass_desc *desc)
{
    return desc->uses && desc->use_count <= HDI_MOST_INDICES;
}

static inline bool hdi_is_list_handle(const hd_graph *graph, uint32_t id)
{
    return id - graph->lists.first_handle < graph->lists.alias_count;
}

/* What a handle of a list stands for; 0: nothing. */
uint32_t hdi_list_alias(const hd_graph *graph, uint32_t id);

/* Room in a group of columns, so many elements in all. */
hd_result hdi_need(hd_graph *graph, hdi_columns group, uint64_t need);
/* After a change of the capacities or of the error. */
void hdi_set_rooms(hd_graph *graph);
/* Before the counts go back to 0: columns that have a usual value get it back. */
void hdi_reset_columns(hd_graph *graph);
/* Those of a pass that does not stay, and of its uses. */
void hdi_reset_pass(hd_graph *graph, uint32_t pass, uint32_t first, uint32_t end);
void hdi_free_columns(hd_graph *graph);

/* Ties the resolves of a pass, whose uses begin at first, to their attachments. On HD_BAD_RESOLVE *bad is the index of
 * the use and *why a clause that says what is wrong. */
hd_result hdi_tie_resolves(hd_graph *graph, const hd_pass_desc *desc, uint32_t first, uint32_t *bad, const char **why);

/* Checks `count` uses of the newest pass, from `first` on, against one another. On HD_CONFLICTING_USES *bad is the
 * index of the first use that does not agree with those before it. */
hd_result hdi_check_double_uses(hd_graph *graph, uint32_t first, uint32_t count, uint32_t *bad);

/* HDI_RES_READERS of an access that reads an image in a layout. */
uint64_t hdi_readers_of(uint32_t layout, uint32_t own_layout);
/* The rules that uses of an access are checked by. access: where they go; rows: of images and of buffers. own_layout:
 * has a bit of its own among HDI_RES_READERS, beside those that accesses of the table read in. */
void hdi_make_rules(const hdi_access_info *info, uint32_t access, uint32_t image_row, uint32_t buffer_row,
                    uint32_t own_layout, hdi_use_rules *rules);

uint32_t hdi_handle(const hd_graph *graph, uint32_t index);
/* The version that a handle of this frame names, HDI_NONE: the first of its resource. */
uint32_t hdi_handle_version(const hd_graph *graph, uint32_t id);
uint32_t hdi_version_handle(const hd_graph *graph, uint32_t version);
/* Handle of the version after that of this handle; 0: there is none. */
uint32_t hdi_handle_next(const hd_graph *graph, uint32_t id);
/* Notes what the uses of the newest pass, the first of which is use number `first`, mean for versions. *bad: the use
 * that does not go. */
hd_result hdi_pass_versions(hd_graph *graph, const hd_pass_desc *desc, uint32_t first, uint32_t *bad);

#endif
