#include "mistakes.h"

#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>

#include "tables.h"

static hd_graph *graph;

void hdt_mistakes_in(hd_graph *of)
{
    graph = of;
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
void hdt_good_pass(void)
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
    hdt_good_pass();
    hd_graph_pass(graph, NULL);
    return compile(NULL);
}

static hd_result wrong_pass_type(void)
{
    hdt_good_pass();
    PASS(.name = "culprit", .type = (hd_pass_type)17);
    return compile(NULL);
}

static hd_result endless_cost(void)
{
    hdt_good_pass();
    PASS(.name = "culprit", .root = true, .cost_us = INFINITY);
    return compile(NULL);
}

static hd_result unknown_pin(void)
{
    hdt_good_pass();
    PASS(.name = "culprit", .pin = (hd_pin)4);
    return compile(NULL);
}

static hd_result impossible_pin(void)
{
    hdt_good_pass();
    PASS(.name = "culprit", .type = HD_PASS_GFX, .pin = HD_PIN_COMPUTE);
    return compile(NULL);
}

static hd_result pinned_host(void)
{
    hdt_good_pass();
    PASS(.name = "culprit", .type = HD_PASS_HOST, .pin = HD_PIN_GFX);
    return compile(NULL);
}

static hd_result unknown_load(void)
{
    hdt_good_pass();
    PASS(.name = "culprit", .uses = HD_USES({image("victim"), HD_COLOR_WRITE, .load = (hd_load)2}));
    return compile(NULL);
}

static hd_result image_of_unknown_sharing(void)
{
    hdt_good_pass();
    hd_graph_image(graph,
                   &(hd_image_desc){.name = "victim", .width = 4, .height = 4, .format = 37, .sharing = (hd_sharing)3});
    return compile(NULL);
}

static hd_result buffer_of_unknown_sharing(void)
{
    hdt_good_pass();
    hd_graph_buffer(graph, &(hd_buffer_desc){.name = "victim", .bytes = 4, .sharing = (hd_sharing)UINT32_MAX});
    return compile(NULL);
}

static hd_result import_of_unknown_sharing(void)
{
    hdt_good_pass();
    hd_graph_import(graph, &(hd_import_desc){.name = "victim", .bytes = 4, .sharing = (hd_sharing)3});
    return compile(NULL);
}

static hd_result import_left_where_images_begin(void)
{
    hdt_good_pass();
    hd_graph_import(graph,
                    &(hd_import_desc){.name = "victim", .width = 4, .height = 4, .format = 37, .final_layout = 8});
    return compile(NULL);
}

static hd_result unknown_order(void)
{
    hdt_good_pass();
    return compile(&(hd_compile_desc){.order = (hd_order)3});
}

static hd_result unknown_cache(void)
{
    hdt_good_pass();
    return compile(&(hd_compile_desc){.cache = (hd_cache)3});
}

static hd_result negative_handoff(void)
{
    hdt_good_pass();
    return compile(&(hd_compile_desc){.handoff_us = -1});
}

static hd_result endless_handoff(void)
{
    hdt_good_pass();
    return compile(&(hd_compile_desc){.handoff_us = INFINITY});
}

static hd_result handoff_that_is_no_number(void)
{
    hdt_good_pass();
    return compile(&(hd_compile_desc){.handoff_us = NAN});
}

static hd_result stale_handle(void)
{
    hd_resource old = image("victim");
    hd_graph_begin(graph);
    hdt_good_pass();
    hd_resource fresh = image("fresh");
    PASS(.name = "culprit", .uses = HD_USES({fresh, HD_COLOR_WRITE}, {old, HD_SAMPLED_GRAPHICS}));
    return compile(NULL);
}

static hd_result handle_of_another_graph(void)
{
    hd_graph *other;
    cr_assert_eq(hd_graph_create(NULL, &other), HD_OK);
    hd_resource theirs = hd_graph_buffer(other, &(hd_buffer_desc){.name = "theirs", .bytes = 64});
    hdt_good_pass();
    PASS(.name = "culprit", .type = HD_PASS_COMPUTE, .uses = HD_USES({theirs, HD_STORAGE_WRITE_COMPUTE}));
    hd_graph_destroy(other);
    return compile(NULL);
}

static hd_result handle_that_is_none(void)
{
    hdt_good_pass();
    PASS(.name = "culprit", .type = HD_PASS_COMPUTE, .uses = HD_USES({{0}, HD_STORAGE_WRITE_COMPUTE}));
    return compile(NULL);
}

static hd_result handle_of_an_open_list(void)
{
    hd_resource theirs = hd_graph_buffer(hd_graph_list(graph, 1), &(hd_buffer_desc){.name = "theirs", .bytes = 64});
    hdt_good_pass();
    PASS(.name = "culprit", .type = HD_PASS_COMPUTE, .uses = HD_USES({theirs, HD_STORAGE_WRITE_COMPUTE}));
    return compile(NULL);
}

