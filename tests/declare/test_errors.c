#include <criterion/criterion.h>
#include <heddle/vk.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "other_results.h"
#include "tables.h"

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

static hd_resource image(const char *name)
{
    return hd_graph_image(graph, &(hd_image_desc){.name = name, .width = 64, .height = 64, .format = 37, .mips = 2});
}

static hd_resource buffer(const char *name)
{
    return hd_graph_buffer(graph, &(hd_buffer_desc){.name = name, .bytes = 4096});
}

#define PASS(...) hd_graph_pass(graph, &(hd_pass_desc){__VA_ARGS__})

/* A pass that is in order, so that indices are not all 0. */
static void one_good_pass(void)
{
    PASS(.name = "good", .root = true, .uses = HD_USES({image("fine"), HD_COLOR_WRITE}));
}

static hd_result compile(const hd_compile_desc *desc)
{
    const hd_plan *plan = NULL;
    hd_result result = hd_graph_compile(graph, desc, &plan);
    cr_assert_eq(plan == NULL, result != HD_OK);
    return result;
}

/* ---- mistakes in a frame; the pass that errs is 'culprit', the resource 'victim' ---- */

static hd_result null_description(void)
{
    one_good_pass();
    hd_graph_pass(graph, NULL);
    return compile(NULL);
}

static hd_result wrong_pass_type(void)
{
    one_good_pass();
    PASS(.name = "culprit", .type = (hd_pass_type)17);
    return compile(NULL);
}

static hd_result endless_cost(void)
{
    one_good_pass();
    PASS(.name = "culprit", .root = true, .cost_us = INFINITY);
    return compile(NULL);
}

static hd_result unknown_pin(void)
{
    one_good_pass();
    PASS(.name = "culprit", .pin = (hd_pin)4);
    return compile(NULL);
}

static hd_result impossible_pin(void)
{
    one_good_pass();
    PASS(.name = "culprit", .type = HD_PASS_GFX, .pin = HD_PIN_COMPUTE);
    return compile(NULL);
}

static hd_result pinned_host(void)
{
    one_good_pass();
    PASS(.name = "culprit", .type = HD_PASS_HOST, .pin = HD_PIN_GFX);
    return compile(NULL);
}

static hd_result unknown_load(void)
{
    one_good_pass();
    PASS(.name = "culprit", .uses = HD_USES({image("victim"), HD_COLOR_WRITE, .load = (hd_load)2}));
    return compile(NULL);
}

static hd_result image_of_unknown_sharing(void)
{
    one_good_pass();
    hd_graph_image(graph, &(hd_image_desc){
                              .name = "victim", .width = 4, .height = 4, .format = 37, .sharing = (hd_sharing)3});
    return compile(NULL);
}

static hd_result buffer_of_unknown_sharing(void)
{
    one_good_pass();
    hd_graph_buffer(graph, &(hd_buffer_desc){.name = "victim", .bytes = 4, .sharing = (hd_sharing)UINT32_MAX});
    return compile(NULL);
}

static hd_result import_of_unknown_sharing(void)
{
    one_good_pass();
    hd_graph_import(graph, &(hd_import_desc){.name = "victim", .bytes = 4, .sharing = (hd_sharing)3});
    return compile(NULL);
}

static hd_result import_left_where_images_begin(void)
{
    one_good_pass();
    hd_graph_import(graph,
                    &(hd_import_desc){.name = "victim", .width = 4, .height = 4, .format = 37, .final_layout = 8});
    return compile(NULL);
}

static hd_result unknown_order(void)
{
    one_good_pass();
    return compile(&(hd_compile_desc){.order = (hd_order)3});
}

static hd_result unknown_cache(void)
{
    one_good_pass();
    return compile(&(hd_compile_desc){.cache = (hd_cache)3});
}

static hd_result negative_handoff(void)
{
    one_good_pass();
    return compile(&(hd_compile_desc){.handoff_us = -1});
}

