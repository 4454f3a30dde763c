#include <criterion/criterion.h>
#include <jansson.h>
#include <heddle/graph.h>

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "checked.h"
#include "random.h"
#include "random_graph.h"

/* Plans as JSON: what is written reads back to the same bytes; what is not a plan is refused with its place. Pictures of
 * plans: Graphviz takes the one, the other's tags balance. */

static const hd_queue_desc queues[] = {{HD_QUEUE_GFX, 0}, {HD_QUEUE_COMPUTE, 2}, {HD_QUEUE_TRANSFER, 1}};

typedef hd_result (*writer)(const hd_graph *, const hd_plan *, FILE *);

/* Ends with a zero that *bytes does not count. */
static char *text_of(writer write, const hd_graph *graph, const hd_plan *plan, size_t *bytes)
{
    FILE *stream = tmpfile();
    cr_assert_not_null(stream);
    cr_assert_eq(write(graph, plan, stream), HD_OK);
    *bytes = (size_t)ftell(stream);
    char *text = calloc(1, *bytes + 1);
    rewind(stream);
    cr_assert_eq(fread(text, 1, *bytes, stream), *bytes);
    fclose(stream);
    return text;
}

static const hd_plan *compile(hd_graph *graph, uint64_t seed, uint32_t passes)
{
    const hd_plan *plan;
    hd_compile_desc desc = {
        .queues = queues, .queue_count = 1 + (uint32_t)(seed % 3), .merge_rendering = seed % 2};
    hdt_random_graph(graph, seed, passes);
    cr_assert_eq(hdt_compile(graph, &desc, &plan), HD_OK);
    return plan;
}

Test(plan_json, round_trip)
{
    uint64_t first = 1, count = 200;
    hdt_seeds(&first, &count);
    hd_graph *graph;
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    for (uint64_t seed = first; seed < first + count; seed++) {
        const hd_plan *plan = compile(graph, seed, 25);
        size_t bytes, plan_bytes, copy_bytes;
        char *text = text_of(hd_plan_write_json, graph, plan, &bytes), error[256] = "";
        hd_plan *copy;
        cr_assert_eq(hd_plan_read_json(graph, text, bytes, NULL, &copy, error, sizeof(error)), HD_OK, "seed %llu: %s",
                     (unsigned long long)seed, error);
        const void *plan_data = hd_plan_data(plan, &plan_bytes), *copy_data = hd_plan_data(copy, &copy_bytes);
        cr_assert_eq(plan_bytes, copy_bytes);
        cr_assert_eq(memcmp(plan_data, copy_data, plan_bytes), 0, "seed %llu", (unsigned long long)seed);
        hd_plan_free(copy, NULL);
        free(text);
    }
    hd_graph_destroy(graph);
}

/* A buffer, an image; one pass that writes both, a root that reads both. */
static hd_graph *small_graph(void)
{
    hd_graph *graph;
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    hd_resource a = hd_graph_buffer(graph, &(hd_buffer_desc){.bytes = 256});
    hd_resource b = hd_graph_image(graph, &(hd_image_desc){.width = 4, .height = 4, .format = 37});
    hd_graph_pass(graph, &(hd_pass_desc){.type = HD_PASS_TRANSFER, .uses = HD_USES({a, HD_TRANSFER_DST}, {b, HD_TRANSFER_DST})});
    hd_graph_pass(graph, &(hd_pass_desc){.type = HD_PASS_TRANSFER,
                                         .root = true,
                                         .uses = HD_USES({a, HD_TRANSFER_SRC}, {b, HD_TRANSFER_SRC})});
    return graph;
}

#define PLAN(q, c, h, r, s)                                                                                            \
    "{\"plan\": 1, \"queues\": [" q "], \"culled\": [" c "], \"heaps\": [" h "], \"resources\": [" r "], \"submits\": [" s "]}"
