#include <criterion/criterion.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "folder.h"
#include "heddle/graph.h"

/* The frame of an engine (samples/engine: two views, histories, samples that are resolved, streaming, readback) as its
 * report holds it: through .fgt, the compiler, the verifier, the plan's file, chains and page, and back unchanged. */

#define HEDDLE HEDDLE_BINARY_DIR "/samples/heddle/heddle "
#define ENGINE HEDDLE_BINARY_DIR "/samples/engine/engine --side 12 --size 96x64 --steady --out out "

/* What a driver keeps cannot be named once its library is unloaded: the sanitizer's look at leaks is for programs that
 * call the library themselves. */
static void enter(void)
{
    setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
    hdt_enter_folder();
}

static int run(const char *command)
{
    int status = system(command);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static char *read_file(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file, "%s", path);
    fseek(file, 0, SEEK_END);
    *bytes = (size_t)ftell(file);
    rewind(file);
    char *text = calloc(1, *bytes + 1);
    cr_assert_eq(fread(text, 1, *bytes, file), *bytes);
    fclose(file);
    return text;
}

static void make_report(void)
{
    int status = run(ENGINE "--frames 30 --exercise --report report >/dev/null");
    if (status == 2)
        cr_skip_test("no Vulkan 1.3 device");
    cr_assert_eq(status, 0);
}

static hd_graph *read_frame(void)
{
    size_t bytes;
    char error[512] = "", *text = read_file("report/frame.fgt", &bytes);
    hd_graph *graph;
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    cr_assert_eq(hd_graph_read_fgt(graph, text, bytes, "frame.fgt", error, sizeof(error)), HD_OK, "%s", error);
    free(text);
    return graph;
}

static hd_plan *read_plan(const hd_graph *graph)
{
    size_t bytes;
    char error[512] = "", *text = read_file("report/plan.json", &bytes);
    hd_plan *plan;
    cr_assert_eq(hd_plan_read_json(graph, text, bytes, NULL, &plan, error, sizeof(error)), HD_OK, "%s", error);
    free(text);
    return plan;
}

static void expect_same(const char *path, char *text, size_t bytes)
{
    size_t old_bytes;
    char *old = read_file(path, &old_bytes);
    cr_expect_eq(bytes, old_bytes, "%s", path);
    cr_expect(bytes == old_bytes && memcmp(text, old, bytes) == 0, "%s", path);
    free(old);
    free(text);
}

static void say(const char *text, void *user)
{
    (void)user;
    fprintf(stderr, "%s\n", text);
}

Test(engine, frame_comes_back_unchanged, .init = enter, .fini = hdt_leave_folder, .timeout = 120)
{
    make_report();
    hd_graph *graph = read_frame();
    const hd_compile_desc desc = *hd_graph_fgt_desc(graph);
    cr_assert_not_null(desc.size);
    char *text = NULL;
    size_t bytes;
    FILE *stream = open_memstream(&text, &bytes);
    cr_assert_eq(hd_graph_write_fgt_with(graph, &desc, stream), HD_OK);
    fclose(stream);
    expect_same("report/frame.fgt", text, bytes);

    /* What the device compiled is what is compiled without it. */
    hd_plan *plan = read_plan(graph);
    const hd_plan *compiled;
    cr_assert_eq(hd_graph_compile(graph, &desc, &compiled), HD_OK, "%s", hd_graph_error(graph)->text);
    cr_expect_eq(hd_plan_read(compiled).hash, hd_plan_read(plan).hash);
    hd_verify_desc verify = {.message = say, .size = desc.size, .size_user = desc.size_user};
    cr_expect_eq(hd_plan_verify(graph, plan, &verify), HD_OK);

    stream = open_memstream(&text, &bytes);
    cr_assert_eq(hd_plan_write_json(graph, plan, stream), HD_OK);
    fclose(stream);
    expect_same("report/plan.json", text, bytes);
    stream = open_memstream(&text, &bytes);
    hd_result page = hd_plan_write_html(graph, plan, stream);
    fclose(stream);
    cr_expect(page == HD_NO_PAGE || (page == HD_OK && bytes > 10000));
    free(text);

    uint32_t waves = hd_graph_pass_index(graph, hd_graph_find_pass(graph, "waves"));
    uint32_t scene = hd_graph_pass_index(graph, hd_graph_find_pass(graph, "scene"));
    const hd_chains *chains;
    cr_assert_eq(hd_plan_chains(graph, plan, waves, scene, NULL, &chains), HD_OK);
    cr_expect(chains->conflict && chains->chain_count > 0 && chains->chains[0].how == HD_CHAINED_LINKS);
    hd_chains_free(chains, NULL);
    hd_plan_free(plan, NULL);
    hd_graph_destroy(graph);
}

Test(engine, tools_take_the_report, .init = enter, .fini = hdt_leave_folder, .timeout = 120)
{
    make_report();
    cr_expect_eq(run(HEDDLE "verify report/frame.fgt report/plan.json >/dev/null"), 0);
    cr_expect_eq(run(HEDDLE "explain report/frame.fgt waves shadow | grep -q VERTEX"), 0);
    cr_expect_eq(run(HEDDLE "compile report/frame.fgt --verify --plan again.json --html page.html >/dev/null"), 0);
    cr_expect_eq(run("cmp -s again.json report/plan.json"), 0);
}

/* Starts the engine with what it prints on *out. */
static pid_t start(FILE **out)
{
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], 1);
        close(ends[0]);
        close(ends[1]);
        execl("/bin/sh", "sh", "-c", "exec " ENGINE "--frames 100000 --shaders shaders", (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    *out = fdopen(ends[0], "r");
    cr_assert(child > 0 && *out);
    return child;
}

/* A file is edited while frames go on: the new pipeline takes over. One with an error is refused, and frames go on. */
Test(engine, shaders_change_while_it_runs, .init = enter, .fini = hdt_leave_folder, .timeout = 120)
{
    if (run("command -v glslangValidator >/dev/null") != 0)
        cr_skip_test("no glslangValidator");
    cr_assert_eq(run("cp -r " HEDDLE_SOURCE_DIR "/samples/engine/shaders ."), 0);
    FILE *out;
    char line[512];
    unsigned swapped = 0, refused = 0;
    bool edited = false;
    pid_t engine = start(&out);
    while (fgets(line, sizeof(line), out)) {
        if (!edited && strstr(line, "frame           20"))
            edited = run("sed -i 's/0.55/0.65/' shaders/tone.comp") == 0;
        if (strstr(line, "1 pipelines taken over"))
            cr_expect_eq(run("echo nonsense >>shaders/glow.comp"), 0);
        if (strstr(line, "glow.comp stays as it was"))
            kill(engine, SIGINT); /* which ends it in good order */
        sscanf(line, "shaders %u pipelines swapped, %u files refused", &swapped, &refused);
    }
    fclose(out);
    int status;
    waitpid(engine, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 2 && !edited)
        cr_skip_test("no Vulkan 1.3 device");
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    cr_expect_eq(swapped, 1);
    cr_expect_eq(refused, 1);
}
