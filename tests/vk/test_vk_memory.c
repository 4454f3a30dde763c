#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

#include "vk_busy.h"
#include "vk_fixture.h"

/* Device memory from the engine: an allocator that splits up large pieces as real ones do, at offsets that are no more
 * aligned than was asked for, counts, fails, and answers wrongly. */

enum { TYPES = 32, BLOCK = 8 << 20 };

typedef struct engine {
    hdt_vk f; /* owns the device; heddle's second hd_vk adopts it */
    hd_vk *vk;
    hdt_busy busy;
    VkDeviceMemory blocks[TYPES];
    unsigned char *mapped[TYPES];
    uint64_t used[TYPES];
    uint32_t asked, out, fail_at, fail_count, wrong_frees;
    int answer_wrongly; /* 1: unaligned, 2: no pointer, 3: no memory */
} engine;

static VkResult allocate(const hd_vk_memory_request *request, hd_vk_memory *out, void *user)
{
    engine *e = user;
    VkDevice device = e->f.info.device;
    uint32_t t = request->type;
    e->asked++;
    if (e->fail_at && e->asked >= e->fail_at && e->asked < e->fail_at + e->fail_count)
        return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    if (!e->blocks[t]) {
        VkMemoryAllocateInfo info = {
            .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = BLOCK, .memoryTypeIndex = t};
        VkResult result = HDT_FN(&e->f, vkAllocateMemory)(device, &info, NULL, &e->blocks[t]);
        if (result != VK_SUCCESS)
            return result;
    }
    if (request->mapped && !e->mapped[t]) {
        void *mapped;
        VkResult result = HDT_FN(&e->f, vkMapMemory)(device, e->blocks[t], 0, VK_WHOLE_SIZE, 0, &mapped);
        if (result != VK_SUCCESS)
            return result;
        e->mapped[t] = mapped;
    }
    /* the odd multiples of the alignment: nothing may rely on more */
    uint64_t offset = (e->used[t] + request->alignment - 1) / request->alignment * request->alignment;
    offset += offset / request->alignment % 2 ? 0 : request->alignment;
    if (offset + request->bytes > BLOCK)
        return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    e->used[t] = offset + request->bytes;
    e->out++;
    *out = (hd_vk_memory){e->blocks[t], offset, request->mapped ? e->mapped[t] + offset : NULL, e->blocks[t]};
    if (e->answer_wrongly == 1)
        out->offset++;
    if (e->answer_wrongly == 2)
        out->mapped = NULL;
    if (e->answer_wrongly == 3) {
        out->memory = VK_NULL_HANDLE;
        e->out--;
    }
    return VK_SUCCESS;
}

static void release(const hd_vk_memory *memory, void *user)
{
    engine *e = user;
    e->wrong_frees += e->out == 0 || memory->memory != memory->handle;
    e->out--;
}

static void open_engine(engine *e)
{
    memset(e, 0, sizeof(*e));
    hd_result result = hdt_vk_open(&e->f, NULL);
    if (hdt_vk_none(result))
        cr_skip_test("no Vulkan 1.3 device");
    cr_assert_eq(result, HD_OK);
    cr_assert_eq(hd_graph_create(&(hd_graph_desc){.log = hdt_log()}, &e->busy.graph), HD_OK);
}

static void make_vk(engine *e)
{
    hd_vk_desc desc = {
        .log = hdt_log(),
        .memory = {allocate, release, e},
        .instance = e->f.info.instance,
        .physical_device = e->f.info.physical_device,
        .device = e->f.info.device,
        .queues = e->f.info.queues,
        .queue_count = e->f.info.queue_count,
    };
    e->asked = 0;
    cr_assert_eq(hd_vk_create(&desc, &e->vk), HD_OK);
}

static void drop_vk(engine *e)
{
    hd_vk_destroy(e->vk);
    cr_expect_eq(e->out, 0, "%u pieces were not freed", e->out);
    cr_expect_eq(e->wrong_frees, 0);
    memset(e->used, 0, sizeof(e->used));
}