#define Q "{\"kind\": \"gfx\", \"family\": 0}"
#define H "{\"bytes\": 131072}"
#define R "{\"id\": 0, \"heap\": 0, \"offset\": 0, \"bytes\": 256}"
#define MASKS "\"src_stages\": 1, \"src_access\": 1, \"dst_stages\": 1, \"dst_access\": 1"
#define SUBMIT(commands) "{\"queue\": 0, \"waits\": [], \"commands\": [" commands "]}"

Test(plan_json, nonsense_is_refused_with_its_place)
{
    static const struct {
        const char *text, *where;
    } bad[] = {
        {"", "line 1"},
        {"[1, 2", "line 1"},
        {"{\"plan\": 1, \"plan\": 1}", "line 1"},
        {"[]", "plan: is no object"},
        {"{}", "'plan' is missing"},
        {"{\"plan\": 2}", "version 2"},
        {"{\"plan\": 1}", "'queues' is missing"},
        {"{\"plan\": 1, \"queues\": {}, \"culled\": [], \"heaps\": [], \"resources\": [], \"submits\": []}", "'queues' is no array"},
        {PLAN("{\"kind\": \"video\", \"family\": 0}", "", "", "", ""), "queues[0]"},
        {PLAN("{\"kind\": \"gfx\"}", "", "", "", ""), "queues[0]"},
        {PLAN("7", "", "", "", ""), "queues[0]"},
        {PLAN(Q, "2", "", "", ""), "culled[0]"},
        {PLAN(Q, "-1", "", "", ""), "culled[0]"},
        {PLAN(Q, "\"0\"", "", "", ""), "culled[0]"},
        {PLAN(Q, "", "{\"bytes\": -5}", "", ""), "heaps[0]"},
        {PLAN(Q, "", "{\"bytes\": 1.5}", "", ""), "heaps[0]"},
        {PLAN(Q, "", H, "{\"id\": 2, \"heap\": 0, \"offset\": 0, \"bytes\": 1}", ""), "resources[0]"},
        {PLAN(Q, "", H, "{\"id\": 0, \"heap\": 1, \"offset\": 0, \"bytes\": 1}", ""), "resources[0]"},
        {PLAN(Q, "", H, "{\"id\": 0, \"external\": true}", ""), "resources[0]"},
        {PLAN(Q, "", H, R ", " R, ""), "resources[1]"},
        {PLAN(Q, "", H, "{\"id\": 0, \"heap\": 0, \"offset\": 0, \"bytes\": 1, \"sharing\": \"exclusive\"}", ""), "resources[0]"},
        {PLAN(Q, "", H, R, "{\"queue\": 1, \"waits\": [], \"commands\": []}"), "submits[0]"},
        {PLAN(Q, "", H, R, "{\"queue\": 0, \"commands\": []}"), "submits[0]"},
        {PLAN(Q, "", H, R, "{\"queue\": 0, \"waits\": [{\"queue\": 3, \"value\": 1, \"stages\": 1}], \"commands\": []}"),
         "submits[0].waits[0]"},
        {PLAN(Q, "", H, R, "{\"queue\": 0, \"waits\": [], \"commands\": [], \"signal\": {\"value\": 0, \"stages\": 1}}"),
         "submits[0].signal"},
        {PLAN(Q, "", H, R, SUBMIT("{\"pass\": 9}")), "submits[0].commands[0]"},
        {PLAN(Q, "", H, R, SUBMIT("{\"pass\": 0, \"rendering\": 7}")), "submits[0].commands[0]"},
        {PLAN(Q, "", H, R, SUBMIT("{\"pass\": 0, \"rendering\": {\"attachments\": []}}")), "'passes' is missing"},
        {PLAN(Q, "", H, R, SUBMIT("{\"pass\": 0, \"rendering\": {\"passes\": 0, \"attachments\": []}}")), "'passes' is 0"},
        {PLAN(Q, "", H, R, SUBMIT("{\"pass\": 0, \"rendering\": {\"passes\": 1}}")), "'attachments' is missing"},
        {PLAN(Q, "", H, R, SUBMIT("{\"pass\": 0, \"rendering\": {\"passes\": 1, \"attachments\": [{\"use\": 2}]}}")), "'use' is 2 of 2"},
        {PLAN(Q, "", H, R, SUBMIT("{\"pass\": 0, \"rendering\": {\"passes\": 1, \"attachments\": [{\"use\": 1, \"load\": 0}]}}")), "'store' is missing"},
        {PLAN(Q, "", H, R, SUBMIT("{\"pass\": 0}, {}")), "submits[0].commands[1]"},
        {PLAN(Q, "", H, R, SUBMIT("{\"pass\": 0, \"barrier\": []}")), "submits[0].commands[0]: is both"},
        {PLAN(Q, "", H, R, SUBMIT("{\"set\": 0, \"wait\": 0, \"barrier\": []}")), "submits[0].commands[0]: both"},
        {PLAN(Q, "", H, R, SUBMIT("{\"barrier\": [7]}")), "submits[0].commands[0].barrier[0]"},
        {PLAN(Q, "", H, R, SUBMIT("{\"barrier\": [{\"src_stages\": 1}]}")), "submits[0].commands[0].barrier[0]"},
        {PLAN(Q, "", H, R, SUBMIT("{\"barrier\": [{" MASKS ", \"resource\": 5}]}")), "submits[0].commands[0].barrier[0]"},
        {PLAN(Q, "", H, R, SUBMIT("{\"barrier\": [{" MASKS ", \"resource\": 0, \"range\": [0, 1, 0, 1]}]}")), "barrier[0]"},
        {PLAN(Q, "", H, R, SUBMIT("{\"barrier\": [{" MASKS ", \"resource\": 1, \"range\": [0, 1, 0, 1]}]}")), "old_layout"},
        {PLAN(Q, "", H, R, SUBMIT("{\"barrier\": [{" MASKS ", \"resource\": 1, \"range\": [0, 1, 0, 1], \"aspect\": 2}]}")), "'aspect' is 2"},
        {PLAN(Q, "", H, R, SUBMIT("{\"barrier\": [{" MASKS ", \"resource\": 1, \"range\": [0, 70000, 0, 1]}]}")), "larger than 65535"},
        {PLAN(Q, "", H, R, SUBMIT("{\"barrier\": [{" MASKS ", \"src_family\": 1}]}")), "go together"},
    };
    hd_graph *graph = small_graph();
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char error[256] = "";
        hd_plan *plan;
        cr_assert_eq(hd_plan_read_json(graph, bad[i].text, strlen(bad[i].text), NULL, &plan, error, sizeof(error)), HD_PARSE,
                     "text %zu was read", i);
        cr_assert_null(plan);
        cr_assert_not_null(strstr(error, bad[i].where), "text %zu: '%s' does not say '%s'", i, error, bad[i].where);
    }
    hd_graph_destroy(graph);
}

