#include <criterion/criterion.h>

#include <heddle/capture.h>

#include "checked.h"
#include "vk_scene.h"

/* Passes that are recorded in parts, and scopes that several workers record: the picture, the words and the calls are
 * those of one worker and undivided passes, whatever the numbers. */

enum { MOST_SPLITS = 8, RECTS = 24, SHARED = 9, WORDS = 960 };

/* A pass whose parts clear their share of many rectangles that lie over one another: the last one wins. */
typedef struct rects_pass {
    scene *s;
    uint32_t seed;
    uint32_t aspects;
    atomic_uint calls[MOST_SPLITS], wrong;
    uint32_t splits;
} rects_pass;

static void note_call(rects_pass *p, const hd_recorder *recorder)
{
    uint32_t part = hd_vk_part(recorder);
    if (part >= MOST_SPLITS || hd_vk_part_count(recorder) != (p->splits ? p->splits : 1))
        atomic_fetch_add(&p->wrong, 1);
    else
        atomic_fetch_add(&p->calls[part], 1);
}

static void draw_rects(hd_recorder *recorder, void *user)
{
    rects_pass *p = user;
    note_call(p, recorder);
    uint32_t part = hd_vk_part(recorder), parts = hd_vk_part_count(recorder);
    for (uint32_t i = RECTS * part / parts; i < RECTS * (part + 1) / parts; i++) {
        uint32_t mixed = (i + 1) * (p->seed * 2654435761u + 40503u);
        VkClearAttachment clear = {.aspectMask = p->aspects};
        if (p->aspects == VK_IMAGE_ASPECT_COLOR_BIT)
            clear.clearValue.color = (VkClearColorValue){.float32 = {(float)i / RECTS, (float)p->seed / 32, 0.5f, 1}};
        else
            clear.clearValue.depthStencil = (VkClearDepthStencilValue){(float)i / RECTS, i};
        VkClearRect rect = {.rect = {{(int)(mixed >> 8 & 31), (int)(mixed >> 13 & 31)}, {24, 20}}, .layerCount = 1};
        HDT_FN(&p->s->f, vkCmdClearAttachments)(hd_vk_commands(recorder), 1, &clear, 1, &rect);
    }
}

/* Outside of rendering. */
typedef struct fill_pass {
    rects_pass counted;
    hd_resource buffer;
} fill_pass;

static void fill_words(hd_recorder *recorder, void *user)
{
    fill_pass *p = user;
    note_call(&p->counted, recorder);
    uint32_t part = hd_vk_part(recorder), parts = hd_vk_part_count(recorder);
    for (uint32_t i = WORDS * part / parts; i < WORDS * (part + 1) / parts; i++)
        HDT_FN(&p->counted.s->f, vkCmdFillBuffer)
    (hd_vk_commands(recorder), hd_vk_buffer(recorder, p->buffer), 4 * i, 4, 3 * i + 1);
}

typedef struct picture {
    uint32_t colors[PIXELS], depths[PIXELS], others[PIXELS], words[WORDS];
} picture;

typedef struct split_frame {
    rects_pass alone, shared[SHARED], around[3];
    fill_pass fill;
    word_check checks[4];
    copy_pass copies[3];
} split_frame;

static void rects(scene *s, rects_pass *p, uint32_t seed, uint32_t aspects, uint32_t splits, const hd_use *uses,
                  uint32_t use_count)
{
    p->s = s;
    p->seed = seed;
    p->aspects = aspects;
    p->splits = splits;
    hd_graph_pass(s->graph, &(hd_pass_desc){.name = "rects",
                                            .cost_us = (float)(1 + seed % 5) * 10,
                                            .record = draw_rects,
                                            .user = p,
                                            .splits = splits,
                                            .uses = uses,
                                            .use_count = use_count});
}

static void read_image(scene *s, split_frame *f, uint32_t i, hd_resource from, uint32_t aspect, uint32_t *words)
{
    f->checks[i] = (word_check){.buffer = buffer(s, "pixels", PIXELS * 4), .count = PIXELS, .copy = words};
    f->copies[i] = (copy_pass){s, from, f->checks[i].buffer, aspect, 0, 0};
    add_copy(&f->copies[i]);
    add_check(s, &f->checks[i]);
}

/* A split pass alone in its scope; a scope of nine passes, none split; one whose middle pass is split, with depth and
 * color; a split pass outside of rendering. */
