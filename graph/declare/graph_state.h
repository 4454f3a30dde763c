/* What an hd_graph holds. Private to the files that declare, compile.c and the views of the graph. */
#ifndef HDI_GRAPH_STATE_H
#define HDI_GRAPH_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "cache.h"
#include "tables.h"

/* How long the regions of a long frame are (crew.h), and below what a frame is compiled by the caller alone. */
enum { HDI_REGION_PASSES = 512, HDI_PARALLEL_PASSES = 4 * HDI_REGION_PASSES };

/* Groups of columns that grow together, to one capacity. */
typedef enum hdi_columns {
    HDI_PASSES,
    HDI_RESOURCES,
    HDI_USES,
    HDI_RANGES,
    HDI_CLEARS,
    HDI_ACCESSES,
    HDI_VERSIONS,
    HDI_LATE_USES,
    HDI_COLUMN_GROUPS
} hdi_columns;

/* What a use of an access means for a resource of one kind: hdi_rule_index. Made from the access table, for the loops
 * over the uses of a pass. One word by type of pass: below HDI_RULE_FLAGS what the use adds to the state of a resource
 * (HDI_RES_FULL only where it is of the whole), from there on HDI_USE_*, and from HDI_RULE_ROW on the row of the
 * access. 0: the use is not allowed. Those of HD_ACCESS_CUSTOM: of the newest use whose access is not one of the first,
 * and without its row. */
enum { HDI_RULE_COUNT = HDI_ACCESS_ROWS * HDI_RES_KINDS, HDI_RULE_FLAGS = 40, HDI_RULE_ROW = 48 };
typedef struct hdi_use_rules {
    uint64_t of[HD_PASS_HOST + 1][HDI_RULE_COUNT];
} hdi_use_rules;

static inline size_t hdi_rule_index(size_t access, uint64_t state)
{
    return access * HDI_RES_KINDS + (state >> HDI_RES_KIND_SHIFT);
}

/* hd_graph.unusual: columns of which not all have the usual value, which is what makes them worth no store for each. */
enum {
    HDI_UNUSUAL_PASSES = 1, /* pass_flags, pass_pin: not 0 */
    HDI_UNUSUAL_LOADS = 2,  /* use_exec: not 0 */
    HDI_UNUSUAL_PAIRS = 4,  /* res_pair: not HDI_NONE */
};

typedef struct hdi_list hdi_list;

/* Lists that other threads fill. */
typedef struct hdi_lists {
    pthread_mutex_t mutex;     /* of open and spare, while lists are opened */
    hdi_list *open;            /* by rising order key */
    hdi_list *spare;           /* of earlier frames, with their memory */
    hdi_list *closed, *rested; /* joined in this frame; in the one before */
    _Atomic(uint64_t) late;    /* 1 + the key of a list that was used after it joined */
    bool failed;               /* one could not be opened */
    uint32_t first_handle;     /* of number 0 */
    _Atomic(uint32_t) id_next; /* first number that no list has taken */
    uint32_t alias_count, alias_capacity;
    uint32_t *alias; /* handle of the graph that a number of a list stands for; 0: none */
} hdi_lists;

typedef struct hdi_published {
    const char *name;
    hd_resource resource;
} hdi_published;

struct hd_graph {
    /* What each call looks at comes first. */
    uint32_t first_handle; /* of resource or pass 0 */
    uint32_t pass_count, res_count, use_count;
    uint32_t pass_room, res_room; /* how many there may be without growing; 0 in a frame that has an error */
    uint32_t first_version;       /* handle of version 0 */
    uint32_t version_count;       /* beyond the first of each resource */
    uint32_t unusual;             /* HDI_UNUSUAL_* */
    uint32_t capacity[HDI_COLUMN_GROUPS];
    bool has_empty_passes;
    bool ties; /* there are versions, or the pass at hand has uses that are tied to others */
    bool used_twice; /* it uses a resource twice */
    bool mixed_layouts;   /* a pass reads a piece of an image in two layouts, which agree, or in none there is */
    bool unwritten_reads; /* a use reads what no use of the whole resource wrote before */

    hdi_res_state *res_state;
    uint8_t *res_flags;
    hdi_res_info *res_info;
    hdi_res_import *res_import;
    uint32_t *use_res, *use_pass;
    uint16_t *use_access;
    uint8_t *use_flags;
    uint8_t *pass_type;
    float *pass_cost;
    uint32_t *pass_use_begin;
    hdi_pass_exec *pass_exec;
    hdi_use_rules rules;

