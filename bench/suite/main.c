#include "suite.h"

#include <dlfcn.h>
#include <errno.h>
#include <getopt.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "adapters.h"
#include "sections.h"

/* heddle-bench: one program for all that is measured. bench/README.md says what each part is for. */

static const char usage[] =
    "usage: heddle-bench [options]                compile times of frame graphs, beside the quality of their plans\n"
    "       heddle-bench --compare A.json B.json  what changed between two runs; ~ where the samples do not differ\n"
    "       heddle-bench --merge FILE.json... [--json FILE] [--html FILE] [--csv FILE]\n"
    "       heddle-bench SECTION [options]        quality, verify, execute, record, jobs: see SECTION --help\n"
    "\n"
    "  --quick            fewer and shorter rows: under one minute\n"
    "  --filter TEXT,...  rows that have one of the words, such as deferred, deferred-1000, q3, turns, w2\n"
    "  --adapter FILE.so  one more implementation (bench/adapter.h); may stand several times\n"
    "  --only NAME,...    these adapters only\n"
    "  --fgt FILE         one more frame; may stand several times\n"
    "  --seed N           of the first variant of a family (default 1)\n"
    "  --cost             families with costs of passes\n"
    "  --seconds S        at least so long for each row (default 0.5, with --quick 0.05); never under 9 runs\n"
    "  --json FILE        results with all samples\n"
    "  --csv FILE         a line a row\n"
    "  --html FILE        the report as a page\n"
    "  --baseline FILE    results of an earlier run: the report shows what changed\n"
    "  --keep FOLDER      writes each rejected plan (.json) and its frame (.fgt) there, for 'heddle verify'\n"
    "  --instructions     instead: instructions a pass by callgrind, exact\n"
    "\n"
    "A FILE may be - for standard output. Exit status: 0 done; 1 a wrong command line; 2 a failure; 3 some adapter's plan\n"
    "was not accepted.\n";

enum { MOST_FILES = 32, MOST_CELLS = 512 };

typedef struct options {
    bool quick, cost, instructions;
    const char *filter, *only, *json, *csv, *html, *baseline;
    const char *fgt[MOST_FILES];
    uint32_t fgt_count;
    uint64_t seed;
    double seconds;
} options;

/* ---- cells ---- */

typedef struct cells {
    hbs_cell list[MOST_CELLS];
    uint32_t count;
} cells;

/* Whether one of the words of a comma list is in the text; no list: yes. */
static bool has_word(const char *list, const char *text)
{
    if (!list)
        return true;
    for (const char *at = list;; at++) {
        char word[64];
        size_t length = strcspn(at, ",");
        snprintf(word, sizeof(word), "%.*s", (int)length, at);
        if (word[0] && strstr(text, word))
            return true;
        at += length;
        if (!*at)
            return false;
    }
}

static void add_cell(cells *all, const options *o, hbs_source source, uint32_t workers, uint64_t budget,
                     uint32_t modes)
{
    hbs_cell cell = {.source = source, .order = HB_ORDER_OVERLAP, .workers = workers, .budget = budget};
    bool some = false;
    for (uint32_t mode = 0; mode < HBS_MODE_COUNT; mode++) {
        char text[128];
        snprintf(text, sizeof(text), "%s-%u q%u %s w%u%s", source.family, source.passes, source.queues,
                 hbs_mode_names[mode], workers, budget ? " budget" : "");
        cell.modes[mode] = modes >> mode & 1 && has_word(o->filter, text);
        some |= cell.modes[mode];
    }
    if (some && all->count < MOST_CELLS)
        all->list[all->count++] = cell;
}

static void add_family(cells *all, const options *o, const char *family, uint32_t passes, uint32_t modes)
{
    for (uint32_t queues = 1; queues <= 3; queues += 2) {
        hbs_source source = {.passes = passes, .seed = o->seed, .cost = o->cost, .queues = queues};
        snprintf(source.family, sizeof(source.family), "%s", family);
        add_cell(all, o, source, 1, 0, modes);
    }
}

