#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "measure.h"
#include "printed.h"
#include "quality_rows.h"
#include "scaling.h"
#include "workloads.h"

/* What a frame costs to declare and to compile, on one thread: medians in nanoseconds a pass.
 *
 * - floor: reads the declaration once, as compact as it can be, and writes 24 bytes a use; measured between the
 * compiles of the same run, so that a machine that slows down slows both.
 * - build: declares the frame through the public API.
 * - compile: a full compile; its phases are those of a frame of their own, as to time them takes time.
 * - ratio: (build + compile) / floor; marked where it is over 40, or over 60 for layered: the aims from 200 passes on.
 * - found: the compile of an unchanged frame, whose plan is found in the cache; marked over 8, which is the aim.
 * - B decl, B plan, B most, B kept: bytes a pass: allocated when the frame is declared; of the plan's block; the most
 * at once without the cache; what the cache holds for one plan.
 * - allocs: allocations of a second frame that is the same as the first, without and with the cache; to be 0+0.
 * - growth: ns a pass of the largest size over that of the smallest from 200 passes on.
 *
 * usage: bench_compile [--family NAME,...] [--passes N,...] [--queues 1|3,...] [--order overlap|memory|declared]
 *                      [--repeat N] [--seconds S] [--seed N] [--cost] [--csv] [--scaling]
 * --scaling: instead, what 1 to 16 workers make of it (bench/support/scaling.h), of deferred and layered unless others
 * are named. Without --repeat a row is repeated for --seconds (default 0.3), at least 3 times. */

enum { MOST_SIZES = 16, LEAST_REPEATS = 3 };

typedef struct options {
    bool family[HDB_FAMILY_COUNT], queue_set[HDB_QUEUE_SET_COUNT];
    uint32_t passes[MOST_SIZES], size_count, repeat;
    hd_order order;
    double seconds;
    uint64_t seed;
    bool cost, csv, scaling;
} options;

typedef struct samples {
    hdb_times floor, build, compile, found, phase[HD_PHASE_COUNT];
} samples;

/* Medians of one row, nanoseconds a pass. */
typedef struct figures {
    double floor, build, compile, found, phase[HD_PHASE_COUNT];
    double declared_bytes, plan_bytes, peak_bytes, kept_bytes; /* a pass */
    uint64_t allocations, found_allocations;
    uint32_t repeats;
} figures;

/* ---- command line ---- */

static bool parse_number(const char *text, size_t length, uint64_t *out)
{
    char digits[24], *end;

    if (length == 0 || length >= sizeof(digits) || text[0] < '0' || text[0] > '9')
        return false;
    memcpy(digits, text, length);
    digits[length] = 0;
    errno = 0;
    *out = strtoull(digits, &end, 10);
    return errno == 0 && *end == 0;
}

typedef bool (*take_fn)(options *o, const char *word, size_t length);

/* Each word of a list with commas. */
static bool each_word(options *o, const char *list, take_fn take)
{
    for (const char *at = list;; at++) {
        size_t length = strcspn(at, ",");
        if (!take(o, at, length))
            return false;
        at += length;
        if (!*at)
            return true;
    }
}

static bool take_family(options *o, const char *word, size_t length)
{
    char name[16];

    if (length >= sizeof(name))
        return false;
    memcpy(name, word, length);
    name[length] = 0;
    uint32_t family = hdb_family_index(name);
    if (family < HDB_FAMILY_COUNT)
        o->family[family] = true;
    return family < HDB_FAMILY_COUNT;
}

static bool take_size(options *o, const char *word, size_t length)
{
    uint64_t passes;

    if (!parse_number(word, length, &passes) || passes < 4 || passes > 1000000 || o->size_count == MOST_SIZES)
        return false;
    o->passes[o->size_count++] = (uint32_t)passes;
    return true;
}

static bool take_queues(options *o, const char *word, size_t length)
{
    uint64_t count;

    if (!parse_number(word, length, &count))
        return false;
    for (uint32_t q = 0; q < HDB_QUEUE_SET_COUNT; q++) {
        if (hdb_queue_sets[q].count == count)
            return o->queue_set[q] = true;
    }
    return false;
}

