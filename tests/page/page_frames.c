/* Writes the pages that tests/page/run looks at in a browser: a frame such as an engine has, names that want to break
 * out, frames of nothing and of much. usage: page_frames FOLDER, or page_frames --serve: a live view whose
 * port is printed, of the frame in its other form after each line that comes in, until the input ends. */

#include <heddle/graph.h>

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef HEDDLE_HAS_VIEW
#include <heddle/view.h>
#endif

#include "workloads.h"

static const hd_queue_desc queues[] = {{HD_QUEUE_GFX, 0}, {HD_QUEUE_COMPUTE, 1}, {HD_QUEUE_TRANSFER, 2}};

enum { RGBA8 = 37, RG16F = 83, RGBA16F = 97, R8 = 9, R11G11B10F = 122, D32 = 126 };

typedef hd_resource resource;

/* The frame comes in two forms, to be compared. */
static bool later;

static resource image(hd_graph *g, const char *name, uint32_t format, uint32_t width, uint32_t height)
{
    return hd_graph_image(g, &(hd_image_desc){.name = name, .format = format, .width = width, .height = height});
}

static resource buffer(hd_graph *g, const char *name, uint64_t bytes)
{
    return hd_graph_buffer(g, &(hd_buffer_desc){.name = name, .bytes = bytes});
}

#define GFX(text, cost, ...)                                                                                           \
    hd_graph_pass(g, &(hd_pass_desc){.name = text, .type = HD_PASS_GFX, .cost_us = cost, .uses = HD_USES(__VA_ARGS__)})
#define ON(kind, text, cost, ...)                                                                                      \
    hd_graph_pass(g, &(hd_pass_desc){.name = text, .type = HD_PASS_COMPUTE, .pin = HD_PIN_##kind, .cost_us = cost,     \
                                     .uses = HD_USES(__VA_ARGS__)})

/* What the lighting of the frame goes on from. */
typedef struct scene {
    resource constants, instances, visible, shadows, depth, albedo, normal, motion, ao, clusters;
} scene;

static void draw_scene(hd_graph *g, scene *s)
{
    s->constants = buffer(g, "constants", 4096);
    s->instances = buffer(g, "instances", 2 << 20);
    s->visible = buffer(g, "visible instances", 1 << 20);
    resource staging = buffer(g, "staging", 2 << 20);
    s->shadows = image(g, "shadow cascades", D32, later ? 2048 : 4096, 2048);
    s->depth = image(g, "depth", D32, 1920, 1080);
    s->albedo = image(g, "albedo", RGBA8, 1920, 1080);
    s->normal = image(g, "normal", RGBA16F, 1920, 1080);
    s->motion = image(g, "motion", RG16F, 1920, 1080);
    hd_graph_pass(g, &(hd_pass_desc){.name = "write instances", .type = HD_PASS_HOST, .cost_us = 60,
                                     .uses = HD_USES({staging, HD_HOST_WRITE})});
    hd_graph_pass(g, &(hd_pass_desc){.name = "upload", .type = HD_PASS_TRANSFER, .cost_us = 90,
                                     .uses = HD_USES({staging, HD_TRANSFER_SRC}, {s->instances, HD_TRANSFER_DST},
                                                     {s->constants, HD_TRANSFER_DST})});
    ON(NONE, "cull instances", 70, {s->instances, HD_STORAGE_READ_COMPUTE}, {s->visible, HD_STORAGE_WRITE_COMPUTE});
    GFX("shadows", later ? 260 : 420, {s->visible, HD_VERTEX_READ}, {s->shadows, HD_DEPTH_WRITE});
    GFX("depth prepass", 160, {s->visible, HD_VERTEX_READ}, {s->depth, HD_DEPTH_WRITE});
    GFX("g-buffer", 480, {s->visible, HD_VERTEX_READ}, {s->constants, HD_UNIFORM_READ}, {s->depth, HD_DEPTH_RW},
        {s->albedo, HD_COLOR_WRITE}, {s->normal, HD_COLOR_WRITE}, {s->motion, HD_COLOR_WRITE});
    GFX("decals", 80, {s->constants, HD_UNIFORM_READ}, {s->depth, HD_DEPTH_RW}, {s->albedo, HD_COLOR_RW},
        {s->normal, HD_COLOR_RW}, {s->motion, HD_COLOR_RW});
}

