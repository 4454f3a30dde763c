#include <criterion/criterion.h>

#include <string.h>

#include "checked.h"
#include "vk_scene.h"

/* What executed frames compute, checked by host passes in the same frame: no shaders, only what the transfer and
 * attachment operations of a device do. */

/* ---- attachments ---- */

Test(vk_frames, clear_copy_check)
{
    scene s;
    open_scene(&s, NULL);
    word_check check = {.count = PIXELS, .expect = 0xff00ff80u};
    for (uint32_t frame = 0; frame < 5; frame++) {
        hd_graph_begin(s.graph);
        hd_resource color = image(&s, "color", VK_FORMAT_R8G8B8A8_UNORM);
        check.buffer = buffer(&s, "pixels", PIXELS * 4);
        hd_graph_pass(s.graph, &(hd_pass_desc){.name = "clear",
                                               .type = HD_PASS_GFX,
                                               .uses = HD_USES({color, HD_COLOR_WRITE,
                                                                .clear.color = {128.0f / 255.0f, 1.0f, 0.0f, 1.0f}})});
        copy_pass copy = {&s, color, check.buffer, VK_IMAGE_ASPECT_COLOR_BIT, 0, 0};
        add_copy(&copy);
        add_check(&s, &check);
        cr_assert_eq(hdt_frame(s.f.vk, s.graph), HD_OK);
        cr_assert_eq(hd_vk_wait(s.f.vk), HD_OK);
    }
    expect_check(&check, 5);
    hd_vk_frame_stats stats;
    hd_vk_frame_stats_get(s.f.vk, &stats);
    cr_expect(stats.memory_bytes >= 2 * PIXELS * 4);
    cr_expect(stats.compile_us > 0 && stats.record_us > 0 && stats.submit_us > 0);
    close_scene(&s);
}

/* Depth: written, then read-only beside a colour attachment, then loaded and written on; three values come out. */
Test(vk_frames, depth)
{
    scene s;
    open_scene(&s, NULL);
    uint32_t words[PIXELS];
    word_check check = {.count = PIXELS, .copy = words};
    hd_resource depth = image(&s, "depth", VK_FORMAT_D32_SFLOAT), color = image(&s, "color", VK_FORMAT_R8_UNORM);
    check.buffer = buffer(&s, "words", PIXELS * 4);
    hd_graph_pass(s.graph, &(hd_pass_desc){.name = "lay",
                                           .type = HD_PASS_GFX,
                                           .uses = HD_USES({depth, HD_DEPTH_WRITE, .clear.depth = 0.25f})});
    hd_graph_pass(s.graph, &(hd_pass_desc){.name = "test",
                                           .type = HD_PASS_GFX,
                                           .root = true,
                                           .uses = HD_USES({depth, HD_DEPTH_READ}, {color, HD_COLOR_WRITE})});
    rect_pass rect = {&s,
                      {.aspectMask = VK_IMAGE_ASPECT_DEPTH_BIT, .clearValue.depthStencil = {0.75f, 0}},
                      {{0, 0}, {SIZE, SIZE / 2}}};
    hd_graph_pass(s.graph, &(hd_pass_desc){.name = "more",
                                           .type = HD_PASS_GFX,
                                           .record = clear_rect,
                                           .user = &rect,
                                           .uses = HD_USES({depth, HD_DEPTH_RW})});
    copy_pass copy = {&s, depth, check.buffer, VK_IMAGE_ASPECT_DEPTH_BIT, 0, 0};
    add_copy(&copy);
    add_check(&s, &check);
    cr_assert_eq(hdt_frame(s.f.vk, s.graph), HD_OK);
    cr_assert_eq(hd_vk_wait(s.f.vk), HD_OK);
    const float *depths = (const float *)words;
    cr_expect_eq(check.runs, 1);
    cr_expect_float_eq(depths[0], 0.75f, 1e-6);
    cr_expect_float_eq(depths[PIXELS - 1], 0.25f, 1e-6);
    close_scene(&s);
}