Test(plan_json, split_barriers_and_plans_of_others_are_read)
{
    static const char text[] =
        PLAN(Q, "", H, R, SUBMIT("{\"set\": 3, \"barrier\": [{" MASKS "}]}, {\"pass\": 0}, {\"wait\": 3, \"barrier\": [{" MASKS "}]}"));
    hd_graph *graph = small_graph();
    hd_plan *plan;
    size_t bytes;
    char error[256] = "";
    cr_assert_eq(hd_plan_read_json(graph, text, strlen(text), NULL, &plan, error, sizeof(error)), HD_OK, "%s", error);
    hd_plan_view view = hd_plan_read(plan);
    cr_assert_eq(view.commands[0].kind, (uint32_t)HD_COMMAND_SET);
    cr_assert_eq(view.commands[2].kind, (uint32_t)HD_COMMAND_WAIT);
    cr_assert_eq(view.commands[2].event, 3u);
    char *again = text_of(hd_plan_write_json, graph, plan, &bytes);
    cr_assert_not_null(strstr(again, "{\"set\": 3, \"barrier\": ["));
    cr_assert_not_null(strstr(again, "{\"wait\": 3, \"barrier\": ["));
    free(again);
    hd_plan_free(plan, NULL);
    hd_graph_destroy(graph);
}