static void light_scene(hd_graph *g, scene *s, resource lit)
{
    resource rough = image(g, "rough occlusion", R8, 960, 540), sky = image(g, "sky", RGBA16F, 512, 512);
    s->ao = image(g, "occlusion", R8, 1920, 1080);
    s->clusters = buffer(g, "light clusters", 3 << 20);
    ON(COMPUTE, "occlusion", 260, {s->depth, HD_SAMPLED_COMPUTE}, {s->normal, HD_SAMPLED_COMPUTE},
       {rough, HD_STORAGE_WRITE_COMPUTE});
    if (!later)
        ON(COMPUTE, "light culling", 120, {s->depth, HD_SAMPLED_COMPUTE}, {s->clusters, HD_STORAGE_WRITE_COMPUTE});
    ON(COMPUTE, "denoise occlusion", later ? 150 : 110, {rough, HD_SAMPLED_COMPUTE}, {s->ao, HD_STORAGE_WRITE_COMPUTE});
    GFX("sky", 130, {s->constants, HD_UNIFORM_READ}, {sky, HD_COLOR_WRITE});
    GFX("lighting", 520, {s->albedo, HD_SAMPLED_GRAPHICS}, {s->normal, HD_SAMPLED_GRAPHICS},
        {s->shadows, HD_SAMPLED_GRAPHICS}, {s->ao, HD_SAMPLED_GRAPHICS}, {sky, HD_SAMPLED_GRAPHICS},
        {s->constants, HD_UNIFORM_READ}, {lit, HD_COLOR_WRITE});
    if (later) {
        resource mirrored = image(g, "reflections", RGBA16F, 960, 540);
        ON(COMPUTE, "trace reflections", 340, {s->depth, HD_SAMPLED_COMPUTE}, {s->normal, HD_SAMPLED_COMPUTE},
           {lit, HD_SAMPLED_COMPUTE}, {mirrored, HD_STORAGE_WRITE_COMPUTE});
        GFX("add reflections", 60, {mirrored, HD_SAMPLED_GRAPHICS}, {lit, HD_COLOR_RW});
    }
    GFX("transparent", 240, {s->depth, HD_DEPTH_READ}, {s->constants, HD_UNIFORM_READ}, {lit, HD_COLOR_RW});
    GFX("particles", 150, {s->depth, HD_DEPTH_READ}, {s->constants, HD_UNIFORM_READ}, {lit, HD_COLOR_RW});
}

static void finish_scene(hd_graph *g, scene *s, resource lit)
{
    static const char *const down[] = {"bloom 1/2", "bloom 1/4", "bloom 1/8"};
    resource resolved = image(g, "resolved", RGBA16F, 1920, 1080), before = hd_graph_history(g, resolved);
    resource exposure = buffer(g, "exposure", 256), result = buffer(g, "readback", 256), last = resolved, bloom[3];
    resource heat = image(g, "overdraw heat", RGBA8, 1920, 1080);
    resource overlay = image(g, "debug overlay", RGBA8, 1920, 1080);
    resource screen = hd_graph_import(g, &(hd_import_desc){.name = "swapchain", .width = 1920, .height = 1080,
                                                           .format = RGBA8, .final_layout = 1000001002});
    ON(NONE, "temporal", 220, {lit, HD_SAMPLED_COMPUTE}, {before, HD_SAMPLED_COMPUTE}, {s->motion, HD_SAMPLED_COMPUTE},
       {resolved, HD_STORAGE_WRITE_COMPUTE});
    for (uint32_t i = 0; i < 3; i++) {
        bloom[i] = image(g, down[i], R11G11B10F, 960 >> i, 540 >> i);
        ON(NONE, down[i], 90.f / (float)(i + 1), {last, HD_SAMPLED_COMPUTE}, {bloom[i], HD_STORAGE_WRITE_COMPUTE});
        last = bloom[i];
    }
    ON(COMPUTE, "measure exposure", 60, {resolved, HD_SAMPLED_COMPUTE}, {exposure, HD_STORAGE_WRITE_COMPUTE});
    GFX("overdraw", 200, {s->visible, HD_VERTEX_READ}, {heat, HD_COLOR_WRITE});
    GFX("debug view", 90, {heat, HD_SAMPLED_GRAPHICS}, {overlay, HD_COLOR_WRITE});
    GFX("tonemap", 140, {resolved, HD_SAMPLED_GRAPHICS}, {bloom[0], HD_SAMPLED_GRAPHICS},
        {bloom[2], HD_SAMPLED_GRAPHICS}, {screen, HD_COLOR_WRITE});
    GFX("interface", 110, {screen, HD_COLOR_RW});
    hd_graph_pass(g, &(hd_pass_desc){.name = "copy exposure", .type = HD_PASS_TRANSFER, .cost_us = 8,
                                     .uses = HD_USES({exposure, HD_TRANSFER_SRC}, {result, HD_TRANSFER_DST})});
    hd_graph_pass(g, &(hd_pass_desc){.name = "read exposure", .type = HD_PASS_HOST, .root = true, .cost_us = 20,
                                     .uses = HD_USES({result, HD_HOST_READ})});
}