/* Every mip and layer gets a colour of its own in a pass of its own; one pass clears all layers of a mip at once. */
Test(vk_frames, mips_and_layers)
{
    scene s;
    open_scene(&s, NULL);
    enum { MIPS = 3, LAYERS = 3 };
    hd_resource all = hd_graph_image(s.graph, &(hd_image_desc){.name = "all",
                                                               .width = SIZE,
                                                               .height = SIZE,
                                                               .format = VK_FORMAT_R8_UNORM,
                                                               .mips = MIPS,
                                                               .layers = LAYERS});
    uint32_t words[MIPS][LAYERS][PIXELS / 4];
    word_check checks[MIPS][LAYERS];
    copy_pass copies[MIPS][LAYERS];
    for (uint32_t m = 0; m < MIPS; m++) {
        uint32_t passes = m == 2 ? 1 : LAYERS;
        for (uint32_t l = 0; l < passes; l++) {
            hd_graph_pass(s.graph, &(hd_pass_desc){
                                       .name = "clear",
                                       .type = HD_PASS_GFX,
                                       .uses = HD_USES({all, HD_COLOR_WRITE, .range = {{m, 1, l, m == 2 ? LAYERS : 1}},
                                                        .clear.color = {(float)(10 * m + l) / 255.0f, 0, 0, 0}})});
        }
    }
    for (uint32_t m = 0; m < MIPS; m++) {
        for (uint32_t l = 0; l < LAYERS; l++) {
            uint32_t texels = (SIZE >> m) * (SIZE >> m);
            checks[m][l] =
                (word_check){.buffer = buffer(&s, "texels", texels), .count = texels / 4, .copy = words[m][l]};
            copies[m][l] = (copy_pass){&s, all, checks[m][l].buffer, VK_IMAGE_ASPECT_COLOR_BIT, m, l};
            add_copy(&copies[m][l]);
            add_check(&s, &checks[m][l]);
        }
    }
    cr_assert_eq(hdt_frame(s.f.vk, s.graph), HD_OK);
    cr_assert_eq(hd_vk_wait(s.f.vk), HD_OK);
    for (uint32_t m = 0; m < MIPS; m++) {
        for (uint32_t l = 0; l < LAYERS; l++) {
            uint32_t value = 10 * m + (m == 2 ? 0 : l);
            cr_expect_eq(words[m][l][0], value * 0x01010101u, "mip %u layer %u", m, l);
            cr_expect_eq(words[m][l][checks[m][l].count - 1], value * 0x01010101u, "mip %u layer %u", m, l);
        }
    }
    close_scene(&s);
}

/* ---- host passes and frames in flight ---- */

typedef struct upload_pass {
    hd_resource buffer;
} upload_pass;

static void upload(hd_recorder *recorder, void *user)
{
    const upload_pass *u = user;
    uint32_t *words = hd_vk_mapped(recorder, u->buffer);
    for (uint32_t i = 0; i < PIXELS && words; i++)
        words[i] = (uint32_t)hd_vk_frame_index(recorder) * 1000 + i;
}

typedef struct flight {
    scene *s;
    upload_pass up;
    hd_resource from, to;
    uint32_t frame, bad, runs;
} flight;

static void copy_flight(hd_recorder *recorder, void *user)
{
    const flight *u = user;
    VkBufferCopy region = {.size = PIXELS * 4};
    HDT_FN(&u->s->f, vkCmdCopyBuffer)
    (hd_vk_commands(recorder), hd_vk_buffer(recorder, u->from), hd_vk_buffer(recorder, u->to), 1, &region);
}

static void check_flight(hd_recorder *recorder, void *user)
{
    flight *u = user;
    const uint32_t *words = hd_vk_mapped(recorder, u->to);
    u->runs++;
    for (uint32_t i = 0; i < PIXELS; i++)
        u->bad += !words || words[i] != u->frame * 1000 + i;
}

enum { FLIGHTS = 12 };