static void close_engine(engine *e)
{
    for (uint32_t t = 0; t < TYPES; t++) {
        if (e->blocks[t])
            HDT_FN(&e->f, vkFreeMemory)(e->f.info.device, e->blocks[t], NULL);
    }
    hd_graph_destroy(e->busy.graph);
    cr_expect_eq(hdt_vk_close(&e->f), 0, "validation messages");
}

Test(vk_memory, from_the_engine)
{
    engine e;
    open_engine(&e);
    make_vk(&e);
    cr_expect_eq(hdt_busy_run(&e.busy, e.vk, 6), HD_OK);
    uint32_t asked = e.asked;
    cr_expect(asked >= 3, "heaps and staging memory come from the callback");
    cr_expect_eq(hdt_busy_run(&e.busy, e.vk, 6), HD_OK);
    cr_expect_eq(e.asked, asked, "steady frames ask for nothing");
    e.busy.size = 128; /* heaps grow, the small ones go */
    cr_expect_eq(hdt_busy_run(&e.busy, e.vk, 6), HD_OK);
    cr_expect(e.asked > asked);
    cr_expect_eq(hd_vk_wait(e.vk), HD_OK);
    cr_expect_eq(atomic_load(&e.busy.right), 36);
    cr_expect_eq(atomic_load(&e.busy.wrong), 0);
    drop_vk(&e);
    /* plans of the graph's cache, on a new hd_vk that measured none of their resources */
    make_vk(&e);
    cr_expect_eq(hdt_busy_run(&e.busy, e.vk, 4), HD_OK);
    cr_expect_eq(hd_vk_wait(e.vk), HD_OK);
    cr_expect_eq(atomic_load(&e.busy.right), 44);
    drop_vk(&e);
    close_engine(&e);
}

/* Each request fails: once, which heddle gets over by asking again, and twice, which comes back; the next frame works.
 */
Test(vk_memory, failures, .timeout = 60)
{
    engine e;
    open_engine(&e);
    for (uint32_t twice = 0; twice < 2; twice++) {
        for (uint32_t k = 1;; k++) {
            make_vk(&e);
            e.fail_at = k;
            e.fail_count = 1 + twice;
            hd_result result = hdt_busy_run(&e.busy, e.vk, 2);
            bool failed = e.asked >= k;
            if (failed && twice)
                cr_expect_eq(result, HD_OUT_OF_DEVICE_MEMORY, "request %u: %s", k, hd_result_name(result));
            else if (!failed)
                cr_expect_eq(result, HD_OK);
            else /* staging memory is asked for once only: nothing could have been freed for it */
                cr_expect(result == HD_OK || result == HD_OUT_OF_DEVICE_MEMORY);
            e.fail_at = 0;
            cr_expect_eq(hdt_busy_run(&e.busy, e.vk, 3), HD_OK, "request %u: no frame after it", k);
            cr_expect_eq(hd_vk_wait(e.vk), HD_OK);
            drop_vk(&e);
            if (!failed) {
                cr_expect(k > 3);
                break;
            }
        }
    }
    cr_expect_eq(atomic_load(&e.busy.wrong), 0);
    close_engine(&e);
}

Test(vk_memory, wrong_answers)
{
    engine e;
    open_engine(&e);
    for (e.answer_wrongly = 1; e.answer_wrongly <= 3; e.answer_wrongly++) {
        make_vk(&e);
        cr_expect_eq(hdt_busy_run(&e.busy, e.vk, 1), HD_VULKAN, "wrong answer %d", e.answer_wrongly);
        drop_vk(&e);
    }
    hd_vk *vk;
    hd_vk_desc half = {.memory = {.allocate = allocate, .user = &e}, .log = hdt_log()};
    cr_expect_eq(hd_vk_create(&half, &vk), HD_INVALID_ARGUMENT, "an allocate without a free");
    close_engine(&e);
}