static void add_file(cells *all, const options *o, const char *file)
{
    for (uint32_t queues = 1; queues <= 3; queues += 2) {
        hbs_source source = {.queues = queues};
        const char *base = strrchr(file, '/');
        base = base ? base + 1 : file;
        snprintf(source.family, sizeof(source.family), "%.*s", (int)strcspn(base, "."), base);
        snprintf(source.file, sizeof(source.file), "%s", file);
        hd_graph *graph = NULL;
        if (hd_graph_create(NULL, &graph) == HD_OK && hbs_declare(&source, 0, graph)) {
            source.passes = hd_graph_pass_count(graph);
            add_cell(all, o, source, 1, 0, 1 << HBS_TURNS | 1 << HBS_UNCHANGED | 1 << HBS_COLD);
        }
        hd_graph_destroy(graph);
    }
}

static void add_cells(cells *all, const options *o)
{
    static const uint32_t sizes[] = {50, 200, 1000, 5000, 20000};
    static const uint64_t budgets[] = {192ull << 20, 400ull << 20, 1ull << 30, 4ull << 30};
    enum { SIX = 6, ALL_MODES = (1 << HBS_MODE_COUNT) - 1, TURNS = 1 << HBS_TURNS };
    for (uint32_t f = 0; hbs_families[f]; f++) {
        bool regular = f < SIX;
        for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
            uint32_t passes = sizes[s];
            bool some = o->quick ? (regular ? passes == 200 || passes == 1000 : passes == 1000)
                                 : regular || passes == 1000 || passes == 5000;
            if (some)
                add_family(all, o, hbs_families[f], passes, regular && passes == 1000 ? ALL_MODES : TURNS);
        }
    }
    if (!o->quick)
        add_family(all, o, "readers", 10000, TURNS);
    for (size_t b = 0; b < sizeof(budgets) / sizeof(budgets[0]); b++) {
        for (uint32_t f = 0; f < SIX; f++) {
            hbs_source source = {.passes = 1000, .seed = o->seed, .cost = o->cost, .queues = 1};
            snprintf(source.family, sizeof(source.family), "%s", hbs_families[f]);
            if (!o->quick || f < 2) /* deferred and layered */
                add_cell(all, o, source, 1, budgets[b], TURNS);
        }
    }
    for (uint32_t workers = 2; workers <= (uint32_t)sysconf(_SC_NPROCESSORS_ONLN); workers *= 2) {
        hbs_source source = {.family = "deferred", .passes = 20000, .seed = o->seed, .cost = o->cost, .queues = 1};
        if (!o->quick) {
            add_cell(all, o, source, workers, 0, TURNS);
            snprintf(source.family, sizeof(source.family), "layered");
            add_cell(all, o, source, workers, 0, TURNS);
        }
    }
    /* Frames of the samples, as they wrote them. */
    glob_t frames;
    if (glob(HEDDLE_BENCH_DIR "/frames/*.fgt", 0, NULL, &frames) == 0) {
        for (size_t i = 0; i < frames.gl_pathc; i++)
            add_file(all, o, frames.gl_pathv[i]);
        globfree(&frames);
    }
    for (uint32_t i = 0; i < o->fgt_count; i++)
        add_file(all, o, o->fgt[i]);
}

/* ---- adapters ---- */

static bool load_adapter(const char *file, hbs_run *run)
{
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    hb_adapter_get_fn get = library ? (hb_adapter_get_fn)(uintptr_t)dlsym(library, HB_ADAPTER_SYMBOL) : NULL;
    const hb_adapter *adapter = get ? get() : NULL;
    if (!adapter || adapter->interface != HB_INTERFACE) {
        fprintf(stderr, "heddle-bench: %s: %s\n", file,
                !library ? dlerror() : !get ? "no symbol " HB_ADAPTER_SYMBOL : "of another interface version");
        return false;
    }
    if (run->adapter_count == HBS_MOST_ADAPTERS) {
        fprintf(stderr, "heddle-bench: more than %d adapters\n", HBS_MOST_ADAPTERS);
        return false;
    }
    hbs_loaded *loaded = &run->adapters[run->adapter_count++];
    loaded->adapter = adapter;
    snprintf(loaded->file, sizeof(loaded->file), "%s", file);
    return true;
}

