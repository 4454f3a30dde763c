#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <heddle/capture.h>

#include "random.h"
#include "vk_scene.h"

/* Histories live and die one by one. Random frames, of which each declares some of them, in any order, writes some,
 * reads some, resizes one, touches them by other means and on other queues than the frame before, beside resources that
 * come and go, for some of the device's queues. A model says what each history holds, and how often it restarts, which
 * the log must tell. HEDDLE_SEED replays one run, HEDDLE_FRAMES makes it longer. */

enum { HISTORIES = 8, SHOWN = 256 };

typedef struct known_history {
    bool image, restarts; /* what it is, in all frames */
    const char *name;     /* some have one name, and keys */
    uint64_t key;
    char shown_key[16];
    uint32_t side, made; /* of an image; words of a buffer are its square. made: of the one that holds something */
    bool exists, zero;
    uint32_t value, told; /* told: lines in the log */
    uint64_t last_used;   /* frame that wrote what it is of */
} known_history;

typedef struct glance {
    uint32_t expect, runs, bad;
} glance;

typedef struct stage {
    scene s;
    known_history histories[HISTORIES];
    uint32_t restarts[HISTORIES], others; /* lines that the log had */
    glance glances[SHOWN];
    uint32_t glance_count;
    uint64_t frame, random, seed;
} stage;

static void count_restarts(hd_log_level level, const char *text, void *user)
{
    stage *t = user;
    uint32_t which = HISTORIES;
    for (uint32_t i = 0; i < HISTORIES && strstr(text, " restarts: "); i++) {
        char known[64];
        snprintf(known, sizeof(known), "history '%s'%s restarts: ", t->histories[i].name,
                 t->histories[i].key ? t->histories[i].shown_key : "");
        if (strncmp(text, known, strlen(known)) == 0)
            which = i;
    }
    if (which < HISTORIES && level == HD_LOG_INFO)
        t->restarts[which]++;
    else if (level != HD_LOG_INFO)
        t->others++;
}

static void glance_at(const void *data, uint64_t bytes, void *user)
{
    glance *g = user;
    const uint32_t *words = data;
    g->runs++;
    for (uint64_t i = 0; i < bytes / 4; i++)
        g->bad += words[i] != g->expect;
}

static bool one_in(stage *t, uint32_t n)
{
    return hdt_below(&t->random, n) == 0;
}

static hd_pin any_pin(stage *t)
{
    return (hd_pin)hdt_below(&t->random, HD_PIN_TRANSFER + 1);
}

static void touch_by(stage *t, hd_pass_type type, hd_resource resource, hd_access access)
{
    hd_pin pin = type == HD_PASS_HOST || type == HD_PASS_GFX ? HD_PIN_NONE : any_pin(t);
    if (type == HD_PASS_COMPUTE && pin == HD_PIN_TRANSFER) /* it cannot */
        pin = HD_PIN_COMPUTE;
    hd_graph_pass(t->s.graph, &(hd_pass_desc){.name = "touch",
                                              .type = type,
                                              .pin = pin,
                                              .root = true,
                                              .uses = &(hd_use){resource, access},
                                              .use_count = 1});
}

static hd_resource declare_image_or_buffer(stage *t, const known_history *h)
{
    hd_sharing sharing = one_in(t, 8) ? (hd_sharing)(1 + hdt_below(&t->random, 2)) : HD_SHARING_AUTO;
    if (h->image)
        return hd_graph_image(t->s.graph, &(hd_image_desc){.name = h->name,
                                                           .width = h->side,
                                                           .height = h->side,
                                                           .format = VK_FORMAT_R32_UINT,
                                                           .sharing = sharing});
    return hd_graph_buffer(
        t->s.graph, &(hd_buffer_desc){.name = h->name, .bytes = (uint64_t)h->side * h->side * 4, .sharing = sharing});
}

/* What the frame finds, as the model has it. */
static void expect_held(stage *t, known_history *h)
{
    bool resized = h->made != h->side;
    bool skipped = h->restarts && !h->zero && h->last_used + 1 != t->frame;
    if (h->exists && (resized || skipped))
        h->told++;
    if (!h->exists || resized || skipped) {
        h->zero = true;
        h->value = 0;
    }
    h->exists = true;
    h->made = h->side;
}