typedef struct seen {
    uint32_t runs, word;
} seen;

static void look(const void *data, uint64_t bytes, void *user)
{
    seen *s = user;
    s->runs += bytes == 4;
    memcpy(&s->word, data, sizeof(s->word));
}

enum { LARGE = 40 << 20, SMALL = 1 << 20, HALF = 21 << 20, HISTORY = 24 << 20, STRETCH = 256, FRAMES = 3 * STRETCH };

/* Fills a buffer, and one that has a history, with the frame's number; shows the one and the history. */
static hd_result fill_and_show(hd_vk *vk, hd_graph *graph, uint64_t bytes, uint64_t history_bytes, uint32_t number,
                               seen shown[2])
{
    const hd_range word = {.bytes = 4};
    hd_graph_begin(graph);
    hd_resource words = hd_graph_buffer(graph, &(hd_buffer_desc){.name = "words", .bytes = bytes});
    hd_resource next = hd_graph_buffer(graph, &(hd_buffer_desc){.name = "next", .bytes = history_bytes});
    hd_resource last = hd_graph_history(graph, next);
    hd_vk_readback(vk, graph, last, &word, look, &shown[1], NULL);
    hd_vk_fill(vk, graph, next, NULL, number, NULL);
    hd_vk_fill(vk, graph, words, NULL, number, NULL);
    hd_vk_readback(vk, graph, words, &word, look, &shown[0], NULL);
    return hd_vk_frame(vk, graph);
}

/* One large frame, then small ones, some of which still need more than half of its heap until the last stretch begins:
 * at the end of it the heap is gone. That of the large history goes by age, once small frames have one of their own. */
static void shrink(uint32_t copies)
{
    static seen shown[FRAMES][2];
    hdt_vk f;
    hd_graph *graph;
    hd_vk_frame_stats stats = {0};
    hd_result result = hdt_vk_open(&f, &(hd_vk_desc){.memory_copies = copies});
    if (hdt_vk_none(result))
        cr_skip_test("no Vulkan 1.3 device");
    cr_assert_eq(result, HD_OK);
    cr_assert_eq(hd_graph_create(&(hd_graph_desc){.log = hdt_log()}, &graph), HD_OK);
    memset(shown, 0, sizeof(shown));
    for (uint32_t frame = 0; frame < FRAMES; frame++) {
        bool large = frame < copies, half = frame < 2 * STRETCH && frame % 200 < copies;
        uint64_t bytes = large ? LARGE : half ? HALF : SMALL + (frame % 50 == 0) * 4;
        result = fill_and_show(f.vk, graph, bytes, large ? HISTORY : SMALL, frame, shown[frame]);
        cr_assert_eq(result, HD_OK, "frame %u", frame);
        hd_vk_frame_stats_get(f.vk, &stats);
        if (frame + 1 >= copies && frame < 2 * STRETCH)
            cr_assert_geq(stats.memory_bytes, (uint64_t)copies * LARGE, "frame %u", frame);
        if (frame + 1 == copies)
            cr_assert_geq(stats.memory_bytes, (uint64_t)copies * LARGE + 2 * HISTORY, "frame %u", frame);
        if (frame > copies + 20)
            cr_assert_lt(stats.memory_bytes, (uint64_t)copies * LARGE + HISTORY, "frame %u", frame);
    }
    cr_expect_lt(stats.memory_bytes, 8u << 20, "%llu bytes", (unsigned long long)stats.memory_bytes);
    cr_expect_eq(hd_vk_wait(f.vk), HD_OK);
    for (uint32_t frame = 0; frame < FRAMES; frame++) {
        bool first = frame == 0 || frame == copies; /* of histories of this size */
        cr_assert(shown[frame][0].runs == 1 && shown[frame][0].word == frame, "frame %u: %u", frame,
                  shown[frame][0].word);
        cr_assert(shown[frame][1].runs == 1 && shown[frame][1].word == (first ? 0 : frame - 1), "frame %u: %u", frame,
                  shown[frame][1].word);
    }
    cr_expect_eq(hdt_vk_close(&f), 0, "validation messages");
    hd_graph_destroy(graph);
}

