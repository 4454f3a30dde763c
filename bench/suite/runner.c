#include "suite.h"

#include <linux/perf_event.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "adapters.h"
#include "clock.h"
#include "statistics.h"

/* Measures a cell. All adapters and modes of it take turns, frame by frame, so that a machine that slows down slows all
 * of them. A sample is the time of one turn through the variants, a pass. Nothing is measured of an adapter before the
 * verifier has accepted its plan of every variant. */

const char *const hbs_mode_names[HBS_MODE_COUNT] = {"turns", "unchanged", "changed", "cold"};

enum { MOST_RUNS = 400, MOST_PHASES = 32 };

/* The variants of a cell, and a graph of each to judge by. */
typedef struct variants {
    hb_workload *of[HBS_MOST_VARIANTS];
    uint32_t count, changed; /* the changed ones stand behind */
} variants;

/* One adapter in one mode. */
typedef struct contestant {
    const hbs_loaded *loaded;
    hbs_mode mode;
    void *handle[HBS_MOST_VARIANTS];
    const hb_workload *workload[HBS_MOST_VARIANTS];
    uint32_t handle_count, run_count, phase_count;
    double declare[MOST_RUNS], compile[MOST_RUNS], total[MOST_RUNS], floor[MOST_RUNS], instructions[MOST_RUNS];
    double open_ns;
    const char *phase_name[MOST_PHASES];
    double phase[MOST_PHASES];
    hb_counts counts;
    uint64_t steady_allocations;
    bool good, covered, refused;
    char verdict[HBS_VERDICT_BYTES];
    json_t *quality;
} contestant;

/* ---- instructions, where the system counts them ---- */

static int open_counter(void)
{
    struct perf_event_attr what = {.type = PERF_TYPE_HARDWARE,
                                   .size = sizeof(what),
                                   .config = PERF_COUNT_HW_INSTRUCTIONS,
                                   .exclude_kernel = 1,
                                   .exclude_hv = 1};
    return (int)syscall(SYS_perf_event_open, &what, 0, -1, -1, 0);
}

static uint64_t read_counter(int counter)
{
    uint64_t value = 0;
    return counter >= 0 && read(counter, &value, sizeof(value)) == (ssize_t)sizeof(value) ? value : 0;
}

/* ---- variants ---- */

/* Few passes are over so soon that many variants are needed for a time that the clock can tell. */
static uint32_t variant_count(uint32_t passes)
{
    enum { PASSES = 8000 };
    uint32_t count = passes ? PASSES / passes : HBS_MOST_VARIANTS / 2;
    return count < 2 ? 2 : count > HBS_MOST_VARIANTS / 2 ? HBS_MOST_VARIANTS / 2 : count;
}

static void free_variants(variants *v)
{
    for (uint32_t i = 0; i < v->count + v->changed; i++)
        hbs_free(v->of[i]);
}

static bool make_variants(const hbs_cell *cell, hd_graph *graph, variants *v)
{
    uint32_t count = variant_count(cell->source.passes);
    *v = (variants){0};
    for (; v->count < count; v->count++) {
        if (!hbs_declare(&cell->source, v->count, graph))
            return false;
        hb_workload *made = hbs_flatten(graph, &cell->source);
        if (made && v->count) {
            hb_workload *other = hbs_changed(made, v->count); /* frames without seeds differ by this alone */
            hbs_free(made);
            made = other;
        }
        if (!made)
            return false;
        v->of[v->count] = made;
    }
    for (; cell->modes[HBS_CHANGED] && v->changed < count; v->changed++) {
        if (!(v->of[v->count + v->changed] = hbs_changed(v->of[0], 1 + v->changed)))
            return false;
    }
    return true;
}

/* ---- one adapter ---- */

static void close_contestant(contestant *c)
{
    for (uint32_t i = 0; i < c->handle_count; i++)
        c->loaded->adapter->close(c->handle[i]);
    c->handle_count = 0;
}

/* A frame, once and for all to see: is its plan accepted? */
static bool judge_frame(contestant *c, uint32_t i, hd_graph *graph)
{
    const hb_adapter *adapter = c->loaded->adapter;
    if (adapter->declare(c->handle[i]) != 0) {
        snprintf(c->verdict, sizeof(c->verdict), "declare failed");
        return false;
    }
    int compiled = adapter->compile(c->handle[i]);
    if (compiled != 0) {
        c->refused = compiled == HB_REFUSED;
        snprintf(c->verdict, sizeof(c->verdict), c->refused ? "no plan within the budget" : "compile failed");
        return false;
    }
    return hbs_judge(adapter, c->handle[i], graph, i == 0 ? c->quality : NULL, c->verdict, sizeof(c->verdict));
}