static bool take_option(options *o, int option, const char *value)
{
    uint64_t number = 0;
    char *end;

    switch (option) {
    case 'f':
        return each_word(o, value, take_family);
    case 'p':
        return each_word(o, value, take_size);
    case 'q':
        return each_word(o, value, take_queues);
    case 'o':
        for (int order = 0; order < 3; order++) {
            if (strcmp(value, hdb_order_names[order]) == 0) {
                o->order = (hd_order)order;
                return true;
            }
        }
        return false;
    case 'r':
        if (!parse_number(value, strlen(value), &number) || number < 1 || number > 1000000)
            return false;
        o->repeat = (uint32_t)number;
        return true;
    case 't':
        o->seconds = strtod(value, &end);
        return end != value && *end == 0 && o->seconds > 0;
    case 's':
        return parse_number(value, strlen(value), &o->seed);
    case 'c':
        return o->cost = true;
    case 'n':
        return o->scaling = true;
    default:
        return o->csv = true;
    }
}

static bool parse(int argc, char **argv, options *o)
{
    static const struct option longs[] = {
        {"family", required_argument, NULL, 'f'}, {"passes", required_argument, NULL, 'p'},
        {"queues", required_argument, NULL, 'q'}, {"order", required_argument, NULL, 'o'},
        {"repeat", required_argument, NULL, 'r'}, {"seconds", required_argument, NULL, 't'},
        {"seed", required_argument, NULL, 's'},   {"cost", no_argument, NULL, 'c'},
        {"csv", no_argument, NULL, 'v'},          {"scaling", no_argument, NULL, 'n'},
        {0},
    };
    bool none[HDB_FAMILY_COUNT] = {0};
    int option, index = 0;

    *o = (options){.seconds = 0.3, .seed = HDB_SEED};
    while ((option = getopt_long(argc, argv, "", longs, &index)) != -1) {
        if (option == '?')
            return false;
        if (!take_option(o, option, optarg)) {
            fprintf(stderr, "bench_compile: '%s' is no value for --%s\n", optarg, longs[index].name);
            return false;
        }
    }
    if (memcmp(o->family, none, sizeof(none)) == 0) {
        for (uint32_t family = 0; family < HDB_FAMILY_COUNT; family++)
            o->family[family] =
                !o->scaling || family == hdb_family_index("deferred") || family == hdb_family_index("layered");
    }
    if (memcmp(o->queue_set, none, sizeof(o->queue_set)) == 0)
        memset(o->queue_set, true, sizeof(o->queue_set));
    if (o->size_count == 0)
        each_word(o, o->scaling ? "50,200,1000,20000" : "50,200,1000,5000,20000", take_size);
    return optind == argc;
}

/* ---- measuring ---- */

enum { FIRST_PHASE = 4, TIMES_COUNT = FIRST_PHASE + HD_PHASE_COUNT };

static hdb_times *times_of(samples *s, uint32_t index)
{
    hdb_times *all[] = {&s->floor, &s->build, &s->compile, &s->found};

    return index < FIRST_PHASE ? all[index] : &s->phase[index - FIRST_PHASE];
}

/* One frame, nothing cached; its times join s where s is not null. */
static hd_result whole_frame(hdb_workload *workload, hd_graph *graph, const hd_compile_desc *desc, samples *s)
{
    const hd_plan *plan;
    uint64_t began = hdi_clock_ns();
    hdb_workload_declare(workload, graph);
    uint64_t declared = hdi_clock_ns();
    hd_result result = hd_graph_compile(graph, desc, &plan);
    uint64_t compiled = hdi_clock_ns();
    if (result == HD_OK && s &&
        !(hdb_times_add(&s->build, declared - began) && hdb_times_add(&s->compile, compiled - declared)))
        result = HD_OUT_OF_MEMORY;
    return result;
}