/* What the page of a plan is given: parsed, freed by json_decref. The page stays what it is without it. */
static json_t *page_data(const char *html, const char **page)
{
    static const char begin[] = "<script id=\"data\" type=\"application/json\">";
    static char *around;
    const char *at = strstr(html, begin), *end = at ? strstr(at, "</script>") : NULL;
    cr_assert(at && end);
    at += sizeof(begin) - 1;
    json_error_t error;
    json_t *data = json_loadb(at, (size_t)(end - at), 0, &error);
    cr_assert_not_null(data, "%s at %d", error.text, error.position);
    cr_assert_null(memchr(at, '<', (size_t)(end - at)));
    if (page) {
        free(around);
        around = malloc(strlen(html) + 1);
        memcpy(around, html, (size_t)(at - html));
        strcpy(around + (at - html), end);
        *page = around;
    }
    return data;
}

/* Each table has as many rows as the plan says, and each row as many columns as the table. */
static void check_table(const json_t *data, const char *name, size_t rows)
{
    const json_t *table = json_object_get(data, name), *list = json_object_get(table, "rows");
    const char *columns = json_string_value(json_object_get(table, "columns"));
    size_t count = 1;
    cr_assert(columns && json_array_size(list) == rows, "%s: %zu rows of %zu", name, json_array_size(list), rows);
    for (; *columns; columns++)
        count += *columns == ',';
    for (size_t i = 0; i < rows; i++)
        cr_assert_eq(json_array_size(json_array_get(list, i)), count, "%s, row %zu", name, i);
}

static void check_page_data(const json_t *data, const hd_graph *graph, const hd_plan *plan)
{
    hd_plan_view v = hd_plan_read(plan);
    const struct {
        const char *name;
        size_t rows;
    } tables[] = {{"passes", hd_graph_pass_count(graph)}, {"resources", hd_graph_resource_count(graph)},
                  {"queues", v.queue_count},              {"heaps", v.heap_count},
                  {"placed", v.resource_count},           {"submits", v.submit_count},
                  {"submit_ends", v.submit_count},        {"waits", v.wait_count},
                  {"commands", v.command_count},          {"batches", v.batch_count},
                  {"barriers", v.barrier_count},          {"scopes", v.scope_count},
                  {"attachments", v.attachment_count},    {"culled", v.culled_count}};
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
        check_table(data, tables[i].name, tables[i].rows);
    cr_assert_str_eq(json_string_value(json_object_get(data, "name")), hd_graph_name(graph));
}

Test(plan_json, pictures)
{
    hd_graph *graph;
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    for (uint64_t seed = 1; seed <= 6; seed++) {
        const hd_plan *plan = compile(graph, seed, 30);
        hd_graph_set_name(graph, "a \"name\" <with> & all\\");
        size_t bytes;
        char *html = text_of(hd_plan_write_html, graph, plan, &bytes);
        const char *page;
        json_t *data = page_data(html, &page);
        check_page_data(data, graph, plan);
        json_decref(data);
        cr_assert_lt(strlen(page), 1000000);
        cr_assert(strstr(page, "default-src 'none'") && !strstr(page, "http-equiv=\"refresh\""));
        free(html);
        if (system("command -v dot >/dev/null") != 0)
            continue;
        FILE *dot = popen("dot -Tsvg -o /dev/null 2>&1", "w");
        cr_assert_not_null(dot);
        cr_assert_eq(hd_plan_write_dot(graph, plan, dot), HD_OK);
        cr_assert_eq(pclose(dot), 0, "seed %llu", (unsigned long long)seed);
    }
    hd_graph_destroy(graph);
}