static hd_result endless_handoff(void)
{
    one_good_pass();
    return compile(&(hd_compile_desc){.handoff_us = INFINITY});
}

static hd_result handoff_that_is_no_number(void)
{
    one_good_pass();
    return compile(&(hd_compile_desc){.handoff_us = NAN});
}

static hd_result stale_handle(void)
{
    hd_resource old = image("victim");
    hd_graph_begin(graph);
    one_good_pass();
    hd_resource fresh = image("fresh");
    PASS(.name = "culprit", .uses = HD_USES({fresh, HD_COLOR_WRITE}, {old, HD_SAMPLED_GRAPHICS}));
    return compile(NULL);
}

static hd_result bad_image(void)
{
    one_good_pass();
    hd_graph_image(graph, &(hd_image_desc){.name = "victim", .width = 4, .height = 4, .format = 37, .mips = 9});
    return compile(NULL);
}

static hd_result bad_buffer(void)
{
    one_good_pass();
    hd_graph_buffer(graph, &(hd_buffer_desc){.name = "victim"});
    return compile(NULL);
}

static hd_result bad_import(void)
{
    one_good_pass();
    hd_graph_import(graph, &(hd_import_desc){.name = "victim", .bytes = UINT64_MAX});
    return compile(NULL);
}

static hd_result range_outside(void)
{
    one_good_pass();
    hd_resource a = image("other"), b = buffer("victim");
    PASS(.name = "culprit", .type = HD_PASS_TRANSFER,
         .uses = HD_USES({a, HD_TRANSFER_DST}, {b, HD_TRANSFER_DST, .range = {.offset = 4000, .bytes = 97}}));
    return compile(NULL);
}

static hd_result access_of_another_kind(void)
{
    one_good_pass();
    PASS(.name = "culprit", .uses = HD_USES({buffer("victim"), HD_COLOR_WRITE}));
    return compile(NULL);
}

static hd_result custom_access_without_description(void)
{
    one_good_pass();
    PASS(.name = "culprit", .uses = HD_USES({buffer("victim"), HD_ACCESS_CUSTOM}));
    return compile(NULL);
}

static hd_result unknown_access(void)
{
    one_good_pass();
    PASS(.name = "culprit", .uses = HD_USES({buffer("victim"), (hd_access)77}));
    return compile(NULL);
}

static hd_result custom_access(hd_resource of, hd_custom_access own)
{
    one_good_pass();
    PASS(.name = "culprit", .uses = HD_USES({of, HD_ACCESS_CUSTOM, .custom = &own}));
    return compile(NULL);
}

static hd_result custom_access_without_layout(void)
{
    return custom_access(image("victim"), (hd_custom_access){.stages = 0x80, .access = 0x20, .reads = true});
}

static hd_result custom_access_where_images_begin(void)
{
    return custom_access(image("victim"),
                         (hd_custom_access){.stages = 0x80, .access = 0x20, .layout = 8, .reads = true});
}

static hd_result custom_access_that_does_nothing(void)
{
    return custom_access(buffer("victim"), (hd_custom_access){.stages = 0x80, .access = 0x20});
}

static hd_result custom_access_at_the_top(void)
{
    return custom_access(buffer("victim"), (hd_custom_access){.stages = 0x81, .access = 0x20, .reads = true});
}

static hd_result custom_access_without_stages(void)
{
    return custom_access(buffer("victim"), (hd_custom_access){.access = 0x20, .reads = true});
}

/* COLOR_ATTACHMENT_READ in the fragment shader. */
static hd_result custom_access_of_other_stages(void)
{
    return custom_access(buffer("victim"), (hd_custom_access){.stages = 0x80, .access = 0xa0, .reads = true});
}

static hd_result custom_access_of_the_host(void)
{
    return custom_access(buffer("victim"), (hd_custom_access){.stages = 0x4080, .access = 0x20, .reads = true});
}

