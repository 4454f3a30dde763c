#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "checked.h"
#include "vk_fixture.h"

/* Frames recorded by many workers beside the host thread, for ThreadSanitizer: views asked for by all passes at once,
 * several frames in flight, host passes that read what the last frame's host pass wrote through the device, passes that
 * several workers record in parts inside of one scope. Without validation: the layer's own threads are not built for
 * it. */

enum { PASSES = 64, FRAMES = 60, WORDS = 1024, PARTS = 64 / 5 * (1 + 1 + 2 + 3 + 4) + 1 + 1 + 2 + 3 };

typedef struct frame_data {
    hd_vk_info info;
    hd_resource image, up, down;
    uint32_t frame, bad, runs;
    atomic_uint parts;
} frame_data;

static void look(hd_recorder *recorder, void *user)
{
    frame_data *d = user;
    hd_range range = {.layer_base = hd_vk_worker(recorder) % 4, .layer_count = 1};
    VkImageView whole = hd_vk_view(recorder, d->image, NULL), one = hd_vk_view(recorder, d->image, &range);
    if (!whole || !one || whole == one || !hd_vk_commands(recorder))
        printf("no view\n");
    atomic_fetch_add_explicit(&d->parts, 1, memory_order_relaxed);
}

/* What the pass may not have, by all workers at once. */
static void ask_wrongly(hd_recorder *recorder, void *user)
{
    frame_data *d = user;
    if (!hd_vk_buffer(recorder, d->image) || !hd_vk_image(recorder, d->up))
        printf("nothing to go on with\n");
    atomic_fetch_add_explicit(&d->parts, 1, memory_order_relaxed);
}

/* Mistakes that are meant are not printed. */
static void log_others(hd_log_level level, const char *text, void *user)
{
    (void)level;
    (void)user;
    if (!strstr(text, "hd_vk_buffer of resource") && !strstr(text, "hd_vk_image of resource"))
        fprintf(stderr, "heddle: %s\n", text);
}

static void write_words(hd_recorder *recorder, void *user)
{
    frame_data *d = user;
    uint32_t *words = hd_vk_mapped(recorder, d->up);
    for (uint32_t i = 0; i < WORDS && words; i++)
        words[i] = d->frame + i;
}

static void move_words(hd_recorder *recorder, void *user)
{
    frame_data *d = user;
    VkBufferCopy region = {.size = WORDS * 4};
    ((PFN_vkCmdCopyBuffer)d->info.get_instance_proc(d->info.instance, "vkCmdCopyBuffer"))(
        hd_vk_commands(recorder), hd_vk_buffer(recorder, d->up), hd_vk_buffer(recorder, d->down), 1, &region);
}

static void read_words(hd_recorder *recorder, void *user)
{
    frame_data *d = user;
    const uint32_t *words = hd_vk_mapped(recorder, d->down);
    d->runs++;
    for (uint32_t i = 0; i < WORDS; i++)
        d->bad += !words || words[i] != d->frame + i;
}

static hd_result declare(hd_graph *g, frame_data *d, hd_record_fn drawing)
{
    hd_graph_begin(g);
    d->image =
        hd_graph_image(g, &(hd_image_desc){.width = 16, .height = 16, .layers = 4, .format = VK_FORMAT_R8G8B8A8_UNORM});
    d->up = hd_graph_buffer(g, &(hd_buffer_desc){.bytes = WORDS * 4});
    d->down = hd_graph_buffer(g, &(hd_buffer_desc){.bytes = WORDS * 4});
    hd_graph_pass(g,
                  &(hd_pass_desc){
                      .type = HD_PASS_HOST, .record = write_words, .user = d, .uses = HD_USES({d->up, HD_HOST_WRITE})});
    for (uint32_t p = 0; p < PASSES; p++)
        hd_graph_pass(g, &(hd_pass_desc){.type = HD_PASS_GFX,
                                         .root = true,
                                         .splits = p % 5,
                                         .record = drawing,
                                         .user = d,
                                         .uses = HD_USES({d->image, p ? HD_COLOR_RW : HD_COLOR_WRITE})});
    hd_graph_pass(g, &(hd_pass_desc){.type = HD_PASS_TRANSFER,
                                     .record = move_words,
                                     .user = d,
                                     .uses = HD_USES({d->up, HD_TRANSFER_SRC}, {d->down, HD_TRANSFER_DST})});
    hd_graph_pass(g, &(hd_pass_desc){.type = HD_PASS_HOST,
                                     .root = true,
                                     .record = read_words,
                                     .user = d,
                                     .uses = HD_USES({d->down, HD_HOST_READ})});
    return hd_graph_error(g)->result;
}

static uint32_t run(uint32_t workers, uint32_t frames_in_flight)
{
    static frame_data frames[FRAMES];
    hd_jobs *jobs = NULL;
    hd_vk *vk = NULL;
    hd_graph *graph = NULL;
    uint32_t bad = 0;
    if (hd_jobs_create(&(hd_jobs_desc){.worker_count = workers}, &jobs) != HD_OK ||
        hd_graph_create(NULL, &graph) != HD_OK)
        return 1;
    hd_result result = hd_vk_create(&(hd_vk_desc){.jobs = jobs,
                                                  .frames_in_flight = frames_in_flight,
                                                  .memory_copies = workers > 1 ? frames_in_flight : 1,
                                                  .log = {log_others, NULL}},
                                    &vk);
    if (!hdt_vk_none(result)) {
        memset(frames, 0, sizeof(frames));
        for (uint32_t f = 0; f < FRAMES && result == HD_OK; f++) {
            frames[f].frame = 7 * f;
            hd_vk_info_get(vk, &frames[f].info);
            result = declare(graph, &frames[f], look);
            if (result == HD_OK)
                result = hdt_frame(vk, graph);
        }
        if (result == HD_OK)
            result = hd_vk_wait(vk);
        bad = result != HD_OK;
        static frame_data wrong;
        hd_error error;
        memset(&wrong, 0, sizeof(wrong));
        hd_vk_info_get(vk, &wrong.info);
        bad += declare(graph, &wrong, ask_wrongly) != HD_OK || hd_vk_frame(vk, graph) != HD_INVALID_ARGUMENT;
        hd_vk_error_get(vk, &error);
        bad += error.result != HD_INVALID_ARGUMENT || wrong.parts == 0 || wrong.runs != 0;
        for (uint32_t f = 0; f < FRAMES; f++)
            bad += frames[f].bad != 0 || frames[f].runs != 1 || frames[f].parts != PARTS;
    }
    hd_vk_destroy(vk);
    hd_graph_destroy(graph);
    hd_jobs_destroy(jobs);
    printf("%u workers, %u frames in flight: %u bad frames, %s\n", workers, frames_in_flight, bad,
           hd_result_name(result));
    return bad;
}

int main(void)
{
    uint32_t passed = 0, failed = 0;
    hdt_vk_keep_libraries();
    for (uint32_t frames_in_flight = 1; frames_in_flight <= 3; frames_in_flight++) {
        for (uint32_t workers = 1; workers <= 4; workers += 3) {
            if (run(workers, frames_in_flight))
                failed++;
            else
                passed++;
        }
    }
    printf("%u passed, %u failed\n", passed, failed);
    return failed != 0;
}