Test(vk_memory, large_heaps_are_given_back, .timeout = 60)
{
    shrink(1);
}

Test(vk_memory, large_copies_of_the_memory_are_given_back, .timeout = 60)
{
    shrink(2);
}

/* ---- a device that is full ---- */

typedef struct budget {
    hdt_vk f; /* owns the device */
    hd_vk *vk;
    hd_graph *graph;
    uint64_t limit, out, asked, refused;
} budget;

static VkResult allocate_within(const hd_vk_memory_request *request, hd_vk_memory *out, void *user)
{
    budget *b = user;
    b->asked++;
    if (b->out + request->bytes > b->limit) {
        b->refused++;
        return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    }
    VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                 .allocationSize = request->bytes,
                                 .memoryTypeIndex = request->type};
    VkResult result = HDT_FN(&b->f, vkAllocateMemory)(b->f.info.device, &info, NULL, &out->memory);
    if (result == VK_SUCCESS && request->mapped)
        result = HDT_FN(&b->f, vkMapMemory)(b->f.info.device, out->memory, 0, VK_WHOLE_SIZE, 0, &out->mapped);
    out->handle = (void *)(uintptr_t)request->bytes;
    b->out += request->bytes;
    return result;
}

static void release_within(const hd_vk_memory *memory, void *user)
{
    budget *b = user;
    HDT_FN(&b->f, vkFreeMemory)(b->f.info.device, memory->memory, NULL);
    b->out -= (uintptr_t)memory->handle;
}

static void open_budget(budget *b, uint64_t limit)
{
    *b = (budget){.limit = limit};
    hd_result result = hdt_vk_open(&b->f, NULL);
    if (hdt_vk_none(result))
        cr_skip_test("no Vulkan 1.3 device");
    cr_assert_eq(result, HD_OK);
    cr_assert_eq(hd_graph_create(&(hd_graph_desc){.log = hdt_log()}, &b->graph), HD_OK);
    cr_assert_eq(hd_vk_create(&(hd_vk_desc){.log = hdt_log(),
                                            .memory = {allocate_within, release_within, b},
                                            .instance = b->f.info.instance,
                                            .physical_device = b->f.info.physical_device,
                                            .device = b->f.info.device,
                                            .queues = b->f.info.queues,
                                            .queue_count = b->f.info.queue_count},
                              &b->vk),
                 HD_OK);
}

static void close_budget(budget *b)
{
    cr_expect_eq(hd_vk_wait(b->vk), HD_OK);
    hd_vk_destroy(b->vk);
    cr_expect_eq(b->out, 0);
    hd_graph_destroy(b->graph);
    cr_expect_eq(hdt_vk_close(&b->f), 0, "validation messages");
}

static void nothing(const void *data, uint64_t bytes, void *user)
{
    (void)data, (void)bytes, (void)user;
}

/* A buffer on the device, of which so much is read by the host. */
static hd_result fill_and_read(budget *b, uint64_t bytes, uint64_t read)
{
    hd_graph_begin(b->graph);
    hd_resource words = hd_graph_buffer(b->graph, &(hd_buffer_desc){.name = "words", .bytes = bytes});
    hd_graph_pass(b->graph, &(hd_pass_desc){.name = "root",
                                            .type = HD_PASS_TRANSFER,
                                            .root = true,
                                            .uses = HD_USES({words, HD_TRANSFER_DST})});
    if (read)
        hd_vk_readback(b->vk, b->graph, words, &(hd_range){.bytes = read}, nothing, NULL, NULL);
    return hd_vk_frame(b->vk, b->graph);
}