static hd_result access_of_another_pass_type(void)
{
    one_good_pass();
    PASS(.name = "culprit", .type = HD_PASS_TRANSFER, .uses = HD_USES({image("victim"), HD_COLOR_WRITE}));
    return compile(NULL);
}

static hd_result two_uses_that_differ(void)
{
    one_good_pass();
    hd_resource a = image("victim"), b = buffer("other");
    PASS(.name = "culprit", .uses = HD_USES({a, HD_COLOR_WRITE}, {b, HD_TRANSFER_DST}, {a, HD_TRANSFER_SRC}));
    return compile(NULL);
}

static hd_result history_is_written(void)
{
    hd_resource a = image("a");
    hd_resource h = hd_graph_history(graph, a);
    PASS(.name = "culprit", .uses = HD_USES({a, HD_COLOR_WRITE}, {h, HD_COLOR_WRITE}));
    return compile(NULL);
}

static hd_result history_of_a_history(void)
{
    hd_graph_history(graph, hd_graph_history(graph, image("victim")));
    return compile(NULL);
}

static hd_result history_of_an_import(void)
{
    hd_graph_history(graph, hd_graph_import(graph, &(hd_import_desc){.name = "victim", .bytes = 64}));
    return compile(NULL);
}

static hd_result second_history(void)
{
    hd_resource a = image("victim");
    hd_graph_history(graph, a);
    hd_graph_history(graph, a);
    return compile(NULL);
}

static hd_result read_of_nothing(void)
{
    one_good_pass();
    hd_resource a = image("victim");
    PASS(.name = "half", .uses = HD_USES({a, HD_COLOR_WRITE, .range = {.mip_count = 1}}));
    PASS(.name = "culprit", .root = true, .uses = HD_USES({buffer("b"), HD_TRANSFER_DST}, {a, HD_TRANSFER_SRC}));
    return compile(NULL);
}

static hd_result version_forks(void)
{
    hd_resource a = image("victim"), next, other;
    PASS(.uses = HD_USES({a, HD_COLOR_WRITE, .next = &next}));
    PASS(.name = "culprit", .uses = HD_USES({a, HD_COLOR_WRITE, .next = &other}));
    cr_assert_eq(other.id, 0u);
    return compile(NULL);
}

/* Reads what the write ends, and the write needs what it makes. */
static hd_result version_cycle(void)
{
    hd_resource a = image("victim"), b = buffer("b"), next;
    PASS(.uses = HD_USES({a, HD_COLOR_WRITE}, {b, HD_TRANSFER_DST}));
    PASS(.name = "early", .root = true, .uses = HD_USES({b, HD_TRANSFER_DST}, {a, HD_COLOR_WRITE, .next = &next}));
    PASS(.name = "late", .root = true, .uses = HD_USES({a, HD_TRANSFER_SRC}, {b, HD_TRANSFER_DST}));
    return compile(NULL);
}

static hd_result resolve_of_one_sample(void)
{
    one_good_pass();
    hd_resource from = image("a"), to = image("victim");
    PASS(.name = "culprit", .uses = HD_USES({from, HD_COLOR_WRITE}, {to, HD_RESOLVE_WRITE, .resolve_of = from}));
    return compile(NULL);
}

static hd_result no_queue_for_it(void)
{
    static const hd_queue_desc compute = {HD_QUEUE_COMPUTE, 1};
    PASS(.root = true, .type = HD_PASS_COMPUTE, .uses = HD_USES({buffer("b"), HD_STORAGE_WRITE_COMPUTE}));
    PASS(.name = "culprit", .root = true, .uses = HD_USES({image("a"), HD_COLOR_WRITE}));
    return compile(&(hd_compile_desc){.queues = &compute, .queue_count = 1});
}

static hd_result over_budget(void)
{
    one_good_pass();
    return compile(&(hd_compile_desc){.memory_budget = 1});
}

