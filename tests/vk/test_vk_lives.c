#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

#include "stub_driver.h"

/* What is destroyed or begun anew too early, and why an hd_vk cannot be made. On a device that does nothing. */

typedef struct world {
    hd_vk *vk;
    hd_graph *graph;
    hd_resource words;
    uint32_t runs;
    char logged[512];
} world;

static void note(hd_log_level level, const char *text, void *user)
{
    world *w = user;
    if (level <= HD_LOG_WARNING)
        snprintf(w->logged, sizeof(w->logged), "%s", text);
}

static void begin_within(hd_recorder *recorder, void *user)
{
    (void)recorder;
    world *w = user;
    hd_graph_begin(w->graph);
    cr_expect_eq(hd_graph_join(w->graph), HD_INVALID_ARGUMENT);
#ifndef NDEBUG
    cr_expect_eq(hd_graph_pass(w->graph, &(hd_pass_desc){.root = true}).id, 0u);
#endif
    hd_graph_destroy(w->graph);
    w->runs++;
}

static void declare(world *w, hd_record_fn record)
{
    hd_resource words = hd_graph_buffer(w->graph, &(hd_buffer_desc){.name = "words", .bytes = 64});
    hd_graph_pass(w->graph, &(hd_pass_desc){.name = "only",
                                            .type = HD_PASS_COMPUTE,
                                            .root = true,
                                            .record = record,
                                            .user = w,
                                            .uses = HD_USES({words, HD_STORAGE_WRITE_COMPUTE})});
}

/* Jobs of several workers, destroyed before the hd_vk that uses them; a callback that ends the graph of its frame. */
Test(vk_lives, too_early)
{
    for (uint32_t workers = 1; workers <= 3; workers += 2) {
        world w = {0};
        hd_jobs *jobs;
        hd_vk_desc desc = hdb_stub_desc(3);
        cr_assert_eq(hd_jobs_create(&(hd_jobs_desc){.worker_count = workers, .log = {note, &w}}, &jobs), HD_OK);
        desc.jobs = jobs;
        cr_assert_eq(hd_vk_create(&desc, &w.vk), HD_OK);
        cr_assert_eq(hd_graph_create(&(hd_graph_desc){.log = {note, &w}}, &w.graph), HD_OK);
        hd_jobs_destroy(jobs);
        cr_expect(strstr(w.logged, "before the hd_vk_destroy of 1"), "'%s'", w.logged);
        declare(&w, begin_within);
        cr_expect_eq(hd_vk_frame(w.vk, w.graph), HD_OK);
        cr_expect_eq(w.runs, 1u);
        cr_expect(strstr(w.logged, "hd_graph_destroy"), "'%s'", w.logged);
        cr_expect_eq(hd_graph_pass_count(w.graph), 1u, "the graph is there, and holds the frame");
        hd_graph_begin(w.graph);
        declare(&w, NULL);
        cr_expect_eq(hd_vk_frame(w.vk, w.graph), HD_INVALID_ARGUMENT);
        cr_expect(strstr(hd_graph_error(w.graph)->text, "hd_graph_destroy"), "%s", hd_graph_error(w.graph)->text);
        hd_graph_begin(w.graph);
        declare(&w, NULL);
        cr_expect_eq(hd_vk_frame(w.vk, w.graph), HD_OK);
        hd_graph_destroy(w.graph);
        hd_vk_destroy(w.vk);
    }
}

static void count(hd_recorder *recorder, void *user)
{
    world *w = user;
    w->runs += hd_vk_mapped(recorder, w->words) != NULL;
}

/* The graph, and so its plan, may go as soon as its frame was executed; the host pass runs later. */
Test(vk_lives, the_graph_goes_before_its_host_pass_has_run)
{
    world w = {0};
    hd_vk_desc desc = hdb_stub_desc(3);
    cr_assert_eq(hd_vk_create(&desc, &w.vk), HD_OK);
    cr_assert_eq(hd_graph_create(NULL, &w.graph), HD_OK);
    w.words = hd_graph_buffer(w.graph, &(hd_buffer_desc){.name = "words", .bytes = 64});
    hd_graph_pass(w.graph, &(hd_pass_desc){.name = "host",
                                           .type = HD_PASS_HOST,
                                           .root = true,
                                           .record = count,
                                           .user = &w,
                                           .uses = HD_USES({w.words, HD_HOST_WRITE})});
    cr_assert_eq(hd_vk_frame(w.vk, w.graph), HD_OK);
    hd_graph_destroy(w.graph);
    cr_expect_eq(hd_vk_wait(w.vk), HD_OK);
    cr_expect_eq(w.runs, 1u);
    hd_vk_destroy(w.vk);
}

static void expect_error(hd_vk_desc desc, hd_result result, const char *text)
{
    hd_error error;
    hd_vk *vk;
    desc.error = &error;
    cr_expect_eq(hd_vk_create(&desc, &vk), result);
    cr_expect_null(vk);
    cr_expect_eq(error.result, result);
    cr_expect(error.pass == HD_NONE && error.resource == HD_NONE && error.use == HD_NONE);
    cr_expect(strstr(error.text, text), "'%s' is not in '%s'", text, error.text);
}

static PFN_vkVoidFunction VKAPI_PTR empty(VkInstance instance, const char *name)
{
    (void)instance, (void)name;
    return NULL;
}

Test(vk_lives, why_it_cannot_be_made)
{
    hd_vk_desc desc = hdb_stub_desc(3);
    const hd_vk_desc good = desc;
    desc.frames_in_flight = 9;
    expect_error(desc, HD_INVALID_ARGUMENT, "frames_in_flight is more than 4");
    desc = good;
    desc.device_index = 7;
    if (!desc.device)
        expect_error(desc, HD_NO_DEVICE, "device");
    desc = good;
    desc.get_instance_proc = empty;
    hd_vk *vk;
    hd_error error;
    desc.error = &error;
    hd_result result = hd_vk_create(&desc, &vk);
    cr_expect(result != HD_OK && error.result == result && error.text[0], "%s", hd_result_name(result));
    desc = good;
    desc.error = &error;
    cr_assert_eq(hd_vk_create(&desc, &vk), HD_OK);
    cr_expect(error.result == HD_OK && error.text[0] == 0);
    hd_vk_destroy(vk);
    cr_expect_eq(hd_vk_create(&desc, NULL), HD_INVALID_ARGUMENT);
    cr_expect(error.result == HD_INVALID_ARGUMENT && error.text[0]);
}