/* Those that --only names. */
static void choose_adapters(hbs_run *run, const char *only)
{
    uint32_t count = 0;
    for (uint32_t a = 0; a < run->adapter_count; a++) {
        if (has_word(only, run->adapters[a].adapter->name()))
            run->adapters[count++] = run->adapters[a];
    }
    run->adapter_count = count;
}

/* ---- output ---- */

typedef bool (*write_fn)(FILE *f, const json_t *results);

static bool write_json(FILE *f, const json_t *results)
{
    return json_dumpf(results, f, JSON_INDENT(1) | JSON_REAL_PRECISION(6)) == 0 && fputc('\n', f) != EOF;
}

static bool write_to(const char *path, write_fn write, const json_t *results)
{
    if (!path)
        return true;
    FILE *f = strcmp(path, "-") == 0 ? stdout : fopen(path, "w");
    bool good = f && write(f, results);
    if (f && f != stdout)
        good &= fclose(f) == 0;
    if (!good)
        fprintf(stderr, "heddle-bench: %s: %s\n", path, errno ? strerror(errno) : "not written");
    return good;
}

static bool write_all(const options *o, json_t *results)
{
    json_t *before = o->baseline ? hbs_load(o->baseline) : NULL;
    if (o->baseline && !before)
        return false;
    if (before)
        hbs_set_baseline(results, before);
    json_decref(before);
    bool json = write_to(o->json, write_json, results), csv = write_to(o->csv, hbs_write_csv, results);
    return write_to(o->html, hbs_write_html, results) && json && csv;
}

static void show_progress(uint32_t done, uint32_t count, const hbs_cell *cell)
{
    enum { WIDTH = 32 };
    if (!isatty(STDERR_FILENO))
        return;
    char bar[WIDTH + 1];
    for (uint32_t i = 0; i < WIDTH; i++)
        bar[i] = i * count < done * WIDTH ? '#' : '.';
    bar[WIDTH] = 0;
    if (cell)
        fprintf(stderr, "\r[%s] %u/%u %-24s q%u ", bar, done, count, cell->source.family, cell->source.queues);
    else
        fprintf(stderr, "\r%*s\r", WIDTH + 64, "");
}

/* ---- instructions ---- */

/* Of one cell and adapter, by callgrind; NAN-like -1: valgrind is not here, or the child failed. */
static double count_instructions(const hbs_run *run, const hbs_loaded *loaded, const hbs_cell *cell)
{
    char command[1024], line[256];
    double collected = -1, passes = 0;
    const hbs_source *s = &cell->source;
    snprintf(command, sizeof(command),
             "valgrind --tool=callgrind --callgrind-out-file=/dev/null --collect-atstart=no "
             "--toggle-collect=hbs_counted_frame '%s' --counted-child '%s%s' %u %llu %u %u %u '%s' 2>&1",
             run->program, s->file[0] ? "@" : "", s->file[0] ? s->file : s->family, s->passes,
             (unsigned long long)s->seed, s->queues, cell->order, cell->workers,
             loaded->file[0] ? loaded->file : loaded->adapter->name());
    FILE *child = popen(command, "r");
    while (child && fgets(line, sizeof(line), child)) {
        const char *at = strstr(line, "Collected :");
        if (at)
            collected = strtod(at + strlen("Collected :"), NULL);
        else if (line[0] != '=')
            passes = strtod(line, NULL);
    }
    if (child && pclose(child) != 0)
        return -1;
    return passes > 0 ? collected / passes : -1;
}