/* Answers one byte more each time it is asked. */
static hd_result restless(const hd_resource_info *info, hd_memory_need *need, void *user)
{
    *need = (hd_memory_need){.bytes = info->bytes + ++*(uint64_t *)user, .alignment = 1};
    return HD_OK;
}

static hd_result size_callback_changes_its_mind(void)
{
    uint64_t asked = 0;
    const hd_compile_desc desc = {.size = restless, .size_user = &asked, .cache = HD_CACHE_CHECK};
    one_good_pass();
    hd_result result = compile(&desc);
    return result == HD_OK ? compile(&desc) : result;
}

static hd_result no_queues(void)
{
    static const hd_queue_desc none[1] = {{HD_QUEUE_GFX, 0}};
    one_good_pass();
    return compile(&(hd_compile_desc){.queues = none, .queue_count = 0});
}

static hd_result refuse(const hd_resource_info *info, hd_memory_need *need, void *user)
{
    (void)user;
    *need = (hd_memory_need){.bytes = 1, .alignment = 1};
    return info->is_buffer ? HD_UNSUPPORTED : HD_OK;
}

static hd_result size_callback_refuses(void)
{
    one_good_pass();
    PASS(.type = HD_PASS_TRANSFER, .root = true, .uses = HD_USES({buffer("victim"), HD_TRANSFER_DST}));
    return compile(&(hd_compile_desc){.size = refuse});
}

static hd_result odd_need(const hd_resource_info *info, hd_memory_need *need, void *user)
{
    *need = info->is_buffer ? *(hd_memory_need *)user : (hd_memory_need){.bytes = 1, .alignment = 1};
    return HD_OK;
}

static hd_result compile_with_need(hd_memory_need need)
{
    one_good_pass();
    PASS(.type = HD_PASS_TRANSFER, .root = true, .uses = HD_USES({buffer("victim"), HD_TRANSFER_DST}));
    return compile(&(hd_compile_desc){.size = odd_need, .size_user = &need});
}

static hd_result size_callback_aligns_oddly(void)
{
    return compile_with_need((hd_memory_need){.bytes = 1, .alignment = 3});
}

static hd_result size_callback_aligns_too_far(void)
{
    return compile_with_need((hd_memory_need){.bytes = 1, .alignment = UINT64_C(1) << 63});
}

static hd_result size_callback_wants_nothing(void)
{
    return compile_with_need((hd_memory_need){.bytes = 0, .alignment = 1});
}

static hd_result size_callback_wants_too_much(void)
{
    return compile_with_need((hd_memory_need){.bytes = UINT64_MAX, .alignment = 1});
}

/* More accesses of their own than an index of 16 bits can tell apart: this pass brings the first one too many. */
#define TOO_MANY_ACCESSES (UINT16_MAX + 1 - HDI_ACCESS_CUSTOM_FIRST)
static char too_many_name[24];

static hd_result too_many_accesses(void)
{
    snprintf(too_many_name, sizeof(too_many_name), "pass %d", TOO_MANY_ACCESSES);
    static const hd_custom_access own = {.stages = 0x10000, .access = 0x8000, .reads = true, .writes = true};
    hd_resource b = hd_graph_import(graph, &(hd_import_desc){.name = "victim", .bytes = 64});
    for (uint32_t p = 0; p < 65536 && hd_graph_error(graph)->result == HD_OK; p++)
        PASS(.name = "culprit", .uses = HD_USES({b, HD_ACCESS_CUSTOM, .custom = &own}));
    return compile(NULL);
}

typedef struct mistake {
    hd_result result;
    hd_result (*make)(void);
    uint32_t pass, resource, use;
    const char *says[3]; /* the sentence names them */
} mistake;