/* The first rejected plan of a contestant, beside its frame. */
static void keep_rejected(const contestant *c, const hbs_run *run, const hbs_cell *cell, const hd_graph *graph)
{
    char stem[HBS_PATH_BYTES / 2];
    uint32_t last = c->handle_count - 1;
    int length = snprintf(stem, sizeof(stem), "%s/%s-%s-q%u-%s", run->keep, c->loaded->adapter->name(),
                          c->workload[last]->name, cell->source.queues, hbs_mode_names[c->mode]);
    if (length >= (int)sizeof(stem) || !hbs_keep(c->loaded->adapter, c->handle[last], graph, stem))
        fprintf(stderr, "heddle-bench: %s: the rejected plan was not written\n", stem);
}

static void open_contestant(contestant *c, const hbs_run *run, const hbs_cell *cell, const variants *v,
                            hd_graph *judge)
{
    const hb_adapter *adapter = c->loaded->adapter;
    uint32_t first = c->mode == HBS_CHANGED ? v->count : 0;
    uint32_t count = c->mode == HBS_UNCHANGED || c->mode == HBS_COLD ? 1 : c->mode == HBS_CHANGED ? v->changed : v->count;
    uint64_t needs =
        v->of[0]->needs | (cell->workers > 1 ? HB_CAN_WORKERS : 0) | (cell->budget ? HB_CAN_BUDGET : 0);
    hb_options options = {.order = cell->order, .workers = cell->workers, .memory_budget = cell->budget,
                          .reuse = c->mode == HBS_UNCHANGED || c->mode == HBS_CHANGED};
    c->quality = json_object();
    c->covered = (needs & ~adapter->capabilities()) == 0;
    if (!c->covered) {
        snprintf(c->verdict, sizeof(c->verdict), "not covered by the adapter's capabilities");
        return;
    }
    c->good = true;
    for (uint32_t i = 0; c->good && i < count; i++) {
        char error[HBS_VERDICT_BYTES / 2] = "";
        c->workload[i] = v->of[first + i];
        uint64_t began = hdi_clock_ns();
        c->handle[i] = adapter->open(c->workload[i], &options, error, sizeof(error));
        c->open_ns += (double)(hdi_clock_ns() - began) / c->workload[i]->pass_count / count;
        if (!c->handle[i]) {
            snprintf(c->verdict, sizeof(c->verdict), "open failed: %s", error);
            c->good = false;
            return;
        }
        c->handle_count++;
        hb_heddle_declare(c->workload[i], judge);
        c->good = hd_graph_error(judge)->result == HD_OK && judge_frame(c, i, judge);
        if (!c->good && !c->refused && run->keep)
            keep_rejected(c, run, cell, judge);
    }
}

static uint64_t floor_sum; /* what is stored here cannot be left out */

/* One turn through the frames of a mode. */
static void run_turn(contestant *c, int counter, uint64_t *floor_out)
{
    const hb_adapter *adapter = c->loaded->adapter;
    uint64_t declare = 0, compile = 0, floor = 0, instructions = 0, passes = 0;
    enum { REPEAT = 4 }; /* of a frame that is found: it takes next to nothing */
    uint32_t repeat = c->mode == HBS_UNCHANGED ? REPEAT : 1;
    for (uint32_t i = 0; i < c->handle_count * repeat; i++) {
        uint32_t at = i % c->handle_count;
        uint64_t counted = read_counter(counter), began = hdi_clock_ns();
        int failed = adapter->declare(c->handle[at]);
        uint64_t declared = hdi_clock_ns();
        failed |= adapter->compile(c->handle[at]);
        uint64_t compiled = hdi_clock_ns();
        instructions += read_counter(counter) - counted;
        if (failed) {
            c->good = false;
            snprintf(c->verdict, sizeof(c->verdict), "a later frame failed");
            return;
        }
        declare += declared - began;
        compile += compiled - declared;
        floor_sum += hbs_floor(c->workload[at], floor_out);
        uint64_t warm = hdi_clock_ns();
        floor_sum += hbs_floor(c->workload[at], floor_out);
        floor += hdi_clock_ns() - warm;
        passes += c->workload[at]->pass_count;
    }
    uint32_t run = c->run_count++;
    c->declare[run] = (double)declare / (double)passes;
    c->compile[run] = (double)compile / (double)passes;
    c->total[run] = c->declare[run] + c->compile[run];
    c->floor[run] = (double)floor / (double)passes;
    c->instructions[run] = counter >= 0 ? (double)instructions / (double)passes : NAN;
}