static void declare_frame(hd_graph *g)
{
    scene s;
    hd_graph_begin(g);
    hd_graph_set_name(g, "courtyard");
    draw_scene(g, &s);
    resource lit = image(g, "lit", RGBA16F, 1920, 1080);
    light_scene(g, &s, lit);
    finish_scene(g, &s, lit);
}

/* ---- names ---- */

static const char *const names[] = {
    "</script><script>window.broken=1</script>",
    "\"><img src=x onerror=window.broken=1>",
    "'; window.broken=1; '",
    "<!--<script>",
    "${window.broken=1}`\\",
    "caf\xe9 \xff\xfe not UTF-8",
    "__proto__",
    "constructor",
    "two\nlines\tand a tab",
    "\xe2\x80\xae turned around",
    "&lt;b&gt;bold&lt;/b&gt;",
    "",
};

static void declare_names(hd_graph *g)
{
    static char large[4000];
    memset(large, 'w', sizeof(large) - 1);
    hd_graph_set_name(g, "</title></script><img src=x onerror=window.broken=1>");
    resource last = buffer(g, large, 256);
    hd_graph_pass(g, &(hd_pass_desc){.name = large, .type = HD_PASS_COMPUTE,
                                     .uses = HD_USES({last, HD_STORAGE_WRITE_COMPUTE})});
    const size_t count = sizeof(names) / sizeof(names[0]);
    for (size_t i = 0; i < count; i++) {
        resource next = buffer(g, names[i], 256), lost = buffer(g, names[i], 256);
        hd_graph_pass(g, &(hd_pass_desc){.name = names[i], .type = HD_PASS_COMPUTE, .root = i + 1 == count,
                                         .uses = HD_USES({last, HD_STORAGE_READ_COMPUTE},
                                                         {next, HD_STORAGE_WRITE_COMPUTE})});
        hd_graph_pass(g, &(hd_pass_desc){.name = names[i], .type = HD_PASS_COMPUTE,
                                         .uses = HD_USES({lost, HD_STORAGE_WRITE_COMPUTE})});
        last = next;
    }
}

static void declare_nothing(hd_graph *g)
{
    hd_graph_set_name(g, "nothing");
}

static void declare_one(hd_graph *g)
{
    resource made = buffer(g, NULL, 64);
    hd_graph_set_name(g, "one");
    hd_graph_pass(g, &(hd_pass_desc){.type = HD_PASS_TRANSFER, .root = true, .uses = HD_USES({made, HD_TRANSFER_DST})});
}

/* ---- files ---- */

static int fail(const char *what, hd_result result)
{
    fprintf(stderr, "page_frames: %s: %s\n", what, hd_result_text(result));
    return 1;
}

/* What hd_plan_chains says of each pair of passes: [[pass, other pass, [links of each chain, 0: none]], ...] */
static hd_result write_chains(const hd_graph *g, const hd_plan *plan, FILE *f)
{
    uint32_t count = hd_graph_pass_count(g);
    const char *comma = "[";
    for (uint32_t a = 0; a < count; a++) {
        for (uint32_t b = a + 1; b < count; b++) {
            const hd_chains *chains;
            hd_result result = hd_plan_chains(g, plan, a, b, NULL, &chains);
            if (result != HD_OK)
                return result;
            fprintf(f, "%s[%u,%u,[", comma, a, b);
            for (uint32_t i = 0; i < chains->chain_count; i++)
                fprintf(f, "%s%u", i ? "," : "", chains->chains[i].link_count);
            fputs("]]", f);
            comma = ",\n";
            hd_chains_free(chains, NULL);
        }
    }
    fputs("]\n", f);
    return HD_OK;
}