/* Each kind of reason, with the names of the passes and resources behind it, in every view. */
Test(plan_json, views_say_why)
{
    static const hd_queue_desc two[] = {{HD_QUEUE_GFX, 0}, {HD_QUEUE_COMPUTE, 0}};
    static const char *const phrases[] = {
        "first use, albedo, for draw",
        "read after write, albedo, behind draw, for blur",
        "wait, blurred, behind blur, for show",
        "signal, albedo, behind draw, for blur",
        "first, with draw",
        "end, with copy",
        "first tenant, first used by draw",
        "takes over, bytes of albedo, last used by blur, first used by more",
        "alias, late, bytes of albedo, behind blur, for more",
        "persistent, takes turns with",
        "external, first used by show",
    };
    static const char *const fields[] = {
        "\"culled_why\": [\n  {\"code\": \"reader culled\", \"pass\": 0, \"other_pass\": 1, \"resource\": 6},\n"
        "  {\"code\": \"writes nothing\", \"pass\": 1}]",
        "\"placing\": \"takes over\", \"tenant\": 0",
        "\"cut\": \"wait\", \"why\": {\"starts\": {\"code\": \"wait\", \"pass\": 4, \"other_pass\": 3, \"resource\": 1}",
        "\"reason\": \"read after write\", \"reason_pass\": 3, \"reason_resource\": 0, "
        "\"why\": {\"code\": \"read after write\", \"pass\": 3, \"other_pass\": 2, \"resource\": 0}",
    };
    hd_graph *graph;
    const hd_plan *plan;
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    const hd_image_desc small = {.width = 64, .height = 64, .format = 37};
    hd_image_desc named = small;
    named.name = "albedo";
    hd_resource albedo = hd_graph_image(graph, &named);
    named.name = "blurred";
    hd_resource blurred = hd_graph_image(graph, &named), old = hd_graph_history(graph, blurred);
    named.name = "late";
    hd_resource late = hd_graph_image(graph, &named);
    hd_resource screen = hd_graph_import(graph, &(hd_import_desc){.name = "screen", .width = 64, .height = 64, .format = 37});
    hd_resource out = hd_graph_buffer(graph, &(hd_buffer_desc){.name = "out", .bytes = 65536});
    hd_resource lost = hd_graph_buffer(graph, &(hd_buffer_desc){.name = "lost", .bytes = 65536});
    const hd_pass_desc passes[] = {
        {.name = "idle", .type = HD_PASS_COMPUTE, .uses = HD_USES({lost, HD_STORAGE_WRITE_COMPUTE})},
        {.name = "idler", .type = HD_PASS_COMPUTE, .uses = HD_USES({lost, HD_STORAGE_READ_COMPUTE})},
        {.name = "draw", .uses = HD_USES({albedo, HD_COLOR_WRITE})},
        {.name = "blur", .type = HD_PASS_COMPUTE, .pin = HD_PIN_COMPUTE,
         .uses = HD_USES({albedo, HD_SAMPLED_COMPUTE}, {old, HD_SAMPLED_COMPUTE}, {blurred, HD_STORAGE_WRITE_COMPUTE})},
        {.name = "show", .uses = HD_USES({blurred, HD_SAMPLED_GRAPHICS}, {screen, HD_COLOR_WRITE})},
        {.name = "more", .uses = HD_USES({late, HD_COLOR_WRITE})},
        {.name = "copy", .root = true, .type = HD_PASS_TRANSFER, .pin = HD_PIN_GFX,
         .uses = HD_USES({late, HD_TRANSFER_SRC}, {out, HD_TRANSFER_DST})},
    };
    for (size_t p = 0; p < sizeof(passes) / sizeof(passes[0]); p++)
        hd_graph_pass(graph, &passes[p]);
    hd_compile_desc desc = {.queues = two, .queue_count = 2, .order = HD_ORDER_DECLARED};
    cr_assert_eq(hdt_compile(graph, &desc, &plan), HD_OK, "%s", hd_graph_error(graph)->text);
    size_t bytes;
    char *json = text_of(hd_plan_write_json, graph, plan, &bytes), *html = text_of(hd_plan_write_html, graph, plan, &bytes);
    char *dot = text_of(hd_plan_write_dot, graph, plan, &bytes);
    json_t *data = page_data(html, NULL);
    check_page_data(data, graph, plan);
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        cr_assert_not_null(strstr(json, fields[i]), "no %s in\n%s", fields[i], json);
    for (size_t i = 0; i < sizeof(phrases) / sizeof(phrases[0]); i++) {
        cr_assert_not_null(strstr(dot, phrases[i]), "no '%s' in\n%s", phrases[i], dot);
    }
    cr_assert(strstr(dot, "reader culled, lost, reader idler"));
    /* The page makes sentences of them: pass 0 is culled as pass 1, which would read resource 6, is. */
    const json_t *row = json_array_get(json_object_get(json_object_get(data, "culled"), "rows"), 0);
    static const int culled[] = {0, HD_CULL_READER_CULLED, 0, 1, 6, -1};
    for (size_t i = 0; i < sizeof(culled) / sizeof(culled[0]); i++)
        cr_assert_eq(json_integer_value(json_array_get(row, i)), culled[i], "%zu", i);
    const json_t *words = json_object_get(json_object_get(data, "words"), "cull");
    cr_assert_str_eq(json_string_value(json_array_get(words, HD_CULL_READER_CULLED)), "reader culled");
    json_decref(data);
    free(json);
    free(html);
    free(dot);
    hd_graph_destroy(graph);
}