static hd_result handle_of_a_later_list(void)
{
    hd_graph *first = hd_graph_list(graph, 1);
    hd_resource theirs = hd_graph_buffer(hd_graph_list(graph, 2), &(hd_buffer_desc){.name = "theirs", .bytes = 64});
    hdt_good_pass();
    hd_graph_pass(first, &(hd_pass_desc){.name = "culprit",
                                         .type = HD_PASS_COMPUTE,
                                         .uses = HD_USES({theirs, HD_STORAGE_WRITE_COMPUTE})});
    return compile(NULL);
}

static hd_result history_of_an_old_handle(void)
{
    hd_resource old = image("victim");
    hd_graph_begin(graph);
    hdt_good_pass();
    hd_graph_history(graph, old);
    return compile(NULL);
}

static hd_result pass_of_a_joined_list(void)
{
    hd_graph *list = hd_graph_list(graph, 5);
    hdt_good_pass();
    cr_assert_eq(hd_graph_join(graph), HD_OK);
    cr_assert_eq(hd_graph_pass(list, &(hd_pass_desc){.name = "late", .root = true}).id, 0u);
    return compile(NULL);
}

static hd_result list_of_a_list(void)
{
    hd_graph *list = hd_graph_list(graph, 5);
    hdt_good_pass();
    cr_assert_null(hd_graph_list(list, 6));
    return compile(NULL);
}

static hd_result bad_image(void)
{
    hdt_good_pass();
    hd_graph_image(graph, &(hd_image_desc){.name = "victim", .width = 4, .height = 4, .format = 37, .mips = 9});
    return compile(NULL);
}

static hd_result bad_buffer(void)
{
    hdt_good_pass();
    hd_graph_buffer(graph, &(hd_buffer_desc){.name = "victim"});
    return compile(NULL);
}

static hd_result bad_import(void)
{
    hdt_good_pass();
    hd_graph_import(graph, &(hd_import_desc){.name = "victim", .bytes = UINT64_MAX});
    return compile(NULL);
}

static hd_result range_outside(void)
{
    hdt_good_pass();
    hd_resource a = image("other"), b = buffer("victim");
    PASS(.name = "culprit", .type = HD_PASS_TRANSFER,
         .uses = HD_USES({a, HD_TRANSFER_DST}, {b, HD_TRANSFER_DST, .range = {.offset = 4000, .bytes = 97}}));
    return compile(NULL);
}

static hd_result access_of_another_kind(void)
{
    hdt_good_pass();
    PASS(.name = "culprit", .uses = HD_USES({buffer("victim"), HD_COLOR_WRITE}));
    return compile(NULL);
}

static hd_result custom_access_without_description(void)
{
    hdt_good_pass();
    PASS(.name = "culprit", .uses = HD_USES({buffer("victim"), HD_ACCESS_CUSTOM}));
    return compile(NULL);
}

static hd_result unknown_access(void)
{
    hdt_good_pass();
    PASS(.name = "culprit", .uses = HD_USES({buffer("victim"), (hd_access)77}));
    return compile(NULL);
}

static hd_result custom_access(hd_resource of, hd_custom_access own)
{
    hdt_good_pass();
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
    hdt_good_pass();
    PASS(.name = "culprit", .type = HD_PASS_TRANSFER, .uses = HD_USES({image("victim"), HD_COLOR_WRITE}));
    return compile(NULL);
}

static hd_result two_uses_that_differ(void)
{
    hdt_good_pass();
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
    hdt_good_pass();
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
    hdt_good_pass();
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
    hdt_good_pass();
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
    hdt_good_pass();
    hd_result result = compile(&desc);
    return result == HD_OK ? compile(&desc) : result;
}

static hd_result no_queues(void)
{
    static const hd_queue_desc none[1] = {{HD_QUEUE_GFX, 0}};
    hdt_good_pass();
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
    hdt_good_pass();
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
    hdt_good_pass();
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

#define NONE HD_NONE
const hdt_mistake hdt_mistakes[HDT_MISTAKES] = {
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
    {HD_BAD_HANDLE, stale_handle, 1, NONE, 1, {"pass 1", "culprit", "use 1", "of an earlier frame"}},
    {HD_BAD_HANDLE, handle_of_another_graph, 1, NONE, 0, {"pass 1", "culprit", "use 0", "of another graph"}},
    {HD_BAD_HANDLE, handle_that_is_none, 1, NONE, 0, {"pass 1", "culprit", "use 0", "is none"}},
    {HD_BAD_HANDLE, handle_of_an_open_list, 1, NONE, 0, {"pass 1", "culprit", "use 0", "not joined yet"}},
    {HD_BAD_HANDLE, handle_of_a_later_list, 1, NONE, 0, {"pass 1", "culprit", "use 0", "joins later"}},
    {HD_BAD_HANDLE, history_of_an_old_handle, NONE, 1, NONE, {"history", "of an earlier frame"}},
    {HD_LIST_JOINED, pass_of_a_joined_list, NONE, NONE, NONE, {"order key 5"}},
    {HD_INVALID_ARGUMENT, list_of_a_list, NONE, NONE, NONE, {"order key 5"}},
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