/* The same frame, for the times of its phases: to read the clock for them costs as much as two passes of it. */
static hd_result frame_by_phases(hdb_workload *workload, hd_graph *graph, hd_compile_desc *desc, samples *s)
{
    uint64_t phase_ns[HD_PHASE_COUNT];
    const hd_plan *plan;

    hdb_workload_declare(workload, graph);
    desc->phase_ns = phase_ns;
    hd_result result = hd_graph_compile(graph, desc, &plan);
    desc->phase_ns = NULL;
    for (int p = 0; result == HD_OK && p < HD_PHASE_COUNT; p++)
        if (!hdb_times_add(&s->phase[p], phase_ns[p]))
            result = HD_OUT_OF_MEMORY;
    return result;
}

static volatile uint64_t floor_sum; /* what is stored here cannot be left out */

/* The second of two runs, so that it stands for memory that is as near as the frame's size lets it be. */
static bool measure_floor(hdb_workload *workload, samples *s)
{
    floor_sum = hdb_workload_floor(workload);
    uint64_t began = hdi_clock_ns();
    floor_sum += hdb_workload_floor(workload);
    return hdb_times_add(&s->floor, hdi_clock_ns() - began);
}

static hd_result repeat(const options *o, hdb_workload *workload, hd_graph *graph, hd_compile_desc *desc, samples *s)
{
    uint64_t until = hdi_clock_ns() + (uint64_t)(o->seconds * 1e9);
    uint32_t least = o->repeat ? o->repeat : LEAST_REPEATS;
    hd_result result = HD_OK;

    for (uint32_t i = 0; result == HD_OK && (i < least || (!o->repeat && hdi_clock_ns() < until)); i++) {
        result = whole_frame(workload, graph, desc, s);
        if (result == HD_OK)
            result = frame_by_phases(workload, graph, desc, s);
        if (result == HD_OK && !measure_floor(workload, s))
            result = HD_OUT_OF_MEMORY;
    }
    return result;
}

/* Unchanged frames: the first keeps its plan, the others find it. No compiles between them, as in a steady engine. */
static hd_result find_repeatedly(const options *o, hdb_workload *workload, hd_graph *graph, hd_compile_desc *desc,
                                 const hdb_counted *counted, samples *s, figures *out)
{
    uint64_t until = 0, made = 0;
    hd_result result = HD_OK;

    desc->cache = HD_CACHE_ON;
    for (uint32_t i = 0; result == HD_OK && (i < 2 + LEAST_REPEATS || hdi_clock_ns() < until); i++) {
        const hd_plan *plan;
        if (i == 1)
            made = counted->made;
        hdb_workload_declare(workload, graph);
        uint64_t declared = hdi_clock_ns();
        result = hd_graph_compile(graph, desc, &plan);
        uint64_t found = hdi_clock_ns();
        if (i == 1) {
            out->found_allocations = counted->made - made;
            until = found + (uint64_t)(o->seconds * 0.25e9);
        } else if (i > 1 && result == HD_OK && !hdb_times_add(&s->found, found - declared)) {
            result = HD_OUT_OF_MEMORY;
        }
    }
    desc->cache = HD_CACHE_OFF;
    out->kept_bytes = (double)hd_graph_cache_stats(graph).bytes / hdb_workload_pass_count(workload);
    return result;
}

static void summarize(samples *s, uint32_t passes, figures *out)
{
    double *all[] = {&out->floor, &out->build, &out->compile, &out->found};

    out->repeats = s->compile.count;
    for (uint32_t t = 0; t < TIMES_COUNT; t++) {
        double *to = t < FIRST_PHASE ? all[t] : &out->phase[t - FIRST_PHASE];
        *to = hdb_times_median(times_of(s, t)) / passes;
        hdb_times_clear(times_of(s, t));
    }
}