#define NONE HD_NONE
static const mistake mistakes[] = {
    {HD_INVALID_ARGUMENT, null_description, 1, NONE, NONE, {"pass 1"}},
    {HD_INVALID_ARGUMENT, wrong_pass_type, 1, NONE, NONE, {"pass 1", "culprit", "type"}},
    {HD_INVALID_ARGUMENT, endless_cost, 1, NONE, NONE, {"pass 1", "culprit", "cost_us"}},
    {HD_INVALID_ARGUMENT, unknown_pin, 1, NONE, NONE, {"pass 1", "culprit", "pin"}},
    {HD_BAD_PIN, impossible_pin, 1, NONE, NONE, {"pass 1", "culprit"}},
    {HD_BAD_PIN, pinned_host, 1, NONE, NONE, {"pass 1", "culprit"}},
    {HD_INVALID_ARGUMENT, unknown_load, 1, 1, 0, {"culprit", "victim", "load"}},
    {HD_INVALID_ARGUMENT, unknown_order, NONE, NONE, NONE, {"order"}},
    {HD_INVALID_ARGUMENT, unknown_cache, NONE, NONE, NONE, {"cache"}},
    {HD_INVALID_ARGUMENT, negative_handoff, NONE, NONE, NONE, {"handoff_us"}},
    {HD_INVALID_ARGUMENT, endless_handoff, NONE, NONE, NONE, {"handoff_us"}},
    {HD_INVALID_ARGUMENT, handoff_that_is_no_number, NONE, NONE, NONE, {"handoff_us"}},
    {HD_INVALID_ARGUMENT, no_queues, NONE, NONE, NONE, {"queue set"}},
    {HD_INVALID_ARGUMENT, size_callback_aligns_oddly, NONE, 1, NONE, {"resource 1", "victim", "size callback"}},
    {HD_INVALID_ARGUMENT, size_callback_aligns_too_far, NONE, 1, NONE, {"resource 1", "victim", "size callback"}},
    {HD_INVALID_ARGUMENT, size_callback_wants_nothing, NONE, 1, NONE, {"resource 1", "victim", "size callback"}},
    {HD_INVALID_ARGUMENT, size_callback_wants_too_much, NONE, 1, NONE, {"resource 1", "victim", "size callback"}},
    {HD_BAD_HANDLE, stale_handle, 1, NONE, 1, {"pass 1", "culprit"}},
    {HD_BAD_DESC, bad_image, NONE, 1, NONE, {"resource 1", "victim", "mips"}},
    {HD_BAD_DESC, bad_buffer, NONE, 1, NONE, {"resource 1", "victim", "bytes"}},
    {HD_BAD_DESC, bad_import, NONE, 1, NONE, {"resource 1", "victim", "bytes"}},
    {HD_INVALID_ARGUMENT, image_of_unknown_sharing, NONE, 1, NONE, {"resource 1", "victim", "sharing"}},
    {HD_INVALID_ARGUMENT, buffer_of_unknown_sharing, NONE, 1, NONE, {"resource 1", "victim", "sharing"}},
    {HD_INVALID_ARGUMENT, import_of_unknown_sharing, NONE, 1, NONE, {"resource 1", "victim", "sharing"}},
    {HD_INVALID_ARGUMENT, import_left_where_images_begin, NONE, 1, NONE, {"resource 1", "victim", "final_layout"}},
    {HD_BAD_RANGE, range_outside, 1, 2, 1, {"culprit", "resource 2", "victim"}},
    {HD_BAD_ACCESS, access_of_another_kind, 1, 1, 0, {"culprit", "victim"}},
    {HD_BAD_ACCESS, unknown_access, 1, 1, 0, {"culprit", "victim", "hd_access"}},
    {HD_BAD_ACCESS, custom_access_without_description, 1, 1, 0, {"culprit", "victim", "custom is null"}},
    {HD_BAD_ACCESS, custom_access_without_layout, 1, 0, 0, {"culprit", "victim", "custom->layout"}},
    {HD_BAD_ACCESS, custom_access_where_images_begin, 1, 0, 0, {"culprit", "victim", "->layout is PREINITIALIZED"}},
    {HD_BAD_ACCESS, custom_access_that_does_nothing, 1, 0, 0, {"culprit", "victim", "->reads"}},
    {HD_BAD_ACCESS, custom_access_at_the_top, 1, 0, 0, {"culprit", "victim", "->stages has TOP"}},
    {HD_BAD_ACCESS, custom_access_without_stages, 1, 0, 0, {"culprit", "victim", "->stages is 0"}},
    {HD_BAD_ACCESS, custom_access_of_other_stages, 1, 0, 0, {"culprit", "victim", "->access: none of its stages"}},
    {HD_BAD_PASS_TYPE, custom_access_of_the_host, 1, 0, 0, {"culprit", "victim", "->stages: no queue"}},
    {HD_BAD_PASS_TYPE, access_of_another_pass_type, 1, 1, 0, {"culprit", "victim"}},
    {HD_CONFLICTING_USES, two_uses_that_differ, 1, 1, 2, {"culprit", "victim"}},
    {HD_HISTORY_WRITTEN, history_is_written, 0, 1, 1, {"culprit"}},
    {HD_HISTORY_OF_HISTORY, history_of_a_history, NONE, 2, NONE, {"resource 2", "victim", "of a history"}},
    {HD_HISTORY_OF_HISTORY, history_of_an_import, NONE, 1, NONE, {"resource 1", "victim", "of an import"}},
    {HD_SECOND_HISTORY, second_history, NONE, 2, NONE, {"resource 2", "victim"}},
    {HD_UNWRITTEN_READ, read_of_nothing, 2, 1, 1, {"pass 2", "culprit", "victim"}},
    {HD_VERSION_FORKED, version_forks, 1, 0, 0, {"culprit", "victim"}},
    {HD_VERSION_CYCLE, version_cycle, 2, 0, 0, {"early", "late", "victim"}},
    {HD_BAD_RESOLVE, resolve_of_one_sample, 1, 2, 1, {"culprit", "victim"}},
    {HD_NO_QUEUE, no_queue_for_it, 1, NONE, NONE, {"pass 1", "culprit"}},
    {HD_OVER_BUDGET, over_budget, NONE, NONE, NONE, {"1 bytes are allowed", "65536 would do"}},
    {HD_CACHE_MISMATCH, size_callback_changes_its_mind, NONE, NONE, NONE, {"size callback"}},
    {HD_UNSUPPORTED, size_callback_refuses, NONE, 1, NONE, {"resource 1", "victim", "size callback"}},
    {HD_TOO_LARGE, too_many_accesses, TOO_MANY_ACCESSES, 0, 0, {too_many_name, "culprit", "victim"}},
};
enum { MISTAKES = sizeof(mistakes) / sizeof(mistakes[0]) };

