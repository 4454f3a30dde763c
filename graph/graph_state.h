/* What an hd_graph holds. Private to declare.c, compile.c and the views of the graph. */
#ifndef HDI_GRAPH_STATE_H
#define HDI_GRAPH_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "cache.h"
#include "tables.h"

/* How long the regions of a long frame are (crew.h), and below what a frame is compiled by the caller alone. */
enum { HDI_REGION_PASSES = 512, HDI_PARALLEL_PASSES = 4 * HDI_REGION_PASSES };

/* Capacity of one group of columns that grow together. */
typedef struct hdi_capacity {
    uint32_t pass, res, use, range, access, version, late;
} hdi_capacity;

/* What a use of an access means for a resource of one kind. Made from the access table, for the loop over the uses of a
 * pass. */
enum { HDI_RES_KIND = HDI_RES_BUFFER | HDI_RES_HISTORY, HDI_RES_KINDS = HDI_RES_KIND + 1 };
typedef struct hdi_use_rule {
    uint32_t usage;
    uint8_t types;  /* bit per hd_pass_type: where the use is allowed */
    uint8_t flags;  /* HDI_USE_* */
    uint8_t needs;  /* HDI_RES_UNWRITTEN should not be set */
    uint8_t leaves; /* of the resource's flags, where the use is of the whole */
} hdi_use_rule;
_Static_assert(sizeof(hdi_use_rule) == 8, "found by a shift");

/* Lists that other threads fill. */
typedef struct hdi_lists {
    pthread_mutex_t mutex;     /* of open and spare, while lists are opened */
    struct hd_list *open;      /* by rising order key */
    struct hd_list *spare;     /* of earlier frames, with their memory */
    bool failed;               /* one could not be opened */
    _Atomic(uint32_t) id_next; /* first number that no list has taken */
    uint32_t alias_count, alias_capacity;
    uint32_t *alias; /* handle of the graph that a number of a list stands for; 0: none */
} hdi_lists;

struct hd_graph {
    hd_allocator allocator;
    hd_log log;
    char name[128];
    uint32_t tag; /* in the upper bits of each handle: of this graph and this frame */
    uint32_t first_handle; /* of resource or pass 0 */
    hd_error error;

    hdi_capacity capacity;
    uint32_t pass_count, res_count, use_count, range_count, access_count;
    uint8_t *pass_type, *pass_flags, *pass_pin;
    float *pass_cost;
    uint32_t *pass_use_begin;
    hdi_pass_exec *pass_exec;
    uint8_t *res_flags;
    uint32_t *res_pair;
    uint32_t *res_used; /* 1 + newest use of each resource, 0: none; to find double uses within a pass */
    hdi_res_info *res_info;
    uint32_t *use_res;
    uint16_t *use_access;
    uint8_t *use_flags;
    uint32_t *use_range;
    hdi_use_exec *use_exec;
    hd_clear *use_clear;
    hd_range *range;
    uint32_t *range_res;
    hdi_access_info *access;
    /* The last: of the newest use that none of the others is for. */
    hdi_use_rule rule[HDI_ACCESS_CUSTOM_FIRST + 1][HDI_RES_KINDS];
    uint32_t unwritten_reads; /* not 0: a use reads what no use of the whole resource wrote before */

    /* Versions beyond the first of each resource, in the order in which they were made. */
    uint32_t version_count, late_count;
    uint32_t *res_next;                              /* the version after the first one of each resource, or HDI_NONE */
    uint32_t *version_res, *version_made, *version_next; /* its resource, the pass that made it, the one after it */
    uint32_t *late_use, *late_end;

    hdi_arena scratch; /* what phases leave to later phases of the same compile */
    hdi_arena part[HDI_MOST_PARTS];
    /* HDI_REGION_PASSES, HDI_PARALLEL_PASSES; tests make them smaller. */
    uint32_t region_passes, parallel_passes;
    hdi_cache cache;
    hdi_block plan; /* of a compile whose plan the cache does not keep */
    hdi_fgt_lines lines;
    hdi_lists lists;
};

/* Drops the lists that were not joined, and all handles of lists. */
void hdi_lists_forget(hd_graph *graph);
void hdi_lists_free(hd_graph *graph);

/* Records the first error of a frame; later ones are dropped. Returns result. */
hd_result hdi_graph_fail(hd_graph *graph, hd_result result, uint32_t pass, uint32_t res, uint32_t use,
                         const char *detail);

#endif
