#include <criterion/criterion.h>

#include <heddle/capture.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checked.h"
#include "random.h"
#include "vk_scene.h"

/* Random frames against a model: resources of 64 words (buffers, and images of 8 x 8 words) are filled, copied into one
 * another and written, read and moved by host passes, on queues of random kinds, while the model does the same in
 * declaration order on plain arrays. Every host pass that reads compares. Some rounds are long enough that frames
 * repeat what the one before them waited for; frames in flight and copies of memory differ. Wrong aliasing, order,
 * layouts or roles of histories show as wrong words, wrong barriers as messages of the validation layer. HEDDLE_SEED
 * replays a run. */

enum { WORDS = 64, SIDE = 8, RESOURCES = 24, OPS = 60, RELAYS = 10, RELAY_EVERY = 5 };
enum { ROUNDS = 200, FRAMES = 4, LONG_EVERY = 8, LONG = 12 }; /* frames of a round */

typedef enum op_kind { FILL, COPY, HOST_WRITE, HOST_CHECK, HOST_MOVE } op_kind;

typedef struct op {
    hdt_vk *f;
    op_kind kind;
    hd_resource from, to;
    bool from_image, to_image;
    uint32_t value;
    uint32_t expect[WORDS]; /* HOST_CHECK, HOST_MOVE */
    uint32_t bad, runs;
} op;

typedef struct model {
    hd_resource handle;
    bool image, written, host;
    uint32_t words[WORDS];
} model;

static const VkImageSubresourceLayers layers = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};

static void record_fill(hd_recorder *recorder, void *user)
{
    const op *o = user;
    VkCommandBuffer commands = hd_vk_commands(recorder);
    if (!o->to_image) {
        HDT_FN(o->f, vkCmdFillBuffer)(commands, hd_vk_buffer(recorder, o->to), 0, WORDS * 4, o->value);
        return;
    }
    VkClearColorValue color = {.uint32 = {o->value, 0, 0, 0}};
    VkImageSubresourceRange whole = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
    HDT_FN(o->f, vkCmdClearColorImage)
    (commands, hd_vk_image(recorder, o->to), VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, &color, 1, &whole);
}

static void record_copy(hd_recorder *recorder, void *user)
{
    const op *o = user;
    const VkImageLayout src = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, dst = VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL;
    VkCommandBuffer commands = hd_vk_commands(recorder);
    VkImage from = o->from_image ? hd_vk_image(recorder, o->from) : VK_NULL_HANDLE;
    VkImage to = o->to_image ? hd_vk_image(recorder, o->to) : VK_NULL_HANDLE;
    VkBufferImageCopy mixed = {.imageSubresource = layers, .imageExtent = {SIDE, SIDE, 1}};
    VkImageCopy images = {.srcSubresource = layers, .dstSubresource = layers, .extent = {SIDE, SIDE, 1}};
    VkBufferCopy buffers = {.size = WORDS * 4};
    if (o->from_image && o->to_image)
        HDT_FN(o->f, vkCmdCopyImage)(commands, from, src, to, dst, 1, &images);
    else if (o->from_image)
        HDT_FN(o->f, vkCmdCopyImageToBuffer)(commands, from, src, hd_vk_buffer(recorder, o->to), 1, &mixed);
    else if (o->to_image)
        HDT_FN(o->f, vkCmdCopyBufferToImage)(commands, hd_vk_buffer(recorder, o->from), to, dst, 1, &mixed);
    else
        HDT_FN(o->f, vkCmdCopyBuffer)
    (commands, hd_vk_buffer(recorder, o->from), hd_vk_buffer(recorder, o->to), 1, &buffers);
}

static void host_write(hd_recorder *recorder, void *user)
{
    const op *o = user;
    uint32_t *words = hd_vk_mapped(recorder, o->to);
    for (uint32_t i = 0; i < WORDS && words; i++)
        words[i] = o->value + i;
}

static void host_check(hd_recorder *recorder, void *user)
{
    op *o = user;
    const uint32_t *words = hd_vk_mapped(recorder, o->from);
    o->runs++;
    for (uint32_t i = 0; i < WORDS; i++)
        o->bad += !words || words[i] != o->expect[i];
}

static void host_move(hd_recorder *recorder, void *user)
{
    const op *o = user;
    const uint32_t *from = hd_vk_mapped(recorder, o->from);
    uint32_t *to = hd_vk_mapped(recorder, o->to);
    host_check(recorder, user);
    for (uint32_t i = 0; i < WORDS && from && to; i++)
        to[i] = from[i] + o->value;
}

static uint32_t pick(uint64_t *random, const model *models, bool written, bool host)
{
    for (uint32_t tries = 0; tries < 100; tries++) {
        uint32_t r = hdt_below(random, RESOURCES);
        bool history = r >= RESOURCES - 4 && r % 2 == 1;
        if ((written ? models[r].written : !history) && (!host || models[r].host))
            return r;
    }
    return HD_NONE;
}