/* The first frame for its memory, the second for its allocations; the most memory may be in either. */
static hd_result first_frames(hdb_workload *workload, hd_graph *graph, hd_compile_desc *desc,
                              const hdb_counted *counted, figures *out)
{
    double passes = hdb_workload_pass_count(workload);
    const hd_plan *plan;
    size_t plan_bytes;

    hdb_workload_declare(workload, graph);
    out->declared_bytes = (double)counted->bytes / passes;
    hd_result result = hd_graph_compile(graph, desc, &plan);
    if (result != HD_OK)
        return result;
    hd_plan_data(plan, &plan_bytes);
    out->plan_bytes = (double)plan_bytes / passes;
    uint64_t made = counted->made;
    result = whole_frame(workload, graph, desc, NULL);
    out->allocations = counted->made - made;
    out->peak_bytes = (double)counted->peak / passes;
    return result;
}

/* A row. */
static hd_result measure(const options *o, hdb_workload *workload, const hdb_queue_set *set, samples *s, figures *out)
{
    hdb_counted counted = {0};
    hd_graph_desc graph_desc = {.name = hdb_workload_name(workload), .allocator = hdb_counted_allocator(&counted)};
    hd_compile_desc desc = {.queues = set->queues, .queue_count = set->count, .order = o->order, .cache = HD_CACHE_OFF};
    uint32_t passes = hdb_workload_pass_count(workload);
    hd_graph *graph;
    hd_result result = hd_graph_create(&graph_desc, &graph);

    if (result == HD_OK)
        result = first_frames(workload, graph, &desc, &counted, out);
    if (result == HD_OK)
        result = repeat(o, workload, graph, &desc, s);
    if (result == HD_OK)
        result = find_repeatedly(o, workload, graph, &desc, &counted, s, out);
    summarize(s, passes, out);
    hd_graph_destroy(graph);
    return result;
}

/* ---- printing ---- */

static void print_head(const options *o)
{
    int processor;
    bool pinned = hdb_pin(&processor);

    if (o->csv) {
        printf("family,passes,queues,order,floor,build,compile,ratio,found");
        for (int p = 0; p < HD_PHASE_COUNT; p++)
            printf(",%s", hd_phase_name(p));
        printf(",declared_bytes,plan_bytes,peak_bytes,kept_bytes,allocations,found_allocations,repeats\n");
        return;
    }
    printf("order %s, seed %llu%s, one thread", hdb_order_names[o->order], (unsigned long long)o->seed,
           o->cost ? ", with costs" : "");
    printf(pinned ? " on processor %d" : " on any processor", processor);
    printf("; medians, ns a pass\n\n%-9s%7s%3s%7s%8s%9s%9s%9s%7s |", "family", "passes", "q", "floor", "build",
           "compile", "both", "ratio", "found");
    for (int p = 0; p < HD_PHASE_COUNT; p++)
        printf("%9s", hd_phase_name(p));
    printf(" |%7s%7s%7s%7s%8s%8s\n", "B decl", "B plan", "B most", "B kept", "allocs", "repeats");
}

static void print_row(const options *o, uint32_t family, uint32_t passes, const hdb_queue_set *set, const figures *f)
{
    double both = f->build + f->compile, ratio = f->floor > 0 ? both / f->floor : 0;

    if (o->csv) {
        printf("%s,%u,%u,%s,%.3f,%.2f,%.2f,%.2f,%.2f", hdb_family_names[family], passes, set->count,
               hdb_order_names[o->order], f->floor, f->build, f->compile, ratio, f->found);
        for (int p = 0; p < HD_PHASE_COUNT; p++)
            printf(",%.2f", f->phase[p]);
        printf(",%.0f,%.0f,%.0f,%.0f,%llu,%llu,%u\n", f->declared_bytes, f->plan_bytes, f->peak_bytes, f->kept_bytes,
               (unsigned long long)f->allocations, (unsigned long long)f->found_allocations, f->repeats);
    } else {
        double aim = family == hdb_family_index("layered") ? 60 : 40;
        printf("%-9s%7u%3u%7.2f%8.1f%9.1f%9.1f%9.1f%c%6.1f%c|", hdb_family_names[family], passes, set->count, f->floor,
               f->build, f->compile, both, ratio, ratio > aim ? '*' : ' ', f->found, f->found > 8 ? '*' : ' ');
        for (int p = 0; p < HD_PHASE_COUNT; p++)
            printf("%9.1f", f->phase[p]);
        printf(" |%7.0f%7.0f%7.0f%7.0f%6llu+%llu%8u\n", f->declared_bytes, f->plan_bytes, f->peak_bytes, f->kept_bytes,
               (unsigned long long)f->allocations, (unsigned long long)f->found_allocations, f->repeats);
    }
    fflush(stdout);
}