static void fly(uint32_t frames_in_flight, uint32_t memory_copies, PFN_vkGetInstanceProcAddr get_instance_proc)
{
    scene s;
    open_scene(&s, &(hd_vk_desc){.frames_in_flight = frames_in_flight,
                                 .memory_copies = memory_copies,
                                 .get_instance_proc = get_instance_proc});
    flight flights[FLIGHTS];
    for (uint32_t frame = 0; frame < FLIGHTS; frame++) {
        flight *u = &flights[frame];
        hd_graph_begin(s.graph);
        u->up.buffer = u->from = buffer(&s, "upload", PIXELS * 4);
        u->to = buffer(&s, "readback", PIXELS * 4);
        u->s = &s;
        u->frame = frame;
        u->bad = u->runs = 0;
        hd_graph_pass(s.graph, &(hd_pass_desc){.name = "upload",
                                               .type = HD_PASS_HOST,
                                               .record = upload,
                                               .user = &u->up,
                                               .uses = HD_USES({u->from, HD_HOST_WRITE})});
        hd_graph_pass(s.graph, &(hd_pass_desc){.name = "move",
                                               .type = HD_PASS_TRANSFER,
                                               .pin = HD_PIN_TRANSFER,
                                               .record = copy_flight,
                                               .user = u,
                                               .uses = HD_USES({u->from, HD_TRANSFER_SRC}, {u->to, HD_TRANSFER_DST})});
        hd_graph_pass(s.graph, &(hd_pass_desc){.name = "check",
                                               .type = HD_PASS_HOST,
                                               .root = true,
                                               .record = check_flight,
                                               .user = u,
                                               .uses = HD_USES({u->to, HD_HOST_READ})});
        cr_assert_eq(hdt_frame(s.f.vk, s.graph), HD_OK);
    }
    hd_graph_begin(s.graph); /* host passes need nothing of the graph any more */
    cr_assert_eq(hd_vk_wait(s.f.vk), HD_OK);
    for (uint32_t frame = 0; frame < FLIGHTS; frame++) {
        cr_expect_eq(flights[frame].runs, 1);
        cr_expect_eq(flights[frame].bad, 0, "frame %u: %u wrong words", frame, flights[frame].bad);
    }
    close_scene(&s);
}

Test(vk_frames, one_in_flight, .timeout = 30)
{
    fly(1, 0, NULL);
}

Test(vk_frames, two_in_flight, .timeout = 30)
{
    fly(2, 1, NULL);
    fly(2, 2, NULL);
}

Test(vk_frames, four_in_flight, .timeout = 30)
{
    fly(4, 1, NULL);
    fly(4, 3, NULL);
}

/* What the GPU copies behind the host is given in a later call than the wait: some drivers would show it old bytes. */
Test(vk_frames, waits_for_the_host_end_a_call, .timeout = 30)
{
    memset(&hdt_vk_hooks, 0, sizeof(hdt_vk_hooks));
    fly(2, 1, hdt_vk_hooked);
    cr_expect_eq(atomic_load(&hdt_vk_hooks.empty_last), FLIGHTS);
    cr_expect_eq(atomic_load(&hdt_vk_hooks.empty_before), 0);
    cr_expect_geq(atomic_load(&hdt_vk_hooks.submits), 2 * FLIGHTS);
}

/* ---- bytes that the host writes, and writes again ---- */

enum { TURNS = 4 };

/* The host reads what the GPU copied and writes one more into each word of the next upload. */
typedef struct turn {
    scene *s;
    hd_resource from, to, next;
    uint32_t frame, runs, bad;
    bool first, last;
} turn;

static void write_turn(hd_recorder *recorder, void *user)
{
    turn *t = user;
    const uint32_t *words = t->first ? NULL : hd_vk_mapped(recorder, t->to);
    uint32_t *next = t->last ? NULL : hd_vk_mapped(recorder, t->next);
    t->runs++;
    for (uint32_t i = 0; i < PIXELS; i++) {
        uint32_t word = t->first ? t->frame * 1000 + i : words[i];
        t->bad += t->last && word != t->frame * 1000 + i + TURNS - 1;
        if (next)
            next[i] = word + !t->first;
    }
}

static void copy_turn(hd_recorder *recorder, void *user)
{
    const turn *t = user;
    VkBufferCopy region = {.size = PIXELS * 4};
    HDT_FN(&t->s->f, vkCmdCopyBuffer)
    (hd_vk_commands(recorder), hd_vk_buffer(recorder, t->from), hd_vk_buffer(recorder, t->to), 1, &region);
}

