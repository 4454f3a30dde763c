/* Frames to measure with: six families of graphs from a size and a seed, made once and declared as often as wanted.
 *
 * deferred: views of a deferred renderer, about 30 passes each. layered: a random graph of width 16. chain: each pass
 * reads what the one before wrote. fanout: one pass reads what all others wrote. async: a strand of graphics and one of
 * compute that meet every eight passes, with uploads. temporal: histories, host passes, buffer ranges, pinned compute.
 */
#ifndef HDB_WORKLOADS_H
#define HDB_WORKLOADS_H

#include <heddle/graph.h>

typedef struct hdb_workload hdb_workload;

enum { HDB_FAMILY_COUNT = 6 };
extern const char *const hdb_family_names[HDB_FAMILY_COUNT];
/* The index of a name, or HDB_FAMILY_COUNT. */
uint32_t hdb_family_index(const char *name);

/* About pass_count passes (at least 4), a few more where a family adds them in groups. With cost every pass has a
 * plausible GPU time; the graph is otherwise the same. Null: no memory. */
hdb_workload *hdb_workload_make(uint32_t family, uint32_t pass_count, uint64_t seed, bool cost);
void hdb_workload_free(hdb_workload *workload);

/* FAMILY-PASSES. */
const char *hdb_workload_name(const hdb_workload *workload);
uint32_t hdb_workload_pass_count(const hdb_workload *workload);
uint32_t hdb_workload_use_count(const hdb_workload *workload);

/* Begins a frame and declares the whole workload, resources where they are first wanted, as an engine would: each
 * pass's uses are put together right before its call. Allocates nothing itself. */
void hdb_workload_declare(hdb_workload *workload, hd_graph *graph);

/* From now on every pass has this callback, and imports have handles: the stub driver can execute the workload. */
void hdb_workload_record(hdb_workload *workload, hd_record_fn record);

/* The least that any compiler of this workload has to do: reads what was declared once, as compact as it can be, and
 * writes 24 bytes a use. The sum that comes back keeps the reads alive. */
uint64_t hdb_workload_floor(hdb_workload *workload);

#endif
