#include <criterion/criterion.h>

#include <heddle/capture.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "random_graph.h"
#include "run.h"
#include "stream_mutate.h"
#include "vk_fixture.h"
#include "workloads.h"

/* What the executor really gives to Vulkan, on the test device with three families, several frames in flight: captured
 * while graphs run for real, and verified. Then the captured streams are broken in single ways. HEDDLE_SEED replays one
 * random graph, HEDDLE_SEEDS sets how many there are. */

#if defined(__SANITIZE_ADDRESS__)
#define SLOW 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SLOW 1
#endif
#endif
#ifdef SLOW
enum { FRAMES = 5, PLACES = 4, GRAPHS = 3 };
#else
enum { FRAMES = 5, PLACES = 24, GRAPHS = 8 }; /* places: of each kind, where one stream is broken */
#endif

typedef struct note {
    unsigned count, content; /* content: of undefined content, not in count */
    char first[800];
} note;

static void take(const char *text, void *user)
{
    note *n = user;
    if (strncmp(text, "content:", 8) == 0)
        n->content++;
    else if (n->count++ == 0)
        snprintf(n->first, sizeof(n->first), "%s", text);
}

static hd_result verify(const hd_stream *stream, note *n)
{
    *n = (note){0};
    return hd_stream_verify(stream, &(hd_verify_desc){.message = take, .user = n, .max_messages = 10000});
}

/* Runs a graph and captures it from the making of the device on. */
static hd_stream *capture(const hd_graph *graph, uint32_t scale, uint32_t frames_in_flight, hd_jobs *jobs)
{
    char error[512] = "";
    run_report report = {0};
    hd_stream *stream = NULL;
    hdt_vk_keep_libraries();
    hdt_vk_three_families(true, 0);
    cr_assert_eq(hd_capture_open(&(hd_capture_desc){.get_instance_proc = hdt_vk_hooked}), HD_OK);
    cr_assert_eq(hd_capture_begin(), HD_OK);
    run_desc desc = {.graph = graph, .frames = FRAMES, .scale = scale, .check = true};
    desc.vk.get_instance_proc = hd_capture_get_instance_proc;
    desc.vk.frames_in_flight = frames_in_flight;
    desc.vk.jobs = jobs;
    hd_result result = run_graph(&desc, &report, error, sizeof(error));
    if (hdt_vk_none(result)) {
        hd_capture_close();
        cr_skip_test("no Vulkan 1.3 device: %s", error);
    }
    cr_assert_eq(result, HD_OK, "%s", error);
    cr_expect_eq(report.wrong, 0);
    run_report_free(&report);
    cr_assert_eq(hd_capture_end(&stream), HD_OK);
    hd_capture_close();
    return stream;
}

static hd_graph *workload(uint32_t family, uint32_t pass_count)
{
    hd_graph *graph;
    hdb_workload *w = hdb_workload_make(family, pass_count, 1, true);
    cr_assert_not_null(w);
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    hdb_workload_declare(w, graph);
    hdb_workload_free(w);
    return graph;
}

static char *text_of(const hd_stream *stream, size_t *bytes)
{
    char *text = NULL;
    FILE *file = open_memstream(&text, bytes);
    cr_assert_eq(hd_stream_write(stream, file), HD_OK);
    fclose(file);
    return text;
}

/* Through a file and back: the same bytes, the same verdict. */
static void expect_round_trip(const hd_stream *stream)
{
    size_t bytes, again_bytes;
    char *text = text_of(stream, &bytes), error[256] = "";
    hd_stream *read;
    cr_assert_eq(hd_stream_read(text, bytes, NULL, &read, error, sizeof(error)), HD_OK, "%s", error);
    char *again = text_of(read, &again_bytes);
    cr_expect(bytes == again_bytes && memcmp(text, again, bytes) == 0, "a file changes on its way");
    note n;
    note m;
    cr_expect_eq(verify(read, &n), verify(stream, &m));
    cr_expect(n.count == m.count && n.content == m.content);
    hd_stream_free(read);
    free(again);
    free(text);
}

/* Random graphs read histories of what the frame before has not written as a whole: undefined content by declaration.
 * True: there is none of that either. */