/* Buffers of the host behind all others, that are used by turns: the host writes one, the GPU copies it to the next,
 * the host moves that to the one behind it, and so on. They live shortly and share bytes; in every other shape there
 * are two of them, so that the host writes what the GPU has read in the same frame. */
static op_kind take_relay(uint32_t relay, uint32_t *from, uint32_t *to)
{
    *from = relay ? RESOURCES + relay - 1 : HD_NONE;
    *to = relay < RELAYS ? RESOURCES + relay : HD_NONE;
    return relay == 0 ? HOST_WRITE : relay == RELAYS ? HOST_CHECK : relay % 2 ? COPY : HOST_MOVE;
}

/* One operation of a random kind, declared and done by the model; false: this one cannot be. */
static bool add_op(scene *s, uint64_t *random, model *models, op *o, uint32_t number)
{
    static const hd_record_fn records[] = {record_fill, record_copy, host_write, host_check, host_move};
    o->f = &s->f;
    o->kind = (op_kind)hdt_below(random, 5);
    o->value = number * 1000 + 1;
    bool host = o->kind >= HOST_WRITE, reads = o->kind == COPY || o->kind == HOST_CHECK || o->kind == HOST_MOVE;
    uint32_t from = HD_NONE, to = HD_NONE;
    if (reads)
        from = pick(random, models, true, host);
    if (o->kind != HOST_CHECK)
        to = pick(random, models, false, host);
    if (number % RELAY_EVERY == 0 && number % OPS / RELAY_EVERY - 1 <= RELAYS) {
        o->kind = take_relay(number % OPS / RELAY_EVERY - 1, &from, &to);
        host = o->kind >= HOST_WRITE;
        reads = from != HD_NONE;
    }
    if (from == to || (from == HD_NONE && reads) || (to == HD_NONE && o->kind != HOST_CHECK))
        return false;
    if (host && reads)
        memcpy(o->expect, models[from].words, sizeof(o->expect));
    hd_use uses[2];
    uint32_t use_count = 0;
    if (from != HD_NONE) {
        o->from = models[from].handle;
        o->from_image = models[from].image;
        uses[use_count++] = (hd_use){o->from, host ? HD_HOST_READ : HD_TRANSFER_SRC};
    }
    if (to != HD_NONE) {
        o->to = models[to].handle;
        o->to_image = models[to].image;
        uses[use_count++] = (hd_use){o->to, host ? HD_HOST_WRITE : HD_TRANSFER_DST};
        models[to].written = true;
        for (uint32_t i = 0; i < WORDS; i++)
            models[to].words[i] = o->kind == COPY        ? models[from].words[i]
                                  : o->kind == HOST_MOVE ? models[from].words[i] + o->value
                                  : o->kind == FILL      ? o->value
                                                         : o->value + i;
    }
    bool clears = o->kind == FILL && o->to_image; /* no transfer queue can */
    hd_graph_pass(s->graph, &(hd_pass_desc){.name = "op",
                                            .type = host     ? HD_PASS_HOST
                                                    : clears ? HD_PASS_COMPUTE
                                                             : HD_PASS_TRANSFER,
                                            .pin = clears || host ? HD_PIN_NONE : (hd_pin)hdt_below(random, 4),
                                            .root = host && reads,
                                            .record = records[o->kind],
                                            .user = o,
                                            .uses = uses,
                                            .use_count = use_count});
    return true;
}

/* Resource r of the frame. The last four are two pairs: a history and, before it, what it is of. last: what the OFs
 * held at the end of the last frame. */
static void add_resources(scene *s, uint64_t shape, model *models, uint32_t last[2][WORDS])
{
    for (uint32_t r = 0; r < RESOURCES; r++) {
        model *m = &models[r];
        *m = (model){.image = shape >> r & 1};
        m->host = !m->image && r % 3 == 0;
        if (r >= RESOURCES - 4 && r % 2 == 1) {
            m->image = models[r - 1].image;
            m->host = false;
            m->written = true;
            m->handle = hd_graph_history_with(
                s->graph, &(hd_history_desc){.of = models[r - 1].handle, .skipped = HD_SKIPPED_RESTART});
            memcpy(m->words, last[(r - (RESOURCES - 4)) / 2], sizeof(m->words));
        } else if (m->image) {
            m->handle = hd_graph_image(
                s->graph,
                &(hd_image_desc){.name = "image", .width = SIDE, .height = SIDE, .format = VK_FORMAT_R32_UINT});
        } else {
            m->handle = buffer(s, "buffer", WORDS * 4);
        }
    }
    model *relays = &models[RESOURCES];
    uint32_t relay_buffers = shape >> RESOURCES & 1 ? 2 : RELAYS;
    for (uint32_t r = 0; r < RELAYS; r++) {
        relays[r] = (model){.host = true};
        relays[r].handle = r < relay_buffers ? buffer(s, "relay", WORDS * 4) : relays[r % relay_buffers].handle;
    }
}