enum { MIB = 1 << 20 };

/* A frame that failed used a heap that is too small for the next one: it must not stand in its way for ever. */
Test(vk_memory, heaps_of_a_frame_that_failed_make_way)
{
    budget b;
    open_budget(&b, 10 * MIB);
    cr_expect_eq(fill_and_read(&b, 6 * MIB, 4), HD_OK);
    for (uint32_t i = 0; i < 3; i++)
        cr_expect_eq(fill_and_read(&b, 6 * MIB, 6 * MIB), HD_OUT_OF_DEVICE_MEMORY);
    cr_expect_eq(fill_and_read(&b, 9 * MIB, 4), HD_OK);
    cr_expect_eq(fill_and_read(&b, 6 * MIB, 6 * MIB), HD_OUT_OF_DEVICE_MEMORY);
    cr_expect_eq(fill_and_read(&b, 6 * MIB, 4), HD_OK);
    close_budget(&b);
}

/* Nor must one that the frame has no use for. */
Test(vk_memory, heaps_that_are_not_used_make_way)
{
    budget b;
    open_budget(&b, 10 * MIB);
    cr_expect_eq(fill_and_read(&b, 4 * MIB, 4 * MIB), HD_OK);
    cr_expect_eq(fill_and_read(&b, 9 * MIB, 0), HD_OK);
    cr_expect_eq(b.refused, 1);
    cr_expect_eq(fill_and_read(&b, 4 * MIB, 4 * MIB), HD_OUT_OF_DEVICE_MEMORY, "the large one serves the frame");
    close_budget(&b);
}

/* No memory for the smaller heap is no error; it is made once there is. */
Test(vk_memory, heaps_that_cannot_shrink_stay, .timeout = 60)
{
    static seen shown[4 * STRETCH][2];
    hd_vk_frame_stats stats;
    budget b;
    open_budget(&b, 64 * MIB);
    memset(shown, 0, sizeof(shown));
    for (uint32_t frame = 0; frame < 4 * STRETCH; frame++) {
        b.limit = frame == 0 || frame > 2 * STRETCH + 9 ? 64 * MIB : b.out;
        cr_assert_eq(fill_and_show(b.vk, b.graph, frame ? SMALL : LARGE, SMALL, frame, shown[frame]), HD_OK, "frame %u",
                     frame);
        hd_vk_frame_stats_get(b.vk, &stats);
        cr_assert(frame > 2 * STRETCH || stats.memory_bytes > LARGE, "frame %u", frame);
    }
    cr_expect_eq(b.refused, 2);
    cr_expect_lt(stats.memory_bytes, 8u * MIB);
    cr_expect_eq(hd_vk_wait(b.vk), HD_OK);
    for (uint32_t frame = 0; frame < 4 * STRETCH; frame++) {
        cr_assert_eq(shown[frame][0].word, frame);
        cr_assert_eq(shown[frame][1].word, frame ? frame - 1 : 0, "frame %u", frame);
    }
    close_budget(&b);
}

/* Sizes that come and go do not make heaps of histories anew each time. */
Test(vk_memory, histories_that_grow_and_shrink, .timeout = 60)
{
    static seen shown[2 * STRETCH][2];
    budget b;
    open_budget(&b, 512 * MIB);
    memset(shown, 0, sizeof(shown));
    for (uint32_t frame = 0; frame < 2 * STRETCH; frame++)
        cr_assert_eq(fill_and_show(b.vk, b.graph, SMALL, frame % 16 < 8 ? HISTORY : SMALL, frame, shown[frame]), HD_OK);
    cr_expect_lt(b.asked, 12, "%d", (int)b.asked);
    cr_expect_eq(hd_vk_wait(b.vk), HD_OK);
    for (uint32_t frame = 0; frame < 2 * STRETCH; frame++)
        cr_assert_eq(shown[frame][1].word, frame % 8 ? frame - 1 : 0, "frame %u", frame);
    close_budget(&b);
}