static bool expect_clean(const hd_stream *stream, const char *what, uint64_t seed)
{
    note n;
    hd_result result = verify(stream, &n);
    cr_expect_eq(n.count, 0, "%s %llu: %u messages, first: %s", what, (unsigned long long)seed, n.count, n.first);
    cr_expect_eq(result, n.content ? HD_PLAN_INVALID : HD_OK);
    cr_expect_eq(stream->unseen, 0);
    const char *path = getenv("HEDDLE_KEEP"); /* the first stream that fails, to look at */
    if (n.count && path) {
        FILE *file = fopen(path, "wx");
        if (file) {
            hd_stream_write(stream, file);
            fclose(file);
        }
    }
    return n.content == 0;
}

/* ---- mutants ---- */

static unsigned made[HDT_MUTATION_COUNT], caught[HDT_MUTATION_COUNT];

static void break_it(const hd_stream *stream, uint64_t seed)
{
    for (int m = 0; m < HDT_MUTATION_COUNT; m++) {
        uint32_t places = hdt_mutation_places(stream, (hdt_mutation)m), count = places < PLACES ? places : PLACES;
        for (uint32_t i = 0; i < count; i++) {
            hd_stream *mutant;
            uint32_t place = count < places ? hdt_below(&seed, places) : i;
            cr_assert_eq(hd_stream_copy(stream, &mutant), HD_OK);
            hdt_mutate(mutant, (hdt_mutation)m, place);
            hd_result result = hd_stream_verify(mutant, NULL);
            cr_expect(result == HD_OK || result == HD_PLAN_INVALID);
            made[m]++;
            caught[m] += result == HD_PLAN_INVALID;
            if (result == HD_OK && getenv("HEDDLE_ALIVE"))
                printf("alive: %s at %u\n", hdt_mutation_name((hdt_mutation)m), place);
            hd_stream_free(mutant);
        }
    }
}

static void print_mutants(void)
{
    for (int m = 0; m < HDT_MUTATION_COUNT; m++)
        printf("%-28s %5u of %5u caught\n", hdt_mutation_name((hdt_mutation)m), caught[m], made[m]);
}

/* ---- tests ---- */

Test(capture, families_of_frames, .timeout = 100)
{
    for (uint32_t family = 0; family < HDB_FAMILY_COUNT; family++) {
        hd_graph *graph = workload(family, 40);
        hd_stream *stream = capture(graph, 16, 2, NULL);
        cr_expect(expect_clean(stream, hdb_family_names[family], 0));
        expect_round_trip(stream);
        printf("%s: %u submits, %u commands, %u accesses, %u barriers\n", hdb_family_names[family],
               stream->submit_count, stream->command_count, stream->access_count, stream->barrier_count);
        break_it(stream, family);
        hd_stream_free(stream);
        hd_graph_destroy(graph);
    }
    print_mutants();
}

/* 23 and 1137: host passes read, as a history, what the frame before wrote on the GPU. */
static const uint64_t known[] = {23, 1137};

Test(capture, random_graphs, .timeout = 100)
{
    uint64_t first = 1, count = GRAPHS;
    hdt_seeds(&first, &count);
    hd_graph *graph;
    hd_jobs *jobs;
    unsigned broken = 0;
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    cr_assert_eq(hd_jobs_create(&(hd_jobs_desc){.worker_count = 3}, &jobs), HD_OK);
    uint64_t more = getenv("HEDDLE_SEED") ? 0 : sizeof(known) / sizeof(known[0]);
    for (uint64_t i = 0; i < count + more; i++) {
        uint64_t seed = i < count ? first + i : known[i - count];
        hdt_random_executable_graph(graph, seed, 20 + (uint32_t)(seed % 20));
        hd_stream *stream = capture(graph, 1, 2 + (uint32_t)(seed % 2), seed % 2 ? jobs : NULL);
        bool clean = expect_clean(stream, "HEDDLE_SEED", seed);
        expect_round_trip(stream);
        if (clean && broken++ < 4)
            break_it(stream, seed);
        hd_stream_free(stream);
    }
    print_mutants();
    hd_jobs_destroy(jobs);
    hd_graph_destroy(graph);
}