static void declare(scene *s, split_frame *f, uint32_t splits, picture *out)
{
    const uint32_t color = VK_IMAGE_ASPECT_COLOR_BIT, depth = VK_IMAGE_ASPECT_DEPTH_BIT;
    memset(f, 0, sizeof(*f));
    hd_graph_begin(s->graph);
    hd_resource one = image(s, "one", VK_FORMAT_R8G8B8A8_UNORM), two = image(s, "two", VK_FORMAT_R8G8B8A8_UNORM);
    hd_resource far = image(s, "far", VK_FORMAT_D32_SFLOAT);
    rects(s, &f->alone, 1, color, splits, (hd_use[]){{one, HD_COLOR_WRITE, .clear.color = {1, 1, 1, 1}}}, 1);
    for (uint32_t i = 0; i < SHARED; i++)
        rects(s, &f->shared[i], i + 2, color, 0, (hd_use[]){{two, i ? HD_COLOR_RW : HD_COLOR_WRITE}}, 1);
    for (uint32_t i = 0; i < 3; i++)
        rects(s, &f->around[i], i + 20, i == 1 ? depth : color, i == 1 ? splits : 0,
              (hd_use[]){{two, HD_COLOR_RW}, {far, i ? HD_DEPTH_RW : HD_DEPTH_WRITE, .clear.depth = 0.5f}}, 2);
    f->fill.counted.s = s;
    f->fill.counted.splits = splits;
    f->fill.buffer = buffer(s, "fill", WORDS * 4);
    hd_graph_pass(s->graph, &(hd_pass_desc){.name = "fill",
                                            .type = HD_PASS_TRANSFER,
                                            .record = fill_words,
                                            .user = &f->fill,
                                            .splits = splits,
                                            .uses = HD_USES({f->fill.buffer, HD_TRANSFER_DST})});
    f->checks[3] = (word_check){.buffer = f->fill.buffer, .count = WORDS, .copy = out->words};
    add_check(s, &f->checks[3]);
    read_image(s, f, 0, one, color, out->colors);
    read_image(s, f, 1, two, color, out->others);
    read_image(s, f, 2, far, depth, out->depths);
}

static void expect_calls(const rects_pass *p)
{
    uint32_t bad = atomic_load(&p->wrong), splits = p->splits ? p->splits : 1;
    for (uint32_t i = 0; i < MOST_SPLITS; i++)
        bad += atomic_load(&p->calls[i]) != (i < splits);
    cr_expect_eq(bad, 0, "pass %u with %u parts was not called once for each", p->seed, p->splits);
}

static void run(uint32_t workers, uint32_t splits, uint32_t timed, picture *out)
{
    enum { FRAMES = 8, STEADY = 5 };
    static split_frame f;
    scene s;
    hd_jobs *jobs = NULL;
    cr_assert_eq(hd_jobs_create(&(hd_jobs_desc){.worker_count = workers}, &jobs), HD_OK);
    open_scene(&s, &(hd_vk_desc){.jobs = jobs, .timed_frames = timed, .get_instance_proc = hdt_vk_hooked});
    unsigned made = 0;
    for (uint32_t frame = 0; frame < FRAMES; frame++) {
        if (frame == STEADY)
            made = atomic_load(&hdt_vk_hooks.creations);
        declare(&s, &f, splits, out);
        cr_assert_eq(hdt_frame(s.f.vk, s.graph), HD_OK);
        cr_assert_eq(hd_vk_wait(s.f.vk), HD_OK);
        expect_calls(&f.alone);
        expect_calls(&f.fill.counted);
        for (uint32_t i = 0; i < SHARED; i++)
            expect_calls(&f.shared[i]);
        for (uint32_t i = 0; i < 3; i++)
            expect_calls(&f.around[i]);
    }
    cr_expect_eq(atomic_load(&hdt_vk_hooks.creations), made, "%u workers, %u splits: steady frames make objects",
                 workers, splits);
    hd_vk_times times;
    if (timed && hd_vk_times_get(s.f.vk, 0, &times) == HD_OK) {
        uint32_t passes = 0;
        for (uint32_t i = 0; i < times.span_count; i++)
            passes += times.spans[i].kind == HD_VK_SPAN_PASS;
        cr_expect_eq(passes, 1 + SHARED + 3 + 1 + 3);
    }
    close_scene(&s);
    hd_jobs_destroy(jobs);
}