/* All files of a plan are UTF-8, whatever names are and wherever they are cut. */
Test(plan_json, names_that_are_no_utf8)
{
    static const writer writers[] = {hd_plan_write_json, hd_plan_write_dot, hd_plan_write_html};
    hd_graph *graph;
    const hd_plan *plan;
    char name[201]; /* longer than labels are, and of characters of two bytes each: some are cut */
    for (int i = 0; i < 200; i += 2)
        memcpy(name + i, "\xc3\xa9", 3);
    cr_assert(setlocale(LC_CTYPE, "C.UTF-8"));
    cr_assert_eq(hd_graph_create(&(hd_graph_desc){.name = "gr\xfcn"}, &graph), HD_OK);
    hd_resource a = hd_graph_buffer(graph, &(hd_buffer_desc){.name = "half \xed\xa0\x80", .bytes = 16});
    hd_resource b = hd_graph_buffer(graph, &(hd_buffer_desc){.name = name + 1, .bytes = 16});
    hd_graph_pass(graph, &(hd_pass_desc){.name = "caf\xe9 <\xe2\x82", .type = HD_PASS_TRANSFER,
                                         .uses = HD_USES({a, HD_TRANSFER_DST})});
    hd_graph_pass(graph, &(hd_pass_desc){.name = name, .type = HD_PASS_TRANSFER, .root = true,
                                         .uses = HD_USES({a, HD_TRANSFER_SRC}, {b, HD_TRANSFER_DST})});
    hd_graph_pass(graph, &(hd_pass_desc){.name = "na\xefve", .type = HD_PASS_TRANSFER,
                                         .uses = HD_USES({b, HD_TRANSFER_DST})});
    cr_assert_eq(hd_graph_compile(graph, NULL, &plan), HD_OK);
    for (int i = 0; i < 3; i++) {
        size_t bytes;
        char *text = text_of(writers[i], graph, plan, &bytes);
        for (size_t at = 0; at < bytes;) {
            size_t used = mbrtowc(NULL, text + at, bytes - at, &(mbstate_t){0});
            cr_assert(used - 1 < 4, "writer %d, byte %zu: %s", i, at, text);
            at += used;
        }
        cr_assert(strstr(text, i == 1 ? "gr\xef\xbf\xbdn" : "gr\\ufffdn"), "writer %d: %s", i, text);
        cr_assert(i != 1 || (strstr(text, "caf\xef\xbf\xbd ") && strstr(text, "\xc3\xa9")), "writer %d: %s", i, text);
        cr_assert(i != 2 || strstr(text, "\"caf\\ufffd \\u003c\\ufffd"), "%s", text);
        free(text);
    }
    hd_graph_destroy(graph);
}

