#include <criterion/criterion.h>
#include <heddle/vk.h>

#include <stdio.h>
#include <string.h>

#include "mistakes.h"
#include "other_results.h"

/* Every result that heddle has is provoked here, by name: a result without a case fails the test. A mistake in a frame
 * says which pass, which resource and which use in numbers and in a sentence with their names, is logged once, sticks,
 * and is gone with the next frame. */

typedef struct log_lines {
    uint32_t errors;
    char last[512];
} log_lines;

static log_lines logged;
static hd_graph *graph;

static void count_lines(hd_log_level level, const char *text, void *user)
{
    log_lines *lines = user;
    lines->errors += level == HD_LOG_ERROR;
    snprintf(lines->last, sizeof(lines->last), "%s", text);
}

#define PASS(...) hd_graph_pass(graph, &(hd_pass_desc){__VA_ARGS__})

static hd_result compile(const hd_compile_desc *desc)
{
    const hd_plan *plan = NULL;
    hd_result result = hd_graph_compile(graph, desc, &plan);
    cr_assert_eq(plan == NULL, result != HD_OK);
    return result;
}

static void check_mistake(const hdt_mistake *m)
{
    const char *name = hd_result_name(m->result);
    logged = (log_lines){0};
    hd_graph_begin(graph);
    hd_result result = m->make();
    const hd_error *error = hd_graph_error(graph);
    cr_assert_eq(result, m->result, "%s, not %s: %s", hd_result_name(result), name, error->text);
    cr_assert_eq(error->result, m->result);
    cr_assert(error->pass == m->pass && error->resource == m->resource && error->use == m->use,
              "%s: pass %d, resource %d, use %d: %s", name, (int)error->pass, (int)error->resource, (int)error->use,
              error->text);
    cr_assert(strstr(error->text, hd_result_text(m->result)), "%s", error->text);
    for (int i = 0; i < 4 && m->says[i]; i++)
        cr_assert(strstr(error->text, m->says[i]), "'%s' does not say '%s'", error->text, m->says[i]);
    cr_assert_eq(logged.errors, 1u, "%s: logged %u times", name, logged.errors);
    cr_assert_str_eq(logged.last, error->text);
    /* It sticks: nothing more is declared, no other error takes its place, nothing compiles. */
    uint32_t passes = hd_graph_pass_count(graph), resources = hd_graph_resource_count(graph);
    cr_assert_eq(hd_graph_image(graph, NULL).id, 0u);
    cr_assert_eq(hd_graph_buffer(graph, NULL).id, 0u);
    cr_assert_eq(hd_graph_import(graph, NULL).id, 0u);
    cr_assert_eq(hd_graph_history(graph, (hd_resource){0}).id, 0u);
    cr_assert_eq(hd_graph_history_with(graph, NULL).id, 0u);
    cr_assert_eq(hd_graph_pass(graph, NULL).id, 0u);
    cr_assert_eq(compile(NULL), m->result);
    cr_assert(hd_graph_pass_count(graph) == passes && hd_graph_resource_count(graph) == resources);
    cr_assert_eq(logged.errors, 1u);
    hd_graph_begin(graph);
    hdt_good_pass();
    cr_assert_eq(compile(NULL), HD_OK, "the frame after %s", name);
}

static void setup(void)
{
    cr_assert_eq(hd_graph_create(&(hd_graph_desc){.log = {count_lines, &logged}}, &graph), HD_OK);
    hdt_mistakes_in(graph);
}

static void teardown(void)
{
    hd_graph_destroy(graph);
}

TestSuite(errors, .init = setup, .fini = teardown);

Test(errors, mistakes_name_pass_resource_and_use)
{
    for (int i = 0; i < HDT_MISTAKES; i++)
        check_mistake(&hdt_mistakes[i]);
}

/* Logs hold one line a call, whatever names hold. */
Test(errors, names_with_line_ends_leave_one_line)
{
    PASS(.name = "two\nlines\x1b[0m", .type = HD_PASS_GFX, .pin = HD_PIN_TRANSFER, .root = true);
    cr_assert(strstr(logged.last, "two lines [0m"), "%s", logged.last);
    hd_graph_begin(graph);
    PASS(.name = "two\r\nlines", .type = (hd_pass_type)9);
    cr_assert(strstr(hd_graph_error(graph)->text, "two  lines: type"), "%s", hd_graph_error(graph)->text);
    cr_assert_str_eq(logged.last, hd_graph_error(graph)->text);
}

Test(errors, other_results)
{
    for (int i = 0; i < HDT_OTHER_RESULTS; i++) {
        hd_graph_begin(graph);
        const hdt_other_result *other = &hdt_other_results[i];
        hd_result result = other->make(graph);
        cr_assert_eq(result, other->result, "%s, not %s", hd_result_name(result), hd_result_name(other->result));
    }
}

Test(errors, every_result_has_a_case_and_a_sentence_of_its_own)
{
    for (int r = 0; r < HD_RESULT_COUNT; r++) {
        bool found = false;
        for (int i = 0; i < HDT_MISTAKES; i++)
            found |= hdt_mistakes[i].result == (hd_result)r;
        for (int i = 0; i < HDT_OTHER_RESULTS; i++)
            found |= hdt_other_results[i].result == (hd_result)r;
        cr_assert(found, "%s has no case here", hd_result_name((hd_result)r));
        cr_assert_gt(strlen(hd_result_text((hd_result)r)), 3u);
        for (int k = 0; k < r; k++)
            cr_assert_str_neq(hd_result_text((hd_result)r), hd_result_text((hd_result)k));
    }
}