/* Frames of their own for the phases: to time them takes time. */
static void time_phases(contestant *c, const hbs_cell *cell)
{
    const hb_adapter *adapter = c->loaded->adapter;
    if (!adapter->phase || c->mode != HBS_TURNS || !c->good)
        return;
    hb_options options = {
        .order = cell->order, .workers = cell->workers, .memory_budget = cell->budget, .timed = 1};
    double samples[MOST_PHASES][HBS_LEAST_RUNS];
    char error[64];
    void *handle = adapter->open(c->workload[0], &options, error, sizeof(error));
    for (uint32_t run = 0; handle && run < HBS_LEAST_RUNS; run++) {
        uint64_t ns;
        if (adapter->declare(c->handle[c->handle_count - 1]) || adapter->compile(c->handle[c->handle_count - 1]) ||
            adapter->declare(handle) || adapter->compile(handle))
            break;
        const char *name;
        for (uint32_t p = 0; p < MOST_PHASES && (name = adapter->phase(handle, p, &ns)) != NULL; p++) {
            c->phase_name[p] = name;
            c->phase_count = p + 1;
            samples[p][run] = (double)ns / c->workload[0]->pass_count;
        }
    }
    for (uint32_t p = 0; p < c->phase_count; p++)
        c->phase[p] = hbs_spread_of(samples[p], HBS_LEAST_RUNS).median;
    if (handle)
        adapter->close(handle);
}

/* The first frame of processes of their own. */
static void run_cold(contestant *c, const hbs_run *run, const hbs_cell *cell)
{
    char command[1024];
    for (uint32_t i = 0; c->good && i < HBS_LEAST_RUNS; i++) {
        const hbs_source *s = &cell->source;
        double declare, compile;
        snprintf(command, sizeof(command), "'%s' --cold-child '%s%s' %u %llu %u %u %u %s%s%s", run->program,
                 s->file[0] ? "@" : "", s->file[0] ? s->file : s->family, s->passes, (unsigned long long)s->seed,
                 s->queues, cell->order, cell->workers, c->loaded->file[0] ? "'" : "",
                 c->loaded->file[0] ? c->loaded->file : c->loaded->adapter->name(), c->loaded->file[0] ? "'" : "");
        FILE *child = popen(command, "r");
        c->good = child && fscanf(child, "%lf %lf", &declare, &compile) == 2;
        if (child && pclose(child) != 0)
            c->good = false;
        if (!c->good) {
            snprintf(c->verdict, sizeof(c->verdict), "the first frame of a process failed");
            return;
        }
        c->declare[c->run_count] = declare / c->workload[0]->pass_count;
        c->compile[c->run_count] = compile / c->workload[0]->pass_count;
        c->total[c->run_count] = c->declare[c->run_count] + c->compile[c->run_count];
        c->instructions[c->run_count] = NAN;
        c->floor[c->run_count++] = NAN;
    }
}

/* ---- rows ---- */

static json_t *spread(double *samples, uint32_t count, bool keep)
{
    json_t *out = json_object(), *list = json_array();
    for (uint32_t i = 0; keep && i < count; i++)
        json_array_append_new(list, json_real(samples[i]));
    hbs_spread s = hbs_spread_of(samples, count);
    json_object_set_new(out, "median", json_real(s.median));
    json_object_set_new(out, "low", json_real(s.low));
    json_object_set_new(out, "high", json_real(s.high));
    if (keep)
        json_object_set_new(out, "samples", list);
    else
        json_decref(list);
    return out;
}

static json_t *optional_count(uint64_t count)
{
    return count == HB_UNKNOWN ? json_null() : json_integer((json_int_t)count);
}

