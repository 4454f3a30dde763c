/* A frame cut into cells, the smallest pieces that any use or barrier speaks of: an aspect of a mip of a layer of an
 * image, or bytes of a buffer that no range splits. Slow and plain; written from the format's contract for the
 * reference models. */
#ifndef HDT_CELLS_H
#define HDT_CELLS_H

#include <heddle/graph.h>

#include "tables.h"

/* An access as the contract has it; not taken from the compiler's table. */
typedef struct hdt_access_row {
    uint64_t stages, access;
    uint32_t layout;
    bool reads, writes;
} hdt_access_row;
extern const hdt_access_row hdt_access_rows[HD_ACCESS_COUNT];

typedef struct hdt_cell {
    uint32_t res;
    uint64_t begin, end; /* bytes of the buffer; images: mip, aspect and layer, counted through, and one more */
} hdt_cell;
typedef struct hdt_cells {
    hdi_decl d;
    uint32_t count;
    hdt_cell *cell;
    uint32_t *res_begin; /* res_count + 1 */
    uint32_t *use_pass;
    uint8_t *kept; /* by the contract's rule */
    hdt_access_row *custom; /* accesses that a use has brought itself, from HDI_ACCESS_CUSTOM_FIRST on */
} hdt_cells;

/* plan may be null: only uses cut. The graph must hold its declaration as long as the cells are used. */
hdt_cells hdt_cells_make(const hd_graph *graph, const hd_plan *plan);
void hdt_cells_free(hdt_cells *cells);
/* Whether a range (null: the whole) of the cell's resource holds the cell. */
bool hdt_cell_in(const hdt_cells *cells, uint32_t cell, const hd_range *range);
bool hdt_use_has(const hdt_cells *cells, uint32_t use, uint32_t cell);
const hdt_access_row *hdt_use_row(const hdt_cells *cells, uint32_t use);

/* Zeroed memory; ends the program where there is none. */
void *hdt_zeroed(size_t count, size_t bytes);

#endif