/* turns: TURNS + 1, what each host pass has. */
static void declare_turns(scene *s, turn *turns, uint32_t frame)
{
    hd_graph_begin(s->graph);
    for (uint32_t k = 0; k <= TURNS; k++) {
        turn *t = &turns[k];
        *t = (turn){.s = s, .frame = frame, .first = k == 0, .last = k == TURNS};
        hd_use uses[2];
        uint32_t count = 0;
        if (k) {
            t->from = turns[k - 1].next;
            t->to = buffer(s, "readback", PIXELS * 4);
            hd_graph_pass(s->graph, &(hd_pass_desc){.name = "move",
                                                    .type = HD_PASS_TRANSFER,
                                                    .pin = k % 2 ? HD_PIN_TRANSFER : HD_PIN_NONE,
                                                    .record = copy_turn,
                                                    .user = t,
                                                    .uses = HD_USES({t->from, HD_TRANSFER_SRC},
                                                                    {t->to, HD_TRANSFER_DST})});
            uses[count++] = (hd_use){t->to, HD_HOST_READ};
        }
        if (k < TURNS) {
            t->next = buffer(s, "upload", PIXELS * 4);
            uses[count++] = (hd_use){t->next, HD_HOST_WRITE};
        }
        hd_graph_pass(s->graph, &(hd_pass_desc){.name = "turn",
                                                .type = HD_PASS_HOST,
                                                .root = k == TURNS,
                                                .record = write_turn,
                                                .user = t,
                                                .uses = uses,
                                                .use_count = count});
    }
}

/* All uploads but the first share their bytes, from frame to frame too; the first waits for none. */
static void take_turns(uint32_t frames_in_flight, uint32_t memory_copies)
{
    enum { FRAMES = 12 };
    scene s;
    open_scene(&s, &(hd_vk_desc){.frames_in_flight = frames_in_flight, .memory_copies = memory_copies});
    turn turns[FRAMES][TURNS + 1];
    for (uint32_t frame = 0; frame < FRAMES; frame++) {
        const hd_plan *plan;
        declare_turns(&s, turns[frame], frame);
        cr_assert_eq(hd_vk_compile(s.f.vk, s.graph, NULL, &plan), HD_OK);
        const hd_verify_desc verify = {.size = hd_vk_size, .size_user = s.f.vk};
        cr_assert_eq(hd_plan_verify(s.graph, plan, &verify), HD_OK);
        const hd_plan_view view = hd_plan_read(plan);
        cr_expect_eq(view.heap_count, 1);
        cr_expect_eq(view.heaps[0].flags, HD_HEAP_HOST);
        cr_expect_leq(view.heaps[0].bytes, (uint64_t)PIXELS * 4 * (TURNS + 2), "no more than two uploads' bytes");
        cr_assert_eq(hd_vk_execute(s.f.vk, s.graph, plan), HD_OK);
    }
    cr_assert_eq(hd_vk_wait(s.f.vk), HD_OK);
    for (uint32_t frame = 0; frame < FRAMES; frame++) {
        for (uint32_t k = 0; k <= TURNS; k++)
            cr_expect_eq(turns[frame][k].runs, 1);
        cr_expect_eq(turns[frame][TURNS].bad, 0, "frame %u: %u wrong words", frame, turns[frame][TURNS].bad);
    }
    close_scene(&s);
}

Test(vk_frames, uploads_share_bytes, .timeout = 60)
{
    take_turns(1, 1);
    take_turns(3, 1);
    take_turns(3, 2);
}

/* ---- aliasing ---- */

typedef struct link_pass {
    scene *s;
    hd_resource from, to;
} link_pass;

static void copy_image(hd_recorder *recorder, void *user)
{
    const link_pass *u = user;
    VkImageSubresourceLayers whole = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
    VkImageCopy region = {.srcSubresource = whole, .dstSubresource = whole, .extent = {SIZE, SIZE, 1}};
    HDT_FN(&u->s->f, vkCmdCopyImage)
    (hd_vk_commands(recorder), hd_vk_image(recorder, u->from), VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL,
     hd_vk_image(recorder, u->to), VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1, &region);
}