static json_t *row_of(contestant *c, const hbs_cell *cell, const variants *v)
{
    static const char *const orders[] = {"overlap", "memory", "declared"};
    json_t *row = json_object();
    json_object_set_new(row, "adapter", json_string(c->loaded->adapter->name()));
    json_object_set_new(row, "version", json_string(c->loaded->adapter->version()));
    json_object_set_new(row, "workload", json_string(v->of[0]->name));
    json_object_set_new(row, "family", json_string(v->of[0]->family));
    json_object_set_new(row, "passes", json_integer(v->of[0]->pass_count));
    json_object_set_new(row, "uses", json_integer(v->of[0]->use_count));
    json_object_set_new(row, "seed", json_integer((json_int_t)cell->source.seed));
    json_object_set_new(row, "queues", json_integer(cell->source.queues));
    json_object_set_new(row, "order", json_string(orders[cell->order]));
    json_object_set_new(row, "workers", json_integer(cell->workers));
    json_object_set_new(row, "mode", json_string(hbs_mode_names[c->mode]));
    if (cell->budget)
        json_object_set_new(row, "budget", json_integer((json_int_t)cell->budget));
    json_object_set_new(row, "verdict", json_string(c->good      ? "accepted"
                                                       : c->refused ? "refused"
                                                       : c->covered ? "failed"
                                                                    : "not covered"));
    if (!c->good) {
        json_object_set_new(row, "reason", json_stringn_nocheck(c->verdict, strlen(c->verdict)));
        return row;
    }
    json_object_set_new(row, "open", json_real(c->open_ns));
    json_object_set_new(row, "declare", spread(c->declare, c->run_count, false));
    json_object_set_new(row, "compile", spread(c->compile, c->run_count, false));
    json_object_set_new(row, "total", spread(c->total, c->run_count, true));
    if (c->mode != HBS_COLD)
        json_object_set_new(row, "floor", json_real(hbs_spread_of(c->floor, c->run_count).median));
    if (c->run_count && !isnan(c->instructions[0]))
        json_object_set_new(row, "instructions", spread(c->instructions, c->run_count, false));
    if (c->phase_count) {
        json_t *phases = json_object();
        for (uint32_t p = 0; p < c->phase_count; p++)
            json_object_set_new(phases, c->phase_name[p], json_real(c->phase[p]));
        json_object_set_new(row, "phases", phases);
    }
    json_object_set_new(row, "allocations", optional_count(c->steady_allocations));
    json_object_set_new(row, "bytes", optional_count(c->counts.bytes));
    json_object_set_new(row, "peak_bytes", optional_count(c->counts.peak));
    json_object_set(row, "quality", c->quality);
    return row;
}

static uint64_t allocations_of(const contestant *c)
{
    hb_counts counts = {HB_UNKNOWN, HB_UNKNOWN, HB_UNKNOWN};
    c->loaded->adapter->counts(c->handle[c->handle_count - 1], &counts);
    return counts.allocations;
}