static int print_instructions(const hbs_run *run, const cells *all)
{
    printf("instructions a pass, declare and compile, by callgrind\n%-20s%3s", "workload", "q");
    for (uint32_t a = 0; a < run->adapter_count; a++)
        printf("%14.14s", run->adapters[a].adapter->name());
    printf("\n");
    for (uint32_t i = 0; i < all->count; i++) {
        const hbs_cell *cell = &all->list[i];
        if (!cell->modes[HBS_TURNS] || cell->workers > 1)
            continue;
        char name[64];
        snprintf(name, sizeof(name), "%s-%u", cell->source.family, cell->source.passes);
        printf("%-20s%3u", name, cell->source.queues);
        for (uint32_t a = 0; a < run->adapter_count; a++) {
            double count = count_instructions(run, &run->adapters[a], cell);
            if (count < 0)
                printf("%14s", "-");
            else
                printf("%14.0f", count);
            fflush(stdout);
        }
        printf("\n");
    }
    return 0;
}

/* ---- commands ---- */

/* CHILD SOURCE PASSES SEED QUEUES ORDER WORKERS ADAPTER */
static int run_child(hbs_run *run, char **argv, int (*child)(const hbs_run *run, const hbs_cell *cell))
{
    hbs_cell cell = {.source = {.passes = (uint32_t)strtoul(argv[1], NULL, 10), .seed = strtoull(argv[2], NULL, 10),
                                .queues = (uint32_t)strtoul(argv[3], NULL, 10)},
                     .order = (uint32_t)strtoul(argv[4], NULL, 10),
                     .workers = (uint32_t)strtoul(argv[5], NULL, 10)};
    if (argv[0][0] == '@')
        snprintf(cell.source.file, sizeof(cell.source.file), "%s", argv[0] + 1);
    else
        snprintf(cell.source.family, sizeof(cell.source.family), "%s", argv[0]);
    bool built_in = false;
    for (uint32_t a = 0; a < run->adapter_count && !built_in; a++) {
        built_in = strcmp(run->adapters[a].adapter->name(), argv[6]) == 0;
        if (built_in)
            run->adapters[0] = run->adapters[a];
    }
    if (!built_in) {
        run->adapter_count = 0;
        if (!load_adapter(argv[6], run))
            return 2;
    }
    return child(run, &cell);
}

static int compare(char **argv)
{
    json_t *before = hbs_load(argv[0]), *after = before ? hbs_load(argv[1]) : NULL;
    if (after)
        hbs_print_comparison(stdout, before, after);
    json_decref(before);
    json_decref(after);
    return after ? 0 : 2;
}

static int merge(const options *o, char **argv, uint32_t count)
{
    json_t *results[MOST_FILES] = {0};
    bool good = count <= MOST_FILES;
    for (uint32_t i = 0; good && i < count; i++)
        good = (results[i] = hbs_load(argv[i])) != NULL;
    if (good) {
        json_t *all = hbs_merge((const json_t *const *)results, count);
        if (!o->json && !o->csv && !o->html)
            hbs_print_rows(stdout, all);
        good = write_all(o, all);
        json_decref(all);
    }
    for (uint32_t i = 0; i < count && i < MOST_FILES; i++)
        json_decref(results[i]);
    return good ? 0 : 2;
}

/* 3 where some plan was not accepted. */
static int status_of(const json_t *rows)
{
    size_t i;
    const json_t *row;
    json_array_foreach(rows, i, row) {
        if (strcmp(hbs_text(row, "verdict"), "failed") == 0)
            return 3;
    }
    return 0;
}

static int run_all(const hbs_run *run, const options *o, const cells *all)
{
    json_t *rows = json_array();
    json_t *results = json_pack("{s:i, s:[o], s:o}", "heddle-bench", 1, "environments", hbs_environment(), "rows", rows);
    bool good = results != NULL;
    for (uint32_t i = 0; good && i < all->count; i++) {
        show_progress(i, all->count, &all->list[i]);
        good = hbs_measure_cell(run, &all->list[i], rows);
    }
    show_progress(all->count, all->count, NULL);
    if (good && !(o->json && strcmp(o->json, "-") == 0) && !(o->csv && strcmp(o->csv, "-") == 0))
        hbs_print_rows(stdout, results);
    good = good && write_all(o, results);
    int status = good ? status_of(rows) : 2;
    json_decref(results);
    return status;
}