/* A chain of images, each copied from the one before: two places are enough for all. */
Test(vk_frames, chain_in_little_memory)
{
    enum { LINKS = 24 };
    scene s;
    open_scene(&s, NULL);
    word_check check = {.count = PIXELS};
    uint64_t bytes = 0;
    for (uint32_t frame = 0; frame < 3; frame++) {
        link_pass links[LINKS];
        hd_graph_begin(s.graph);
        hd_resource first = image(&s, "first", VK_FORMAT_R8G8B8A8_UNORM), last = first;
        float grey = (float)(10 * frame + 10) / 255.0f;
        hd_graph_pass(s.graph, &(hd_pass_desc){
                                   .name = "clear",
                                   .type = HD_PASS_GFX,
                                   .uses = HD_USES({first, HD_COLOR_WRITE, .clear.color = {grey, grey, grey, grey}})});
        for (uint32_t i = 0; i < LINKS; i++) {
            links[i] = (link_pass){&s, last, image(&s, "link", VK_FORMAT_R8G8B8A8_UNORM)};
            hd_graph_pass(s.graph,
                          &(hd_pass_desc){.name = "link",
                                          .type = HD_PASS_TRANSFER,
                                          .record = copy_image,
                                          .user = &links[i],
                                          .pin = i % 2 ? HD_PIN_COMPUTE : HD_PIN_TRANSFER,
                                          .uses = HD_USES({last, HD_TRANSFER_SRC}, {links[i].to, HD_TRANSFER_DST})});
            last = links[i].to;
        }
        check.buffer = buffer(&s, "pixels", PIXELS * 4);
        check.expect = (10 * frame + 10) * 0x01010101u;
        copy_pass copy = {&s, last, check.buffer, VK_IMAGE_ASPECT_COLOR_BIT, 0, 0};
        add_copy(&copy);
        add_check(&s, &check);
        cr_assert_eq(hdt_frame(s.f.vk, s.graph), HD_OK);
        cr_assert_eq(hd_vk_wait(s.f.vk), HD_OK);
        hd_vk_frame_stats stats;
        hd_vk_frame_stats_get(s.f.vk, &stats);
        bytes = stats.memory_bytes;
    }
    expect_check(&check, 3);
    cr_expect(bytes < (uint64_t)PIXELS * 4 * 8, "%llu bytes for %d images of which two live at once",
              (unsigned long long)bytes, LINKS);
#ifdef HDT_THREE_FAMILIES
    cr_expect(hdt_vk_family_counts().acquires >= 3 * LINKS, "each link is handed to another family");
#endif
    close_scene(&s);
}

/* ---- steady frames, changing frames ---- */

static void declare_picture(scene *s, uint32_t passes, rect_pass *rects, word_check *check, copy_pass *copy)
{
    hd_graph_begin(s->graph);
    hd_resource color = image(s, "color", VK_FORMAT_R8G8B8A8_UNORM);
    for (uint32_t p = 0; p < passes; p++) {
        uint32_t x = p * 7 % (SIZE - 16), y = p * 13 % (SIZE - 16);
        float shade = (float)(p % 256) / 255.0f;
        rects[p] = (rect_pass){
            s,
            {.aspectMask = VK_IMAGE_ASPECT_COLOR_BIT, .clearValue.color.float32 = {shade, 1.0f - shade, 0.5f, 1.0f}},
            {{(int32_t)x, (int32_t)y}, {16, 16}}};
        hd_graph_pass(s->graph, &(hd_pass_desc){.name = "rect",
                                                .type = HD_PASS_GFX,
                                                .record = clear_rect,
                                                .user = &rects[p],
                                                .uses = HD_USES({color, p ? HD_COLOR_RW : HD_COLOR_WRITE})});
    }
    check->buffer = buffer(s, "pixels", PIXELS * 4);
    *copy = (copy_pass){s, color, check->buffer, VK_IMAGE_ASPECT_COLOR_BIT, 0, 0};
    add_copy(copy);
    add_check(s, check);
}

/* One picture out of many small passes; workers 0: without a pool. */
static void draw_picture(uint32_t workers, uint32_t *pixels)
{
    enum { PASSES = 200 };
    scene s;
    hd_jobs *jobs = NULL;
    if (workers)
        cr_assert_eq(hd_jobs_create(&(hd_jobs_desc){.worker_count = workers}, &jobs), HD_OK);
    open_scene(&s, &(hd_vk_desc){.jobs = jobs});
    rect_pass rects[PASSES];
    word_check checks[4]; /* a frame's runs while others are declared */
    copy_pass copy;
    for (uint32_t frame = 0; frame < 4; frame++) {
        checks[frame] = (word_check){.count = PIXELS, .copy = pixels};
        declare_picture(&s, PASSES, rects, &checks[frame], &copy);
        cr_assert_eq(hdt_frame(s.f.vk, s.graph), HD_OK);
    }
    cr_assert_eq(hd_vk_wait(s.f.vk), HD_OK);
    for (uint32_t frame = 0; frame < 4; frame++)
        cr_expect(checks[frame].runs == 1 && checks[frame].bad == 0);
    close_scene(&s);
    hd_jobs_destroy(jobs);
}