/* Where the device is full, the histories that the frame skips make way, and none of those that it has. */
Test(vk_memory, histories_that_a_frame_skips_make_way)
{
    seen shown[6][2] = {0}, large[6] = {0};
    const hd_range word = {.bytes = 4};
    budget b;
    open_budget(&b, 64 * MIB);
    for (uint32_t frame = 0; frame < 6; frame++) {
        hd_vk_frame_stats stats;
        if (frame != 1 && frame != 5) {
            cr_assert_eq(fill_and_show(b.vk, b.graph, frame == 3 ? LARGE : SMALL, SMALL, frame, shown[frame]), HD_OK);
        } else {
            hd_graph_begin(b.graph);
            hd_resource next = hd_graph_buffer(b.graph, &(hd_buffer_desc){.name = "large", .bytes = HISTORY});
            hd_vk_readback(b.vk, b.graph, hd_graph_history(b.graph, next), &word, look, &large[frame], NULL);
            hd_vk_fill(b.vk, b.graph, next, NULL, 77, NULL);
            cr_assert_eq(hd_vk_frame(b.vk, b.graph), HD_OK);
        }
        hd_vk_frame_stats_get(b.vk, &stats);
        bool has_large = frame == 1 || frame == 2 || frame == 5;
        cr_expect_eq(stats.history_bytes >= 2 * HISTORY, has_large, "frame %u", frame);
    }
    cr_expect_eq(b.refused, 2); /* of the large buffer, and of the large history when that is still there */
    cr_expect_eq(hd_vk_wait(b.vk), HD_OK);
    cr_expect(large[1].runs == 1 && large[5].runs == 1 && large[5].word == 0);
    cr_expect(shown[2][1].word == 0 && shown[3][1].word == 2 && shown[4][1].word == 3);
    close_budget(&b);
}

/* ---- staging memory, trimming ---- */

static hd_vk_frame_stats stats_of(hd_vk *vk)
{
    hd_vk_frame_stats stats;
    hd_vk_frame_stats_get(vk, &stats);
    cr_expect_eq(stats.memory_bytes, stats.heap_bytes + stats.history_bytes + stats.staging_bytes);
    return stats;
}

/* Uploads so many bytes, 0: none, to a buffer as large; a history beside it counts frames. */
static void upload(budget *b, uint64_t bytes, uint32_t number, seen *last_number)
{
    static unsigned char data[18 * MIB];
    hd_graph_begin(b->graph);
    hd_resource to = hd_graph_buffer(b->graph, &(hd_buffer_desc){.name = "to", .bytes = bytes ? bytes : 4});
    hd_resource next = hd_graph_buffer(b->graph, &(hd_buffer_desc){.name = "next", .bytes = 256});
    hd_resource last = hd_graph_history(b->graph, next);
    hd_vk_readback(b->vk, b->graph, last, &(hd_range){.bytes = 4}, look, last_number, NULL);
    hd_vk_fill(b->vk, b->graph, next, NULL, number, NULL);
    if (bytes)
        hd_vk_upload(b->vk, b->graph, to, NULL, data, bytes, NULL);
    else
        hd_vk_fill(b->vk, b->graph, to, NULL, 0, NULL);
    hd_graph_pass(b->graph,
                  &(hd_pass_desc){
                      .name = "root", .type = HD_PASS_TRANSFER, .root = true, .uses = HD_USES({to, HD_TRANSFER_SRC})});
    cr_assert_eq(hd_vk_frame(b->vk, b->graph), HD_OK, "%s", hd_graph_error(b->graph)->text);
}

/* It goes by age, also where nothing is uploaded any more, and where small uploads come after the large one; what is
 * used again and again stays. */