static bool take_option(int option, const char *value, options *o, hbs_run *run)
{
    char *end = NULL;
    switch (option) {
    case 'q': o->quick = true; return true;
    case 'f': o->filter = value; return true;
    case 'a': return load_adapter(value, run);
    case 'o': o->only = value; return true;
    case 'g':
        if (o->fgt_count < MOST_FILES)
            o->fgt[o->fgt_count++] = value;
        return true;
    case 's': o->seed = strtoull(value, &end, 10); return end != value && !*end;
    case 'c': o->cost = true; return true;
    case 't': o->seconds = strtod(value, &end); return end != value && !*end && o->seconds > 0;
    case 'j': o->json = value; return true;
    case 'v': o->csv = value; return true;
    case 'h': o->html = value; return true;
    case 'b': o->baseline = value; return true;
    case 'i': o->instructions = true; return true;
    case 'k': run->keep = value; return true;
    default: return false;
    }
}

int main(int argc, char **argv)
{
    enum { COMPARE = 1000, MERGE, COLD, COUNTED, HELP };
    static const struct option longs[] = {
        {"quick", no_argument, NULL, 'q'},         {"filter", required_argument, NULL, 'f'},
        {"adapter", required_argument, NULL, 'a'}, {"only", required_argument, NULL, 'o'},
        {"fgt", required_argument, NULL, 'g'},     {"seed", required_argument, NULL, 's'},
        {"cost", no_argument, NULL, 'c'},          {"seconds", required_argument, NULL, 't'},
        {"baseline", required_argument, NULL, 'b'}, {"json", required_argument, NULL, 'j'},    {"csv", required_argument, NULL, 'v'},
        {"html", required_argument, NULL, 'h'},    {"instructions", no_argument, NULL, 'i'},
        {"keep", required_argument, NULL, 'k'},
        {"compare", no_argument, NULL, COMPARE},   {"merge", no_argument, NULL, MERGE},
        {"cold-child", no_argument, NULL, COLD},   {"counted-child", no_argument, NULL, COUNTED},
        {"help", no_argument, NULL, HELP},         {0},
    };
    options o = {.seed = 1};
    hbs_run run = {.program = "/proc/self/exe"};
    static cells all;
    char program[512];
    int option, command = 0;
    ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
    if (length > 0) {
        program[length] = 0;
        run.program = program;
    }
    run.adapters[run.adapter_count++].adapter = &hb_heddle;
    run.adapters[run.adapter_count++].adapter = &hb_textbook;
    if (argc > 1 && argv[1][0] != '-')
        return hbs_section(argc - 1, argv + 1);
    while ((option = getopt_long(argc, argv, "", longs, NULL)) != -1) {
        if (option == HELP)
            return fputs(usage, stdout) < 0 ? 2 : 0;
        if (option >= COMPARE)
            command = option;
        else if (option == '?' || !take_option(option, optarg, &o, &run)) {
            fprintf(stderr, "heddle-bench: see --help\n");
            return 1;
        }
    }
    int left = argc - optind;
    if (command == COMPARE && left == 2)
        return compare(argv + optind);
    if (command == MERGE && left > 0)
        return merge(&o, argv + optind, (uint32_t)left);
    if ((command == COLD || command == COUNTED) && left == 7)
        return run_child(&run, argv + optind, command == COLD ? hbs_cold_child : hbs_counted_child);
    if (command || left) {
        fputs(usage, stderr);
        return 1;
    }
    choose_adapters(&run, o.only);
    run.seconds = o.seconds > 0 ? o.seconds : o.quick ? 0.05 : 0.5;
    add_cells(&all, &o);
    if (all.count == 0 || run.adapter_count == 0) {
        fprintf(stderr, "heddle-bench: nothing to measure: no row or no adapter has these words\n");
        return 1;
    }
    return o.instructions ? print_instructions(&run, &all) : run_all(&run, &o, &all);
}