Test(vk_frames, workers_do_not_matter, .timeout = 60)
{
    static uint32_t none[PIXELS], one[PIXELS], four[PIXELS];
    draw_picture(0, none);
    draw_picture(1, one);
    draw_picture(4, four);
    uint32_t lit = 0;
    for (uint32_t i = 0; i < PIXELS; i++)
        lit += none[i] != 0;
    cr_expect(lit > PIXELS / 2, "a picture was drawn");
    cr_expect_eq(memcmp(none, one, sizeof(none)), 0);
    cr_expect_eq(memcmp(none, four, sizeof(none)), 0);
}

Test(vk_frames, steady_frames_create_nothing)
{
    scene s;
    memset(&hdt_vk_hooks, 0, sizeof(hdt_vk_hooks));
    open_scene(&s, &(hd_vk_desc){.get_instance_proc = hdt_vk_hooked});
    rect_pass rects[20];
    static uint32_t pixels[PIXELS];
    word_check checks[40];
    copy_pass copy;
    unsigned before = 0;
    for (uint32_t frame = 0; frame < 40; frame++) {
        checks[frame] = (word_check){.count = PIXELS, .copy = pixels};
        declare_picture(&s, 20, rects, &checks[frame], &copy);
        cr_assert_eq(hdt_frame(s.f.vk, s.graph), HD_OK);
        if (frame == 3)
            before = atomic_load(&hdt_vk_hooks.creations);
    }
    cr_expect(before > 0);
    cr_expect_eq(atomic_load(&hdt_vk_hooks.creations), before);
    close_scene(&s);
}

/* Sizes go up and down from frame to frame: heaps grow, objects come and go, and what is no longer used is dropped. */
Test(vk_frames, changing_sizes, .timeout = 60)
{
    scene s;
    open_scene(&s, &(hd_vk_desc){.frames_in_flight = 3});
    enum { FRAMES = 60 };
    static word_check checks[FRAMES];
    static copy_pass copies[FRAMES];
    uint64_t most = 0;
    hd_vk_frame_stats stats = {0};
    for (uint32_t frame = 0; frame < FRAMES; frame++) {
        uint32_t side = SIZE * (frame < 30 ? 1 + frame * 7 % 5 : 1);
        word_check *check = &checks[frame];
        *check = (word_check){.count = PIXELS, .expect = (frame + 1) * 0x01010101u};
        hd_graph_begin(s.graph);
        hd_resource color = hd_graph_image(
            s.graph,
            &(hd_image_desc){.name = "color", .width = side, .height = side, .format = VK_FORMAT_R8G8B8A8_UNORM});
        check->buffer = buffer(&s, "pixels", (uint64_t)side * side * 4);
        float shade = (float)(frame + 1) / 255.0f;
        hd_graph_pass(s.graph, &(hd_pass_desc){.name = "clear",
                                               .type = HD_PASS_GFX,
                                               .uses = HD_USES({color, HD_COLOR_WRITE,
                                                                .clear.color = {shade, shade, shade, shade}})});
        copies[frame] = (copy_pass){&s, color, check->buffer, VK_IMAGE_ASPECT_COLOR_BIT, 0, 0};
        add_copy(&copies[frame]);
        add_check(&s, check);
        cr_assert_eq(hdt_frame(s.f.vk, s.graph), HD_OK);
        hd_vk_frame_stats_get(s.f.vk, &stats);
        most = stats.memory_bytes > most ? stats.memory_bytes : most;
    }
    cr_assert_eq(hd_vk_wait(s.f.vk), HD_OK);
    for (uint32_t frame = 0; frame < FRAMES; frame++)
        expect_check(&checks[frame], 1);
    cr_expect(stats.memory_bytes < 2 * 5 * 5 * PIXELS * 4 * 2, "retired heaps are freed: %llu bytes of %llu are left",
              (unsigned long long)stats.memory_bytes, (unsigned long long)most);
    close_scene(&s);
}
