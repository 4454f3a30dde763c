/* heddle-bench: what its files share. Results are JSON trees (jansson), so that files of other runs and machines are
 * treated as those of this one; README.md of this folder lists their members. */
#ifndef HBS_SUITE_H
#define HBS_SUITE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "adapter.h"
#include "workload.h"

enum { HBS_MOST_ADAPTERS = 16, HBS_LEAST_RUNS = 9, HBS_VERDICT_BYTES = 1024, HBS_PATH_BYTES = 1024 };

typedef enum hbs_mode {
    HBS_TURNS,     /* every frame is another one */
    HBS_UNCHANGED, /* the same frame again and again */
    HBS_CHANGED,   /* one pass of a hundred is another one */
    HBS_COLD,      /* the first frame of a process */
    HBS_MODE_COUNT
} hbs_mode;
extern const char *const hbs_mode_names[HBS_MODE_COUNT];

/* A cell: one workload with one queue set, order and number of workers, for all adapters and some modes. */
typedef struct hbs_cell {
    hbs_source source;
    uint32_t order, workers;
    uint64_t budget; /* 0: none */
    bool modes[HBS_MODE_COUNT];
} hbs_cell;

typedef struct hbs_loaded {
    const hb_adapter *adapter;
    char file[256]; /* empty: built in */
} hbs_loaded;

typedef struct hbs_run {
    hbs_loaded adapters[HBS_MOST_ADAPTERS];
    uint32_t adapter_count;
    double seconds; /* of each row, at least; and HBS_LEAST_RUNS */
    const char *program; /* for children */
    const char *keep;    /* a folder for rejected plans; null: none are kept */
} hbs_run;

/* runner.c: measures a cell and appends a row for each adapter and mode to rows. False: no memory. */
bool hbs_measure_cell(const hbs_run *run, const hbs_cell *cell, json_t *rows);
/* The first frame of this process; prints "declare compile" in nanoseconds, and the plan's judgement decides. */
int hbs_cold_child(const hbs_run *run, const hbs_cell *cell);
/* Frames for callgrind, between calls of hbs_counted_frame. */
int hbs_counted_child(const hbs_run *run, const hbs_cell *cell);

/* judge.c: what a plan is worth. quality gets its figures; false: not accepted, verdict says why. */
bool hbs_judge(const hb_adapter *adapter, void *handle, const hd_graph *graph, json_t *quality, char *verdict,
               size_t verdict_bytes);

/* Writes STEM.fgt, the frame, and STEM.json, the newest plan of the handle. False: not written. */
bool hbs_keep(const hb_adapter *adapter, void *handle, const hd_graph *graph, const char *stem);

/* environment.c: processor, compiler, flags, governor, load, as an object. */
json_t *hbs_environment(void);

/* report.c */
void hbs_print_rows(FILE *f, const json_t *results);
bool hbs_write_csv(FILE *f, const json_t *results);
bool hbs_write_html(FILE *f, const json_t *results);
/* Rows of both with medians, their ratio, and ~ where the samples do not differ (p > 0.01). */
void hbs_print_comparison(FILE *f, const json_t *before, const json_t *after);
/* Gives rows of results that stand in before, too, their old median and the probability that nothing changed. */
void hbs_set_baseline(json_t *results, const json_t *before);
/* One tree of several. */
json_t *hbs_merge(const json_t *const *results, uint32_t count);
/* Says what is wrong; null then. */
json_t *hbs_load(const char *path);

/* What identifies a row: adapter, workload, queues, order, workers, mode. */
void hbs_row_key(const json_t *row, char *key, size_t bytes);
double hbs_number(const json_t *row, const char *name); /* NAN where it is not there */
const char *hbs_text(const json_t *row, const char *name);

#endif