/* Turns of all until each has enough. */
static void run_turns(contestant *all, uint32_t count, double seconds, uint64_t *floor_out)
{
    int counter = open_counter();
    uint64_t until = hdi_clock_ns() + (uint64_t)(seconds * count * 1e9);
    for (uint32_t i = 0; i < count; i++) {
        if (all[i].good && all[i].mode != HBS_COLD) {
            run_turn(&all[i], -1, floor_out); /* a first turn that does not count: memory grows to what frames take */
            all[i].run_count = 0;
            all[i].steady_allocations = allocations_of(&all[i]);
        }
    }
    for (uint32_t run = 0; run < MOST_RUNS && (run < HBS_LEAST_RUNS || hdi_clock_ns() < until); run++) {
        for (uint32_t i = 0; i < count; i++) {
            if (all[i].good && all[i].mode != HBS_COLD)
                run_turn(&all[i], counter, floor_out);
            if (run == 0 && all[i].good && all[i].mode != HBS_COLD && all[i].steady_allocations != HB_UNKNOWN)
                all[i].steady_allocations = allocations_of(&all[i]) - all[i].steady_allocations;
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        if (all[i].good)
            all[i].loaded->adapter->counts(all[i].handle[0], &all[i].counts);
    }
    if (counter >= 0)
        close(counter);
}

bool hbs_measure_cell(const hbs_run *run, const hbs_cell *cell, json_t *rows)
{
    hd_graph *graph = NULL;
    variants v = {0};
    uint32_t count = 0, most = run->adapter_count * HBS_MODE_COUNT;
    contestant *all = calloc(most, sizeof(*all));
    uint64_t *floor_out = NULL;
    bool good = all && hd_graph_create(NULL, &graph) == HD_OK && make_variants(cell, graph, &v);
    if (good) {
        uint32_t uses = 0;
        for (uint32_t i = 0; i < v.count + v.changed; i++)
            uses = v.of[i]->use_count > uses ? v.of[i]->use_count : uses;
        good = (floor_out = calloc(3 * ((size_t)uses + 1), sizeof(*floor_out))) != NULL;
    }
    for (uint32_t a = 0; good && a < run->adapter_count; a++) {
        for (uint32_t mode = 0; mode < HBS_MODE_COUNT; mode++) {
            if (!cell->modes[mode])
                continue;
            contestant *c = &all[count++];
            c->loaded = &run->adapters[a];
            c->mode = (hbs_mode)mode;
            open_contestant(c, run, cell, &v, graph);
        }
    }
    if (good)
        run_turns(all, count, run->seconds, floor_out);
    for (uint32_t i = 0; i < count; i++) {
        contestant *c = &all[i];
        if (c->good && c->mode == HBS_COLD)
            run_cold(c, run, cell);
        time_phases(c, cell);
        json_array_append_new(rows, row_of(c, cell, &v));
        close_contestant(c);
        json_decref(c->quality);
    }
    free(floor_out);
    free(all);
    free_variants(&v);
    hd_graph_destroy(graph);
    return good;
}

/* ---- children ---- */

static void *open_alone(const hbs_run *run, const hbs_cell *cell, hd_graph **graph, hb_workload **workload)
{
    char error[128] = "no memory";
    hb_options options = {.order = cell->order, .workers = cell->workers};
    void *handle = NULL;
    if (hd_graph_create(NULL, graph) == HD_OK && hbs_declare(&cell->source, 0, *graph) &&
        (*workload = hbs_flatten(*graph, &cell->source)) != NULL)
        handle = run->adapters[0].adapter->open(*workload, &options, error, sizeof(error));
    if (!handle)
        fprintf(stderr, "heddle-bench: %s\n", error);
    return handle;
}

static void close_alone(const hbs_run *run, void *handle, hd_graph *graph, hb_workload *workload)
{
    if (handle)
        run->adapters[0].adapter->close(handle);
    hbs_free(workload);
    hd_graph_destroy(graph);
}

int hbs_cold_child(const hbs_run *run, const hbs_cell *cell)
{
    const hb_adapter *adapter = run->adapters[0].adapter;
    hd_graph *graph = NULL;
    hb_workload *workload = NULL;
    char verdict[HBS_VERDICT_BYTES] = "";
    int status = 2;
    void *handle = open_alone(run, cell, &graph, &workload);
    if (handle) {
        uint64_t began = hdi_clock_ns();
        int failed = adapter->declare(handle);
        uint64_t declared = hdi_clock_ns();
        failed |= adapter->compile(handle);
        uint64_t compiled = hdi_clock_ns();
        if (!failed && hbs_judge(adapter, handle, graph, NULL, verdict, sizeof(verdict)))
            status = printf("%llu %llu\n", (unsigned long long)(declared - began),
                            (unsigned long long)(compiled - declared)) < 0;
    }
    close_alone(run, handle, graph, workload);
    return status;
}

/* What callgrind counts. */
__attribute__((noinline)) int hbs_counted_frame(const hb_adapter *adapter, void *handle);
int hbs_counted_frame(const hb_adapter *adapter, void *handle)
{
    return adapter->declare(handle) | adapter->compile(handle);
}

int hbs_counted_child(const hbs_run *run, const hbs_cell *cell)
{
    enum { FRAMES = 3 };
    hd_graph *graph = NULL;
    hb_workload *workload = NULL;
    void *handle = open_alone(run, cell, &graph, &workload);
    int failed = !handle || run->adapters[0].adapter->declare(handle) || run->adapters[0].adapter->compile(handle);
    for (uint32_t i = 0; !failed && i < FRAMES; i++)
        failed = hbs_counted_frame(run->adapters[0].adapter, handle);
    if (!failed)
        printf("%u\n", workload->pass_count * FRAMES);
    close_alone(run, handle, graph, workload);
    return failed ? 2 : 0;
}