/* Whatever the reader lets through can be explained, drawn and verified: numbers of a plan are changed at random. */
Test(plan_json, nonsense_that_is_read_is_survived)
{
    static const writer writers[] = {hd_plan_write_json, hd_plan_write_dot, hd_plan_write_html};
    uint64_t first = 1, count = 1500;
    hdt_seeds(&first, &count);
    hd_graph *graph;
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    FILE *nowhere = fopen("/dev/null", "w");
    uint32_t read = 0;
    for (uint64_t seed = first; seed < first + count; seed++) {
        const hd_plan *plan = compile(graph, seed, 12);
        size_t bytes;
        char *text = text_of(hd_plan_write_json, graph, plan, &bytes);
        uint64_t rng = seed;
        for (uint32_t changes = 1 + hdt_below(&rng, 12); changes > 0; changes--) {
            size_t at = hdt_below(&rng, (uint32_t)bytes);
            while (at < bytes && (text[at] < '0' || text[at] > '9'))
                at++;
            if (at < bytes)
                text[at] = (char)('1' + hdt_below(&rng, 9));
        }
        hd_plan *broken;
        if (hd_plan_read_json(graph, text, bytes, NULL, &broken, NULL, 0) == HD_OK) {
            read++;
            hd_plan_verify(graph, broken, NULL);
            for (int i = 0; i < 3; i++)
                cr_assert_eq(writers[i](graph, broken, nowhere), HD_OK, "seed %llu", (unsigned long long)seed);
            hd_plan_free(broken, NULL);
        }
        free(text);
    }
    cr_assert(read > count / 10 || count < 100, "%u of %u were read", read, (uint32_t)count);
    fclose(nowhere);
    hd_graph_destroy(graph);
}

/* Measured times and another plan stand in the data where they are given; what cannot be is refused. */
Test(plan_json, pages_with_times_and_another_plan)
{
    hd_graph *graph, *other;
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    cr_assert_eq(hd_graph_create(NULL, &other), HD_OK);
    const hd_plan *plan = compile(graph, 3, 20), *before = compile(other, 4, 30);
    uint32_t count = hd_graph_pass_count(graph);
    const hd_page_span good[] = {{1, 1e10 + 2.5, 1e10 + 7}, {0, 1e10, 1e10 + 1}};
    char *html;
    size_t bytes;
    FILE *f = open_memstream(&html, &bytes);
    cr_assert_eq(hd_plan_write_page(graph, plan, &(hd_page_desc){.before_graph = other, .before = before, .spans = good, .span_count = 2}, f), HD_OK);
    fclose(f);
    json_t *data = page_data(html, NULL), *old = json_object_get(data, "before");
    check_page_data(data, graph, plan);
    check_page_data(old, other, before);
    check_table(data, "spans", 2);
    const json_t *row = json_array_get(json_object_get(json_object_get(data, "spans"), "rows"), 0);
    cr_assert_eq(json_integer_value(json_array_get(row, 0)), 1);
    cr_assert_float_eq(json_number_value(json_array_get(row, 1)), 2.5, 1e-5);
    cr_assert_float_eq(json_number_value(json_array_get(row, 2)), 7, 1e-5);
    json_decref(data);
    free(html);
    const hd_page_span bad[] = {{count, 0, 1}, {0, 2, 1}, {0, NAN, 1}, {0, 0, INFINITY}};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        cr_assert_eq(hd_plan_write_page(graph, plan, &(hd_page_desc){.spans = &bad[i], .span_count = 1}, stderr),
                     HD_INVALID_ARGUMENT, "%zu", i);
    cr_assert_eq(hd_plan_write_page(graph, plan, &(hd_page_desc){.span_count = 1}, stderr), HD_INVALID_ARGUMENT);
    cr_assert_eq(hd_plan_write_page(graph, plan, &(hd_page_desc){.picture_count = 1}, stderr), HD_INVALID_ARGUMENT);
    static const uint8_t dot[4] = {1, 2, 3, 4};
    uint32_t resources = hd_graph_resource_count(graph);
    const hd_page_picture poor[] = {{count, 0, 1, 1, dot, 0, 1},  {0, resources, 1, 1, dot, 0, 1},
                                    {0, 0, 0, 1, dot, 0, 1},      {0, 0, 1, 513, dot, 0, 1},
                                    {0, 0, 1, 1, NULL, 0, 1},     {0, 0, 1, 1, dot, NAN, 1}};
    for (size_t i = 0; i < sizeof(poor) / sizeof(poor[0]); i++)
        cr_assert_eq(hd_plan_write_page(graph, plan, &(hd_page_desc){.pictures = &poor[i], .picture_count = 1}, stderr),
                     HD_INVALID_ARGUMENT, "%zu", i);
    f = open_memstream(&html, &bytes);
    const hd_page_picture fine = {0, 0, 1, 1, dot, -1, 2};
    cr_assert_eq(hd_plan_write_page(graph, plan, &(hd_page_desc){.pictures = &fine, .picture_count = 1}, f), HD_OK);
    fclose(f);
    cr_assert_not_null(strstr(html, "[0,0,1,1,-1,2,\"AQIDBA==\"]"));
    free(html);
    cr_assert_eq(hd_plan_write_page(graph, plan, &(hd_page_desc){.before = before}, stderr), HD_INVALID_ARGUMENT);
    cr_assert_eq(hd_plan_write_page(graph, plan, &(hd_page_desc){.before_graph = other}, stderr), HD_INVALID_ARGUMENT);
    hd_graph_destroy(graph);
    hd_graph_destroy(other);
}