Test(vk_splits, same_picture, .timeout = 60)
{
    static picture reference, seen;
    run(1, 1, 0, &reference);
    for (uint32_t i = 0; i < WORDS; i++)
        cr_assert_eq(reference.words[i], 3 * i + 1);
    for (uint32_t workers = 1; workers <= 4; workers++) {
        for (uint32_t splits = 1; splits <= MOST_SPLITS; splits++) {
            memset(&seen, 0, sizeof(seen));
            run(workers, splits, splits % 2, &seen);
            cr_expect(memcmp(&seen, &reference, sizeof(seen)) == 0, "%u workers, %u splits: another picture", workers,
                      splits);
        }
    }
}

Test(vk_splits, too_many)
{
    hd_graph *graph;
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    hd_graph_begin(graph);
    hd_pass pass = hd_graph_pass(graph, &(hd_pass_desc){.name = "most", .splits = HD_MAX_SPLITS});
    cr_expect_neq(pass.id, 0);
    pass = hd_graph_pass(graph, &(hd_pass_desc){.name = "more", .splits = HD_MAX_SPLITS + 1});
    cr_expect_eq(pass.id, 0);
    cr_expect_eq(hd_graph_error(graph)->result, HD_INVALID_ARGUMENT);
    hd_graph_destroy(graph);
}

/* Clear values are not the plan's: another one each frame, on a device. */
Test(vk_splits, clear_values_of_the_frame)
{
    static uint32_t words[PIXELS];
    scene s;
    open_scene(&s, NULL);
    for (uint32_t frame = 0; frame < 10; frame++) {
        hd_graph_begin(s.graph);
        hd_resource one = image(&s, "one", VK_FORMAT_R8G8B8A8_UNORM);
        hd_graph_pass(s.graph, &(hd_pass_desc){.uses = HD_USES({one, HD_COLOR_WRITE,
                                                                .clear.color = {(float)frame / 255, 0, 0, 1}})});
        word_check check = {.buffer = buffer(&s, "pixels", PIXELS * 4), .count = PIXELS, .copy = words};
        copy_pass copy = {&s, one, check.buffer, VK_IMAGE_ASPECT_COLOR_BIT, 0, 0};
        add_copy(&copy);
        add_check(&s, &check);
        cr_assert_eq(hdt_frame(s.f.vk, s.graph), HD_OK);
        cr_assert_eq(hd_vk_wait(s.f.vk), HD_OK);
        cr_expect_eq(words[0], 0xff000000u + frame);
        cr_expect_eq(words[PIXELS - 1], 0xff000000u + frame);
    }
    close_scene(&s);
}

static void print_fault(const char *text, void *user)
{
    ++*(uint32_t *)user;
    fprintf(stderr, "%s\n", text);
}

/* What is really given to Vulkan holds by the rules, in the first frames and in those that repeat. */
Test(vk_splits, captured)
{
    static picture seen;
    static split_frame f;
    scene s;
    hd_jobs *jobs = NULL;
    hd_stream *stream = NULL;
    hdt_vk_keep_libraries();
    cr_assert_eq(hd_jobs_create(&(hd_jobs_desc){.worker_count = 4}, &jobs), HD_OK);
    cr_assert_eq(hd_capture_open(NULL), HD_OK);
    cr_assert_eq(hd_capture_begin(), HD_OK);
    open_scene(&s, &(hd_vk_desc){.jobs = jobs, .get_instance_proc = hd_capture_get_instance_proc});
    for (uint32_t frame = 0; frame < 12; frame++) {
        declare(&s, &f, 1 + frame / 3, &seen);
        cr_assert_eq(hdt_frame(s.f.vk, s.graph), HD_OK);
        cr_assert_eq(hd_vk_wait(s.f.vk), HD_OK);
    }
    cr_assert_eq(hd_capture_end(&stream), HD_OK);
    uint32_t faults = 0;
    cr_expect(stream->submit_count > 0 && stream->access_count > 0);
    cr_expect_eq(hd_stream_verify(stream, &(hd_verify_desc){.message = print_fault, .user = &faults}), HD_OK);
    cr_expect_eq(faults, 0);
    hd_stream_free(stream);
    close_scene(&s);
    hd_capture_close();
    hd_jobs_destroy(jobs);
}