/* By other means, each of which asks for more of an image or buffer, or has it on another queue. */
static void touch_all(stage *t, const known_history *h, hd_resource last, hd_resource next, bool writes)
{
    if (one_in(t, 4))
        touch_by(t, HD_PASS_COMPUTE, last, h->image ? HD_SAMPLED_COMPUTE : HD_STORAGE_READ_COMPUTE);
    if (one_in(t, 6))
        touch_by(t, HD_PASS_TRANSFER, last, HD_TRANSFER_SRC);
    if (writes && one_in(t, 6))
        touch_by(t, HD_PASS_COMPUTE, next, HD_STORAGE_RW_COMPUTE);
    if (writes && h->image && one_in(t, 8))
        touch_by(t, HD_PASS_GFX, next, HD_COLOR_RW);
    if (!h->image && one_in(t, 12))
        touch_by(t, HD_PASS_HOST, last, HD_HOST_READ);
}

static void declare_held(stage *t, known_history *h)
{
    static const uint32_t sides[] = {4, 16, 17, 64};
    bool writes = !one_in(t, 4), reads = !one_in(t, 4);
    if (h->side == 0 || one_in(t, 40))
        h->side = one_in(t, 8) ? 270 : sides[hdt_below(&t->random, 4)];
    hd_resource next = declare_image_or_buffer(t, h);
    hd_resource last = hd_graph_history_with(
        t->s.graph, &(hd_history_desc){next, h->restarts ? HD_SKIPPED_RESTART : HD_SKIPPED_KEEP, h->key});
    if (!writes && !reads) /* no pass uses either */
        return;
    expect_held(t, h);
    if (reads) {
        glance *g = &t->glances[t->glance_count++];
        *g = (glance){.expect = h->value};
        hd_vk_readback(t->s.f.vk, t->s.graph, last, NULL, glance_at, g, NULL);
    }
    if (writes) {
        h->value = (uint32_t)hdt_random(&t->random) | 1;
        h->zero = false;
        h->last_used = t->frame;
        if (h->image)
            hd_vk_clear(t->s.f.vk, t->s.graph, next, NULL, &(VkClearValue){.color.uint32 = {h->value}}, NULL);
        else
            hd_vk_fill(t->s.f.vk, t->s.graph, next, NULL, h->value, NULL);
    }
    touch_all(t, h, last, next, writes);
}

/* Something that changes the plan. */
static void declare_others(stage *t)
{
    for (uint32_t i = hdt_below(&t->random, 3); i > 0; i--) {
        hd_resource words = buffer(&t->s, "words", 256u << hdt_below(&t->random, 8));
        hd_vk_fill(t->s.f.vk, t->s.graph, words, NULL, 7, NULL);
        touch_by(t, HD_PASS_COMPUTE, words, HD_STORAGE_READ_COMPUTE);
    }
}

static void compile_and_execute(stage *t)
{
    const hd_vk_info *info = &t->s.f.info;
    hd_queue_desc queues[HD_MAX_QUEUES];
    hd_compile_desc desc = {.queues = queues, .order = (hd_order)hdt_below(&t->random, 3), .size = hd_vk_size};
    const hd_plan *plan;
    desc.size_user = t->s.f.vk;
    for (uint32_t q = 0; q < info->queue_count; q++) {
        if (q == 0 || !one_in(t, 6))
            queues[desc.queue_count++] = (hd_queue_desc){info->queues[q].kind, info->queues[q].family};
    }
    cr_assert_eq(hd_vk_compile(t->s.f.vk, t->s.graph, &desc, &plan), HD_OK, "HEDDLE_SEED=%llu: %s",
                 (unsigned long long)t->seed, hd_graph_error(t->s.graph)->text);
    hd_result result = hd_vk_execute(t->s.f.vk, t->s.graph, plan);
    cr_assert_eq(result, HD_OK, "HEDDLE_SEED=%llu, frame %llu: %s", (unsigned long long)t->seed,
                 (unsigned long long)t->frame, hd_result_name(result));
    t->frame++;
}