Test(plan_json, a_full_device_is_an_io_error)
{
    static const writer writers[] = {hd_plan_write_json, hd_plan_write_dot, hd_plan_write_html};
    hd_graph *graph;
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    const hd_plan *plan = compile(graph, 4, 20);
    for (int i = 0; i < 3; i++) {
        FILE *full = fopen("/dev/full", "w");
        cr_assert_not_null(full);
        cr_assert_eq(writers[i](graph, plan, full), HD_IO);
        fclose(full);
    }
    hd_graph_destroy(graph);
}

/* A plan of another program that says nothing of rendering: each pass is a scope by itself, everything is stored. */
Test(plan_json, attachments_of_plans_of_others)
{
    hd_graph *graph;
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    hd_resource buffer = hd_graph_buffer(graph, &(hd_buffer_desc){.bytes = 256});
    hd_image_desc desc = {.width = 4, .height = 4, .format = 37};
    hd_resource one = hd_graph_image(graph, &desc);
    desc.samples = 4;
    hd_resource many = hd_graph_image(graph, &desc);
    hd_graph_pass(graph, &(hd_pass_desc){.uses = HD_USES({buffer, HD_STORAGE_WRITE_COMPUTE},
                                                         {many, HD_COLOR_WRITE, .load = HD_LOAD_DONT_CARE},
                                                         {one, HD_RESOLVE_WRITE, .resolve_of = many})});
    hd_graph_pass(graph, &(hd_pass_desc){.uses = HD_USES({many, HD_COLOR_RW})});
    hd_graph_pass(graph, &(hd_pass_desc){.no_rendering = true, .uses = HD_USES({many, HD_COLOR_RW})});
    static const char text[] = PLAN(Q, "", H, R, SUBMIT("{\"pass\": 0}, {\"pass\": 1}, {\"pass\": 2}"));
    char error[256] = "";
    hd_plan *plan;
    cr_assert_eq(hd_plan_read_json(graph, text, strlen(text), NULL, &plan, error, sizeof(error)), HD_OK, "%s", error);
    hd_plan_view v = hd_plan_read(plan);
    cr_assert_eq(v.scope_count, 2);
    cr_assert_eq(v.attachment_count, 2);
    cr_expect(v.attachments[0].use == 1 && v.attachments[0].load == 2 && v.attachments[0].store == 0 &&
              v.attachments[0].resolve == 2);
    cr_expect(v.attachments[1].use == 0 && v.attachments[1].load == 0 && v.attachments[1].resolve == HD_NONE);
    hd_plan_free(plan, NULL);
    hd_graph_destroy(graph);
}