static void check_mistake(const mistake *m)
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
    for (int i = 0; i < 3 && m->says[i]; i++)
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
    one_good_pass();
    cr_assert_eq(compile(NULL), HD_OK, "the frame after %s", name);
}

static void setup(void)
{
    cr_assert_eq(hd_graph_create(&(hd_graph_desc){.log = {count_lines, &logged}}, &graph), HD_OK);
}

static void teardown(void)
{
    hd_graph_destroy(graph);
}

TestSuite(errors, .init = setup, .fini = teardown);

Test(errors, mistakes_name_pass_resource_and_use)
{
    for (int i = 0; i < MISTAKES; i++)
        check_mistake(&mistakes[i]);
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
        for (int i = 0; i < MISTAKES; i++)
            found |= mistakes[i].result == (hd_result)r;
        for (int i = 0; i < HDT_OTHER_RESULTS; i++)
            found |= hdt_other_results[i].result == (hd_result)r;
        cr_assert(found, "%s has no case here", hd_result_name((hd_result)r));
        cr_assert_gt(strlen(hd_result_text((hd_result)r)), 3u);
        for (int k = 0; k < r; k++)
            cr_assert_str_neq(hd_result_text((hd_result)r), hd_result_text((hd_result)k));
    }
}

/* Functions that take pointers refuse null ones where the header does not allow them. */
Test(errors, null_arguments)
{
    const hd_plan *plan;
    hd_plan *read;
    hd_plan_stats stats;
    cr_assert_eq(hd_graph_create(NULL, NULL), HD_INVALID_ARGUMENT);
    cr_assert_eq(hd_graph_join(NULL), HD_INVALID_ARGUMENT);
    cr_assert_eq(hd_graph_compile(NULL, NULL, &plan), HD_INVALID_ARGUMENT);
    cr_assert_eq(hd_graph_compile(graph, NULL, NULL), HD_INVALID_ARGUMENT);
    one_good_pass();
    cr_assert_eq(hd_graph_compile(graph, NULL, &plan), HD_OK);
    cr_assert_eq(hd_plan_stats_get(NULL, plan, 0, &stats), HD_INVALID_ARGUMENT);
    cr_assert_eq(hd_plan_stats_get(graph, NULL, 0, &stats), HD_INVALID_ARGUMENT);
    cr_assert_eq(hd_plan_stats_get(graph, plan, 0, NULL), HD_INVALID_ARGUMENT);
    cr_assert_eq(hd_plan_verify(NULL, plan, NULL), HD_INVALID_ARGUMENT);
    cr_assert_eq(hd_plan_verify(graph, NULL, NULL), HD_INVALID_ARGUMENT);
    cr_assert_eq(hd_plan_read_json(NULL, "", 0, NULL, &read, NULL, 0), HD_INVALID_ARGUMENT);
    cr_assert_eq(hd_plan_read_json(graph, NULL, 1, NULL, &read, NULL, 0), HD_INVALID_ARGUMENT);
    cr_assert_eq(hd_plan_read_json(graph, "", 0, NULL, NULL, NULL, 0), HD_INVALID_ARGUMENT);
    cr_assert_eq(hd_graph_read_fgt(NULL, "", 0, "f", NULL, 0), HD_INVALID_ARGUMENT);
    cr_assert_eq(hd_graph_read_fgt(graph, NULL, 1, "f", NULL, 0), HD_INVALID_ARGUMENT);
    cr_assert_eq(hd_graph_write_fgt(NULL, stderr), HD_INVALID_ARGUMENT);
    cr_assert_eq(hd_graph_write_fgt(graph, NULL), HD_INVALID_ARGUMENT);
    cr_assert_eq(hd_graph_write_fgt_with(NULL, NULL, stderr), HD_INVALID_ARGUMENT);
    cr_assert_null(hd_graph_fgt_desc(NULL)->queues);
    hd_graph_fgt_error(NULL, "f", NULL, 0);
    hd_graph *list = hd_graph_list(graph, 1);
    cr_assert_eq(hd_graph_write_fgt(list, stderr), HD_INVALID_ARGUMENT);
    cr_assert_eq(hd_graph_read_fgt(list, "graph g\n", 8, "f", NULL, 0), HD_INVALID_ARGUMENT);
    static hd_result (*const writers[])(const hd_graph *, const hd_plan *,
                                        FILE *) = {hd_plan_write_json, hd_plan_write_dot, hd_plan_write_html};
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(writers[i](NULL, plan, stderr), HD_INVALID_ARGUMENT);
        cr_assert_eq(writers[i](graph, NULL, stderr), HD_INVALID_ARGUMENT);
        cr_assert_eq(writers[i](graph, plan, NULL), HD_INVALID_ARGUMENT);
    }
    hd_graph_destroy(NULL);
    hd_plan_free(NULL, NULL);
    hd_plan_reasons_free(NULL, NULL);
}