    _Atomic(uint64_t) owner;     /* the thread that is in a call; 0: none */
    _Atomic(uint32_t) executed;  /* how many hd_vk execute it */
    _Atomic(const char *) raced; /* a call that was refused for one of these; null: none */
    hdi_list *list; /* not null: this is no graph, but what the engine holds of a list */
    hd_allocator allocator;
    hd_log log;
    bool log_plans;
    uint32_t tag; /* of this frame */
    uint32_t old_handles, old_versions, old_lists; /* where the handles of earlier frames begin */
    hd_error error;

    uint32_t range_count, clear_count, access_count;
    uint32_t own_layout; /* the first that no access of the table has, and a custom one; HDI_LAYOUT_UNDEFINED: none */
    uint8_t *pass_flags, *pass_pin;
    uint32_t *res_pair;
    uint32_t *use_range;
    hdi_use_exec *use_exec;
    hd_range *range;
    uint32_t *range_res;
    uint32_t *clear_use;
    hd_clear *clear;
    hdi_access_info *access;
    /* Made with the graph: in each frame it took as long as some passes do. Each lies on one line. */
    _Alignas(HDI_ARENA_ALIGNMENT) hdi_kind first_kind[HDI_ACCESS_CUSTOM_FIRST];
    hdi_link first_link[HDI_ACCESS_CUSTOM_FIRST];

    /* Versions beyond the first of each resource, in the order in which they were made. */
    uint32_t late_count;
    uint32_t *version_res, *version_made, *version_next; /* its resource, the pass that made it, the one after it */
    uint32_t *late_use, *late_end;

    hdi_arena scratch; /* what phases leave to later phases of the same compile */
    hdi_arena part[HDI_MOST_PARTS];
    /* HDI_REGION_PASSES, HDI_PARALLEL_PASSES; tests make them smaller. */
    uint32_t region_passes, parallel_passes;
    hdi_cache cache;
    hdi_block plan; /* of the newest compile, where the cache does not keep it; else of one that is not needed */
    hdi_fgt_lines lines;
    hdi_lists lists;
    uint32_t published_count, published_room;
    hdi_published *published;
    char name[HDI_NAME_BYTES + 1];
};

/* What is done in a graph. REFUSED: another thread is in it. alone: also not within another call, nor while the graph
 * is executed. Each enter that was not refused is followed by leave. */
typedef enum hdi_entered { HDI_REFUSED, HDI_ENTERED, HDI_NESTED } hdi_entered;
hdi_entered hdi_graph_enter(hd_graph *graph, const char *call, bool alone);
void hdi_graph_leave(hd_graph *graph, hdi_entered entered);
#ifdef NDEBUG
#define HDI_ENTER(graph, call) HDI_NESTED
#define HDI_LEAVE(graph, entered) ((void)(entered))
#else /* graph: may be null, or a list */
#define HDI_ENTER(graph, call) ((graph) ? hdi_graph_enter((graph), (call), false) : HDI_NESTED)
#define HDI_LEAVE(graph, entered) ((graph) ? hdi_graph_leave((graph), (entered)) : (void)0)
#endif

/* Drops the lists that were not joined, and all handles of lists: later ones are others. */
void hdi_lists_forget(hd_graph *graph);
void hdi_lists_free(hd_graph *graph);

/* What a list notes, to make the call at the join. HDI_CALL_LATER: anything else that declares passes. */
typedef enum hdi_call_kind {
    HDI_CALL_IMAGE,
    HDI_CALL_BUFFER,
    HDI_CALL_IMPORT,
    HDI_CALL_HISTORY,
    HDI_CALL_PASS,
    HDI_CALL_LATER,
} hdi_call_kind;
/* desc: of the kind; may be null. */
hd_resource hdi_list_resource(hdi_list *list, hdi_call_kind kind, const void *desc);
hd_pass hdi_list_pass(hdi_list *list, const hd_pass_desc *desc);
hd_graph *hdi_list_graph(const hdi_list *list);
/* Calls fn at the join, with a copy of the arguments. list: a graph whose `list` is not null. */
typedef hd_pass (*hdi_later_fn)(hd_graph *graph, const void *arguments);
hd_pass hdi_list_later(hd_graph *list, hdi_later_fn fn, const void *arguments, size_t bytes);
/* A copy that lives until the join; null: no memory, which the join reports. */
void *hdi_list_keep(hd_graph *list, const void *data, size_t bytes);

/* Why there is nothing in this frame that a handle names. */
const char *hdi_handle_fault(const hd_graph *graph, uint32_t id);
/* Records the first error of a frame; later ones are dropped. Returns result. */
hd_result hdi_graph_fail(hd_graph *graph, hd_result result, uint32_t pass, uint32_t res, uint32_t use,
                         const char *detail);

/* Null, or what is wrong with the description of an import; *result: which mistake that is. */
const char *hdi_import_fault(const hd_import_desc *desc, hd_result *result);

#endif