/* Frames of one shape: the same declaration each time, so that histories are kept. */
static void run_round(scene *s, uint64_t seed)
{
    static op ops[LONG][OPS];
    static model models[RESOURCES + RELAYS];
    uint32_t last[2][WORDS], frames = seed / 4 % LONG_EVERY ? FRAMES : LONG;
    memset(last, 0, sizeof(last));
    memset(ops, 0, sizeof(ops));
    hd_graph_begin(s->graph); /* a frame without histories: the round's first ones are zero */
    cr_assert_eq(hdt_frame(s->f.vk, s->graph), HD_OK);
    for (uint32_t frame = 0; frame < frames; frame++) {
        uint64_t random = seed, shape = hdt_random(&random);
        hd_graph_begin(s->graph);
        add_resources(s, shape, models, last);
        /* Every OF is written first, so that a frame always leaves something. */
        for (uint32_t p = 0; p < 2; p++) {
            model *of = &models[RESOURCES - 4 + 2 * p];
            op *o = &ops[frame][p];
            *o = (op){.f = &s->f, .kind = FILL, .to = of->handle, .to_image = of->image, .value = frame * 100 + p + 1};
            hd_graph_pass(s->graph, &(hd_pass_desc){.name = "of",
                                                    .type = HD_PASS_COMPUTE,
                                                    .record = record_fill,
                                                    .user = o,
                                                    .uses = HD_USES({of->handle, HD_TRANSFER_DST})});
            of->written = true;
            for (uint32_t i = 0; i < WORDS; i++)
                of->words[i] = o->value;
        }
        for (uint32_t i = 2; i < OPS; i++) {
            while (!add_op(s, &random, models, &ops[frame][i], i + frame * OPS))
                memset(&ops[frame][i], 0, sizeof(op));
        }
        hd_result result = hdt_frame(s->f.vk, s->graph);
        cr_assert_eq(result, HD_OK, "seed %llu: %s: %s", (unsigned long long)seed, hd_result_name(result),
                     hd_graph_error(s->graph)->text);
        for (uint32_t p = 0; p < 2; p++)
            memcpy(last[p], models[RESOURCES - 4 + 2 * p].words, sizeof(last[p]));
    }
    cr_assert_eq(hd_vk_wait(s->f.vk), HD_OK);
    for (uint32_t frame = 0; frame < frames; frame++) {
        for (uint32_t i = 0; i < OPS; i++) {
            const op *o = &ops[frame][i];
            cr_expect_eq(o->runs, o->kind == HOST_CHECK || o->kind == HOST_MOVE, "HEDDLE_SEED=%llu frame %u op %u",
                         (unsigned long long)seed, frame, i);
            cr_expect_eq(o->bad, 0, "HEDDLE_SEED=%llu frame %u op %u: %u wrong words", (unsigned long long)seed, frame,
                         i, o->bad);
        }
    }
}

Test(vk_random, frames_against_a_model, .timeout = 100)
{
    static const hd_vk_desc descs[] = {{.frames_in_flight = 2},
                                       {.frames_in_flight = 1},
                                       {.frames_in_flight = 3, .memory_copies = 2},
                                       {.frames_in_flight = 4, .memory_copies = 3}};
    uint64_t seed = hdt_seed();
    for (uint32_t d = 0; d < 4; d++) {
        scene s;
        open_scene(&s, &descs[d]);
        for (uint32_t round = 0; round < (getenv("HEDDLE_SEED") ? 1 : ROUNDS / 4); round++)
            run_round(&s, getenv("HEDDLE_SEED") ? seed : seed + round * 4 + d);
        close_scene(&s);
    }
}

#ifndef HDT_THREE_FAMILIES /* test_vk_queues.c includes this file */

static void say(const char *text, void *user)
{
    (void)user;
    fprintf(stderr, "%s\n", text);
}

/* What is given to Vulkan, over many frames of one hd_vk, on three families. */
Test(vk_random, captured, .timeout = 100)
{
    enum { PARTS = 3, ROUNDS_A_PART = 20 };
    scene s;
    hdt_vk_keep_libraries();
    hdt_vk_three_families(true, 0);
    cr_assert_eq(hd_capture_open(&(hd_capture_desc){.get_instance_proc = hdt_vk_hooked}), HD_OK);
    open_scene(&s, &(hd_vk_desc){.get_instance_proc = hd_capture_get_instance_proc});
    uint64_t seed = hdt_seed();
    for (uint32_t part = 0; part < PARTS; part++) {
        hd_stream *stream;
        cr_assert_eq(hd_capture_begin(), HD_OK);
        for (uint32_t round = 0; round < ROUNDS_A_PART; round++)
            run_round(&s, seed + part * ROUNDS_A_PART + round);
        cr_assert_eq(hd_capture_end(&stream), HD_OK);
        cr_expect_eq(hd_stream_verify(stream, &(hd_verify_desc){.message = say}), HD_OK,
                     "HEDDLE_SEED=%llu, part %u: a rule is broken", (unsigned long long)seed, part);
        hd_stream_free(stream);
    }
    close_scene(&s);
    hd_capture_close();
}

#endif