/* NAME.html, and NAME.chains where wanted. */
static int write_files(const char *folder, const char *name, hd_graph *g, bool chains)
{
    char path[4096];
    const hd_plan *plan;
    hd_compile_desc desc = {.queues = queues, .queue_count = 3, .merge_rendering = true, .handoff_us = 2.0f};
    hd_result result = hd_graph_compile(g, &desc, &plan);
    if (result != HD_OK)
        return fail(hd_graph_error(g)->text, result);
    for (int i = 0; i < 1 + chains; i++) {
        snprintf(path, sizeof(path), "%s/%s.%s", folder, name, i ? "chains" : "html");
        FILE *f = fopen(path, "w");
        result = !f ? HD_IO : i ? write_chains(g, plan, f) : hd_plan_write_html(g, plan, f);
        if (f && fclose(f) != 0 && result == HD_OK)
            result = HD_IO;
        if (result != HD_OK)
            return fail(path, result);
    }
    return 0;
}

/* Times such as a GPU could have taken: queues go on by themselves, but behind those that they wait for. */
static uint32_t make_spans(const hd_plan *plan, hd_page_span *spans)
{
    hd_plan_view v = hd_plan_read(plan);
    double clock[HD_MAX_QUEUES] = {0};
    uint32_t count = 0;
    for (uint32_t s = 0; s < v.submit_count; s++) {
        const hd_plan_submit *submit = &v.submits[s];
        double now = clock[submit->queue];
        for (uint32_t w = submit->wait_begin; w < submit->wait_begin + submit->wait_count; w++)
            now = clock[v.waits[w].queue] > now ? clock[v.waits[w].queue] : now;
        for (uint32_t c = submit->command_begin; c < submit->command_begin + submit->command_count; c++) {
            if (v.commands[c].kind != HD_COMMAND_PASS)
                continue;
            uint32_t pass = v.commands[c].index;
            double end = now + 4 + (pass * 37 % 23) * 14;
            spans[count++] = (hd_page_span){pass, now + 4, end};
            now = end;
        }
        clock[submit->queue] = now;
    }
    return count;
}

static int write_page(const char *folder, const char *name, const hd_graph *g, const hd_plan *plan,
                      const hd_page_desc *desc)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s.html", folder, name);
    FILE *f = fopen(path, "w");
    hd_result result = f ? hd_plan_write_page(g, plan, desc, f) : HD_IO;
    if (f && fclose(f) != 0 && result == HD_OK)
        result = HD_IO;
    return result == HD_OK ? 0 : fail(path, result);
}

/* The frame in both forms side by side, and with measured times. */
static int write_compared(const char *folder, hd_graph *g, hd_graph *before)
{
    const hd_compile_desc desc = {.queues = queues, .queue_count = 3, .merge_rendering = true, .handoff_us = 2.0f};
    const hd_plan *plan, *old;
    hd_page_span spans[64];
    declare_frame(before);
    later = true;
    declare_frame(g);
    later = false;
    hd_result result = hd_graph_compile(before, &desc, &old);
    if (result == HD_OK)
        result = hd_graph_compile(g, &desc, &plan);
    if (result != HD_OK)
        return fail("compare", result);
    uint32_t count = make_spans(old, spans);
    static uint8_t red[8 * 4 * 4], ramp[64 * 4];
    for (uint32_t i = 0; i < sizeof(red); i++)
        red[i] = i % 4 == 0 || i % 4 == 3 ? 255 : 0;
    for (uint32_t i = 0; i < sizeof(ramp); i++)
        ramp[i] = i % 4 == 3 ? 255 : (uint8_t)(i & ~3u);
    const hd_page_picture pictures[] = {{4, 4, 8, 4, red, -1.5f, 60.f}, {6, 4, 64, 1, ramp, 0, 1}};
    return write_page(folder, "changed", g, plan, &(hd_page_desc){.before_graph = before, .before = old}) |
           write_page(folder, "same", before, old, &(hd_page_desc){.before_graph = before, .before = old}) |
           write_page(folder, "measured", before, old, &(hd_page_desc){.spans = spans, .span_count = count}) |
           write_page(folder, "pictures", before, old,
                      &(hd_page_desc){.pictures = pictures, .picture_count = 2});
}