Test(vk_memory, staging_is_given_back)
{
    static seen last[64];
    for (uint32_t after = 0; after < 3; after++) { /* nothing, little, as much */
        const uint64_t later[] = {0, 4, 16 * MIB};
        budget b;
        open_budget(&b, 1u << 30);
        memset(last, 0, sizeof(last));
        for (uint32_t frame = 0; frame < 40; frame++) {
            upload(&b, frame ? later[after] : 16 * MIB, frame, &last[frame]);
            hd_vk_frame_stats stats = stats_of(b.vk);
            cr_expect_eq(stats.memory_bytes > b.out - 4096 && stats.memory_bytes <= b.out, true);
            cr_expect(frame > 10 || stats.staging_bytes >= 16 * MIB, "frame %u", frame);
        }
        uint64_t left = stats_of(b.vk).staging_bytes;
        cr_expect(after == 2 ? left >= 16 * MIB && left <= 48 * MIB : left <= after * 3 * (uint64_t)MIB,
                  "%llu bytes are left", (unsigned long long)left);
        close_budget(&b);
    }
}

/* All at once: what the last frames did not use, and with the next frame what is too large for it. Histories stay. */
Test(vk_memory, trim)
{
    static seen last[16];
    budget b;
    open_budget(&b, 1u << 30);
    hd_vk_trim(NULL);
    hd_vk_trim(b.vk);
    memset(last, 0, sizeof(last));
    for (uint32_t frame = 0; frame < 16; frame++) {
        uint64_t before = b.out;
        upload(&b, frame ? 4 : 18 * MIB, frame, &last[frame]);
        hd_vk_frame_stats stats = stats_of(b.vk);
        if (frame == 1)
            hd_vk_trim(b.vk); /* too soon: the first frame may be under way */
        if (frame == 0 || frame == 1)
            cr_expect(stats.staging_bytes >= 16 * MIB && stats.heap_bytes >= 16 * MIB);
        if (frame == 8) {
            hd_vk_trim(b.vk);
            cr_expect_leq(stats_of(b.vk).staging_bytes, 3 * (uint64_t)MIB);
            cr_expect_lt(b.out, before);
        }
    }
    hd_vk_frame_stats stats = stats_of(b.vk);
    cr_expect_leq(stats.heap_bytes, (uint64_t)MIB, "%llu bytes of heaps", (unsigned long long)stats.heap_bytes);
    cr_expect(stats.history_bytes >= 512 && stats.history_bytes <= MIB);
    cr_expect_eq(hd_vk_wait(b.vk), HD_OK);
    for (uint32_t frame = 1; frame < 16; frame++)
        cr_expect_eq(last[frame].word, frame - 1, "frame %u: %u", frame, last[frame].word);
    close_budget(&b);
}

/* Staging memory of earlier frames does not stand in the way of a heap, nor of other staging memory. */
Test(vk_memory, staging_makes_way)
{
    static seen last[16];
    budget b;
    open_budget(&b, 22 * MIB);
    memset(last, 0, sizeof(last));
    upload(&b, 9 * MIB, 0, &last[0]); /* as much in a heap */
    cr_expect_eq(fill_and_read(&b, 20 * MIB, 0), HD_OK);
    cr_expect_eq(b.refused, 1);
    cr_expect_eq(fill_and_read(&b, 4, 0), HD_OK);
    hd_vk_trim(b.vk);
    for (uint32_t frame = 1; frame < 8; frame++) /* the large heap goes */
        upload(&b, 0, frame, &last[frame]);
    b.refused = 0;
    upload(&b, 6 * MIB, 8, &last[8]);
    for (uint32_t frame = 9; frame < 12; frame++)
        upload(&b, 0, frame, &last[frame]);
    cr_expect_eq(b.refused, 0);
    b.limit = b.out + MIB;
    upload(&b, 2 * MIB, 12, &last[12]); /* the idle one is too large for it, both are too much */
    cr_expect_eq(b.refused, 1);
    close_budget(&b);
}