/* Of the rows from 200 passes on: how much dearer a pass is in the largest. */
static void print_growth(const options *o, const figures (*f)[HDB_QUEUE_SET_COUNT])
{
    uint32_t small = MOST_SIZES, large = MOST_SIZES;

    for (uint32_t s = 0; s < o->size_count; s++) {
        if (o->passes[s] < 200)
            continue;
        small = small == MOST_SIZES || o->passes[s] < o->passes[small] ? s : small;
        large = large == MOST_SIZES || o->passes[s] > o->passes[large] ? s : large;
    }
    if (o->csv || small == large)
        return;
    for (uint32_t q = 0; q < HDB_QUEUE_SET_COUNT; q++) {
        const figures *a = &f[small][q], *b = &f[large][q];
        if (a->repeats && b->repeats)
            printf("%*sgrowth %u to %u passes, %u queue%s: %.2f\n", 9, "", o->passes[small], o->passes[large],
                   hdb_queue_sets[q].count, hdb_queue_sets[q].count == 1 ? "" : "s",
                   (b->build + b->compile) / (a->build + a->compile));
    }
}

/* ---- all rows ---- */

static hd_result run_family(const options *o, uint32_t family, samples *s)
{
    figures f[MOST_SIZES][HDB_QUEUE_SET_COUNT] = {{{0}}};

    for (uint32_t size = 0; size < o->size_count; size++) {
        hdb_workload *workload = hdb_workload_make(family, o->passes[size], o->seed, o->cost);
        hd_result result = workload ? HD_OK : HD_OUT_OF_MEMORY;
        for (uint32_t q = 0; result == HD_OK && q < HDB_QUEUE_SET_COUNT; q++) {
            if (!o->queue_set[q])
                continue;
            result = measure(o, workload, &hdb_queue_sets[q], s, &f[size][q]);
            if (result == HD_OK)
                print_row(o, family, o->passes[size], &hdb_queue_sets[q], &f[size][q]);
        }
        hdb_workload_free(workload);
        if (result != HD_OK)
            return result;
    }
    print_growth(o, f);
    return HD_OK;
}

int main(int argc, char **argv)
{
    options o;
    samples s = {0};
    hd_result result = HD_OK;

    if (!parse(argc, argv, &o)) {
        fprintf(stderr, "usage: bench_compile [--family NAME,...] [--passes N,...] [--queues 1|3,...]\n"
                        "                     [--order overlap|memory|declared] [--repeat N] [--seconds S] [--seed N] "
                        "[--cost] [--csv] [--scaling]\n");
        return 1;
    }
    if (o.scaling) {
        hdb_scaling_options scaling = {.passes = o.passes, .size_count = o.size_count, .order = o.order, .seed = o.seed,
                                       .seconds = o.seconds, .cost = o.cost};
        memcpy(scaling.family, o.family, sizeof(o.family));
        memcpy(scaling.queue_set, o.queue_set, sizeof(o.queue_set));
        result = hdb_scaling(&scaling);
        if (result != HD_OK)
            fprintf(stderr, "bench_compile: %s\n", hd_result_text(result));
        return hdb_printed(result == HD_OK ? 0 : 2);
    }
    print_head(&o);
    for (uint32_t family = 0; result == HD_OK && family < HDB_FAMILY_COUNT; family++) {
        if (o.family[family])
            result = run_family(&o, family, &s);
    }
    for (uint32_t t = 0; t < TIMES_COUNT; t++)
        hdb_times_free(times_of(&s, t));
    if (result != HD_OK)
        fprintf(stderr, "bench_compile: %s\n", hd_result_text(result));
    return hdb_printed(result == HD_OK ? 0 : 2);
}