/* Plans of others that say nonsense: numbers of a good one changed at random, where they are still read. */
static int write_nonsense(const char *folder, hd_graph *g, uint32_t count)
{
    const hd_compile_desc desc = {.queues = queues, .queue_count = 3, .merge_rendering = true, .handoff_us = 2.0f};
    const hd_plan *plan;
    char *text, name[32];
    size_t bytes;
    uint64_t state = 7;
    declare_frame(g);
    FILE *f = open_memstream(&text, &bytes);
    if (!f || hd_graph_compile(g, &desc, &plan) != HD_OK || hd_plan_write_json(g, plan, f) != HD_OK || fclose(f) != 0)
        return fail("nonsense", HD_OUT_OF_MEMORY);
    char *changed = malloc(bytes);
    for (uint32_t written = 0; changed && written < count;) {
        memcpy(changed, text, bytes);
        for (int i = 0; i < 6;) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            size_t at = (size_t)(state >> 33) % bytes;
            if (changed[at] >= '0' && changed[at] <= '9') {
                changed[at] = (char)('1' + (state >> 20) % 9);
                i++;
            }
        }
        hd_plan *odd;
        if (hd_plan_read_json(g, changed, bytes, NULL, &odd, NULL, 0) != HD_OK)
            continue;
        snprintf(name, sizeof(name), "nonsense%u", written++);
        if (write_page(folder, name, g, odd, NULL) != 0)
            return 1;
        hd_plan_free(odd, NULL);
    }
    free(changed);
    free(text);
    return 0;
}

static int write_workload(const char *folder, const char *name, hd_graph *g, const char *family, uint32_t passes)
{
    hdb_workload *w = hdb_workload_make(hdb_family_index(family), passes, 1, true);
    if (!w)
        return fail(name, HD_OUT_OF_MEMORY);
    hd_graph_set_name(g, hdb_workload_name(w));
    hdb_workload_declare(w, g);
    int status = write_files(folder, name, g, false);
    hdb_workload_free(w);
    return status;
}

#ifdef HEDDLE_HAS_VIEW
static int serve(void)
{
    const hd_compile_desc desc = {.queues = queues, .queue_count = 3, .merge_rendering = true, .handoff_us = 2.0f};
    struct pollfd input = {.fd = 0, .events = POLLIN};
    hd_graph *g;
    hd_view *view;
    hd_result result = hd_graph_create(NULL, &g);
    if (result == HD_OK)
        result = hd_view_serve(0, &view);
    if (result != HD_OK)
        return fail("serve", result);
    printf("%u\n", hd_view_port(view));
    fflush(stdout);
    char line[64];
    while (result == HD_OK) { /* the frames of an engine */
        if (poll(&input, 1, 10) > 0) {
            if (!fgets(line, sizeof(line), stdin))
                break;
            later = !later;
        }
        const hd_plan *plan;
        declare_frame(g);
        result = hd_graph_compile(g, &desc, &plan);
        if (result == HD_OK)
            result = hd_view_show(view, g, plan, NULL);
    }
    hd_view_end(view);
    hd_graph_destroy(g);
    return result == HD_OK ? 0 : fail("serve", result);
}
#else
static int serve(void)
{
    fputs("page_frames: built without the live view\n", stderr);
    return 77;
}
#endif

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*declare)(hd_graph *g);
    } frames[] = {{"frame", declare_frame}, {"names", declare_names}, {"nothing", declare_nothing},
                  {"one", declare_one}};
    hd_graph *g, *before;
    if (argc == 2 && strcmp(argv[1], "--serve") == 0)
        return serve();
    const bool help = argc == 2 && strcmp(argv[1], "--help") == 0;
    if (argc != 2 || argv[1][0] == '-') {
        fprintf(help ? stdout : stderr, "usage: page_frames FOLDER | --serve\npages for tests/page/run%s%s\n",
                help || argc < 2 ? "" : ", not ", help || argc < 2 ? "" : argv[1]);
        return help ? 0 : 1;
    }
    hd_result result = hd_graph_create(NULL, &g);
    if (result == HD_OK)
        result = hd_graph_create(NULL, &before);
    if (result != HD_OK)
        return fail("graph", result);
    int status = write_compared(argv[1], g, before);
    for (size_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
        hd_graph_begin(g);
        frames[i].declare(g);
        status |= write_files(argv[1], frames[i].name, g, i == 0);
    }
    status |= write_nonsense(argv[1], g, 12);
    status |= write_workload(argv[1], "many", g, "layered", 2000);
    status |= write_workload(argv[1], "most", g, "layered", 20000);
    hd_graph_destroy(g);
    hd_graph_destroy(before);
    return status;
}
