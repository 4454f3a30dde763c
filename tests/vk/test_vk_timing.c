#include <criterion/criterion.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "vk_scene.h"

/* Times of passes and jobs, as numbers and as a trace. */

static void on_host(hd_recorder *recorder, void *user)
{
    (void)recorder;
    ++*(uint32_t *)user;
}

static void declare_timed(scene *s, uint32_t *runs)
{
    hd_resource color = image(s, "color", VK_FORMAT_R8G8B8A8_UNORM), pixels = buffer(s, "pixels", PIXELS * 4);
    static const char *const names[] = {"first \"clear\"", "second cl\xe9"}; /* Latin-1, or cut in a character */
    for (uint32_t p = 0; p < 2; p++) {
        hd_graph_pass(s->graph, &(hd_pass_desc){.name = names[p],
                                                .type = HD_PASS_GFX,
                                                .root = true,
                                                .uses = HD_USES({color, p ? HD_COLOR_RW : HD_COLOR_WRITE})});
    }
    hd_graph_pass(s->graph, &(hd_pass_desc){.name = "look",
                                            .type = HD_PASS_HOST,
                                            .root = true,
                                            .record = on_host,
                                            .user = runs,
                                            .uses = HD_USES({pixels, HD_HOST_WRITE})});
}

static const hd_vk_span *find_span(const hd_vk_times *times, hd_vk_span_kind kind, const char *name)
{
    for (uint32_t i = 0; i < times->span_count; i++) {
        if (times->spans[i].kind == kind && (!name || strcmp(times->spans[i].name, name) == 0))
            return &times->spans[i];
    }
    return NULL;
}

Test(vk_timing, spans_lie_between_submit_and_wait)
{
    scene s;
    open_scene(&s, &(hd_vk_desc){.timed_frames = 3});
    uint32_t runs = 0;
    hd_vk_times times;
    cr_expect_eq(hd_vk_times_get(s.f.vk, 0, &times), HD_INVALID_ARGUMENT);
    uint64_t start = hdi_clock_ns();
    for (uint32_t frame = 0; frame < 6; frame++) {
        hd_graph_begin(s.graph);
        declare_timed(&s, &runs);
        cr_assert_eq(hd_vk_frame(s.f.vk, s.graph), HD_OK);
    }
    cr_assert_eq(hd_vk_wait(s.f.vk), HD_OK);
    uint64_t end = hdi_clock_ns();
    cr_expect_eq(runs, 6);
    for (uint32_t back = 0; back < 3; back++) {
        cr_assert_eq(hd_vk_times_get(s.f.vk, back, &times), HD_OK);
        cr_expect_eq(times.frame, 5 - back);
        const hd_vk_span *first = find_span(&times, HD_VK_SPAN_PASS, "first \"clear\""),
                         *second = find_span(&times, HD_VK_SPAN_PASS, "second cl\xe9"),
                         *submit = find_span(&times, HD_VK_SPAN_SUBMIT, NULL),
                         *look = find_span(&times, HD_VK_SPAN_HOST_PASS, "look"),
                         *record = find_span(&times, HD_VK_SPAN_RECORD, NULL);
        cr_assert(first && second && submit && look && record);
        cr_expect(second->end_ns >= first->end_ns);
        cr_expect(record->end_ns <= submit->begin_ns);
        cr_expect_neq(record->worker, HD_NONE);
        /* The two clocks are read together to within far less than this. */
        if (times.calibrated)
            cr_expect(first->begin_ns + 1000000 >= submit->begin_ns);
        for (uint32_t i = 0; i < times.span_count; i++) {
            const hd_vk_span *span = &times.spans[i];
            cr_expect(span->begin_ns + 1000000 >= start && span->end_ns <= end + 1000000, "%s", span->name);
        }
    }
    cr_expect_eq(hd_vk_times_get(s.f.vk, 3, &times), HD_INVALID_ARGUMENT);
    close_scene(&s);
}

Test(vk_timing, trace)
{
    scene s;
    open_scene(&s, &(hd_vk_desc){.timed_frames = 4});
    uint32_t runs = 0, passes = 0, named = 0, cleaned = 0;
    for (uint32_t frame = 0; frame < 2; frame++) {
        hd_graph_begin(s.graph);
        declare_timed(&s, &runs);
        cr_assert_eq(hd_vk_frame(s.f.vk, s.graph), HD_OK);
    }
    cr_assert_eq(hd_vk_wait(s.f.vk), HD_OK);
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    cr_assert_not_null(stream);
    cr_assert_eq(hd_vk_write_trace(s.f.vk, stream), HD_OK);
    fclose(stream);
    json_t *root = json_loadb(text, bytes, 0, NULL), *event;
    cr_assert_not_null(root);
    size_t i;
    json_array_foreach(json_object_get(root, "traceEvents"), i, event)
    {
        const char *kind = json_string_value(json_object_get(event, "ph"));
        const char *category = json_string_value(json_object_get(event, "cat"));
        cr_assert_not_null(kind);
        named += strcmp(kind, "M") == 0;
        passes += category && strcmp(category, "gpu") == 0;
        const char *name = json_string_value(json_object_get(event, "name"));
        cleaned += category && strcmp(category, "gpu") == 0 && strcmp(name, "second cl?") == 0;
        cr_expect(json_is_integer(json_object_get(event, "pid")) && json_is_integer(json_object_get(event, "tid")));
        if (strcmp(kind, "X") == 0)
            cr_expect(json_is_real(json_object_get(event, "ts")) && json_is_real(json_object_get(event, "dur")));
    }
    cr_expect_eq(passes, 4);
    cr_expect_eq(cleaned, 2);
    cr_expect(named >= 6);
    json_decref(root);
    free(text);
    close_scene(&s);
}

/* Frames that are not timed keep nothing. */
Test(vk_timing, off)
{
    scene s;
    open_scene(&s, NULL);
    uint32_t runs = 0;
    declare_timed(&s, &runs);
    cr_assert_eq(hd_vk_frame(s.f.vk, s.graph), HD_OK);
    cr_assert_eq(hd_vk_wait(s.f.vk), HD_OK);
    hd_vk_times times;
    cr_expect_eq(hd_vk_times_get(s.f.vk, 0, &times), HD_INVALID_ARGUMENT);
    close_scene(&s);
}
