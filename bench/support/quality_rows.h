/* Figures of quality that are exact and committed: bench/baseline/quality.csv. The benchmark prints them, a test
 * compares them, so that a change of the compiler's quality shows in the diff of its commit. */
#ifndef HDB_QUALITY_ROWS_H
#define HDB_QUALITY_ROWS_H

#include <stdio.h>

#include <heddle/graph.h>

#define HDB_QUALITY_FILE HEDDLE_BENCH_DIR "/baseline/quality.csv"

enum { HDB_SEED = 1 };

/* The queue sets that figures are given for: one queue, and three of families of their own. */
typedef struct hdb_queue_set {
    const char *name;
    uint32_t count;
    hd_queue_desc queues[3];
} hdb_queue_set;
enum { HDB_QUEUE_SET_COUNT = 2 };
extern const hdb_queue_set hdb_queue_sets[HDB_QUEUE_SET_COUNT];
extern const char *const hdb_order_names[3]; /* by hd_order */

/* What is asked of a plan, as in hd_compile_desc. */
typedef struct hdb_goal {
    hd_order order;
    uint64_t budget;
    bool merge_rendering;
} hdb_goal;

/* Compiles what graph holds; the statistics of its plan. *plan (may be null) is null after a failure. */
hd_result hdb_compile(hd_graph *graph, const hdb_queue_set *set, hdb_goal goal, const hd_plan **plan,
                      hd_plan_stats *stats);

/* One line of the file without its end; index counts from 0 over the rows. */
typedef struct hdb_quality_row {
    uint32_t index;
    char text[256];
    hd_result verified; /* HD_OK where verification was not asked for */
} hdb_quality_row;
/* False: stop. */
typedef bool (*hdb_quality_fn)(const hdb_quality_row *row, void *user);

/* Compiles everything and hands out each row. A compile that ends with another result than HD_OK makes a row that says
 * so. Not HD_OK: no memory. */
hd_result hdb_quality_rows(bool verify, hdb_quality_fn row, void *user);

/* The file's lines before the rows: comments that begin with '#', and the names of the columns. */
void hdb_quality_head(FILE *stream);

#endif