/* Since the last time. */
static void check_stage(stage *t)
{
    cr_assert_eq(hd_vk_wait(t->s.f.vk), HD_OK);
    for (uint32_t i = 0; i < t->glance_count; i++) {
        const glance *g = &t->glances[i];
        cr_assert(g->runs == 1 && g->bad == 0, "HEDDLE_SEED=%llu, before frame %llu: %u wrong words, %u runs",
                  (unsigned long long)t->seed, (unsigned long long)t->frame, g->bad, g->runs);
    }
    for (uint32_t i = 0; i < HISTORIES; i++)
        cr_assert_eq(t->restarts[i], t->histories[i].told,
                     "HEDDLE_SEED=%llu, before frame %llu: history %u restarts %u times, the log says %u",
                     (unsigned long long)t->seed, (unsigned long long)t->frame, i, t->histories[i].told,
                     t->restarts[i]);
    cr_assert_eq(t->others, 0);
    t->glance_count = 0;
}

static void run_stage(stage *t)
{
    uint32_t order[HISTORIES];
    hd_graph_begin(t->s.graph);
    for (uint32_t i = 0; i < HISTORIES; i++) {
        uint32_t to = one_in(t, 4) ? hdt_below(&t->random, i + 1) : i;
        order[i] = order[to];
        order[to] = i;
    }
    declare_others(t);
    for (uint32_t i = 0; i < HISTORIES; i++) {
        if (!one_in(t, 5))
            declare_held(t, &t->histories[order[i]]);
    }
    declare_others(t);
    compile_and_execute(t);
}

static void open_stage(stage *t, PFN_vkGetInstanceProcAddr get)
{
    static const char *const names[HISTORIES] = {"exposure", "taa",  "particles", "cache",
                                                 "view",     "view", "of both",   "of both"};
    memset(t, 0, sizeof(*t));
    open_scene(&t->s, &(hd_vk_desc){.get_instance_proc = get, .log = {count_restarts, t}, .frames_in_flight = 3});
    t->random = t->seed = hdt_seed();
    for (uint32_t i = 0; i < HISTORIES; i++) {
        known_history *h = &t->histories[i];
        *h = (known_history){.image = i % 2, .restarts = i % 3 == 1, .name = names[i], .key = i < 4 ? 0 : i};
        snprintf(h->shown_key, sizeof(h->shown_key), " (key %u)", i);
    }
}

static void run_frames(stage *t, uint64_t count)
{
    for (uint64_t end = t->frame + count; t->frame < end;) {
        if (t->glance_count + HISTORIES > SHOWN)
            check_stage(t);
        run_stage(t);
    }
    check_stage(t);
}

static stage the_stage;

Test(vk_history, each_lives_whatever_happens_to_others, .timeout = 600)
{
    stage *t = &the_stage;
    const char *frames = getenv("HEDDLE_FRAMES");
    uint64_t count = frames ? strtoull(frames, NULL, 10) : 300;
    open_stage(t, NULL);
    run_frames(t, count);
    uint32_t restarts = 0;
    for (uint32_t i = 0; i < HISTORIES; i++)
        restarts += t->restarts[i];
    cr_expect(restarts > count / 20, "%u restarts", restarts);
    close_scene(&t->s);
}

#ifndef HDT_THREE_FAMILIES /* test_vk_queues.c includes this file */

static void say_broken(const char *text, void *user)
{
    (void)user;
    fprintf(stderr, "%s\n", text);
}

/* What is given to Vulkan on three families: copies, clears and transfers ahead of frames are ordered, too. */
Test(vk_history, captured, .timeout = 100)
{
    stage *t = &the_stage;
    hdt_vk_keep_libraries();
    hdt_vk_three_families(true, 0);
    cr_assert_eq(hd_capture_open(&(hd_capture_desc){.get_instance_proc = hdt_vk_hooked}), HD_OK);
    open_stage(t, hd_capture_get_instance_proc);
    for (uint32_t part = 0; part < 4; part++) {
        hd_stream *stream;
        cr_assert_eq(hd_capture_begin(), HD_OK);
        run_frames(t, 30);
        cr_assert_eq(hd_capture_end(&stream), HD_OK);
        cr_expect_eq(hd_stream_verify(stream, &(hd_verify_desc){.message = say_broken}), HD_OK,
                     "HEDDLE_SEED=%llu, part %u: a rule is broken", (unsigned long long)t->seed, part);
        hd_stream_free(stream);
    }
    close_scene(&t->s);
    hd_capture_close();
}

#endif
