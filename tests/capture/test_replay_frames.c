/* Frames of the executor, captured so that they can be replayed: whole and reduced they leave what the capture saw,
 * under the validation layer, on one family and on three. HEDDLE_SEED replays one random frame, HEDDLE_SEEDS sets how
 * many there are. */
#include <criterion/criterion.h>

#include <heddle/replay.h>
#include <stdlib.h>
#include <string.h>

#include "capture_frames.h"
#include "random.h"
#include "random_graph.h"
#include "slow.h"
#include "workloads.h"

enum {
    PASSES = HDT_SLOW ? 12 : 24,
    SEEDS = HDT_SLOW ? 2 : 8,
    COMMANDS = HDT_SLOW ? 1 : 4,
    BROKEN = 4,
    LOST = HDT_SLOW ? 6 : 40
};

typedef struct seen {
    unsigned messages, faults;
    char first[2000];
    bool three; /* families */
    bool validate;
    bool other; /* images and buffers need more memory */
    hd_replay_report report;
} seen;

/* ---- a device that needs more memory than the captured one ---- */

static PFN_vkGetDeviceProcAddr real_device_proc;
static PFN_vkGetImageMemoryRequirements real_image_needs;
static PFN_vkGetBufferMemoryRequirements real_buffer_needs;

static void VKAPI_PTR image_needs(VkDevice device, VkImage image, VkMemoryRequirements *out)
{
    real_image_needs(device, image, out);
    out->size = out->size * 3 + 100;
    out->alignment *= 64;
}

static void VKAPI_PTR buffer_needs(VkDevice device, VkBuffer buffer, VkMemoryRequirements *out)
{
    real_buffer_needs(device, buffer, out);
    out->size = out->size * 2;
    out->alignment *= 2;
}

static PFN_vkVoidFunction VKAPI_PTR other_device_proc(VkDevice device, const char *name)
{
    PFN_vkVoidFunction real = real_device_proc(device, name);
    if (strcmp(name, "vkGetImageMemoryRequirements") == 0) {
        real_image_needs = (PFN_vkGetImageMemoryRequirements)real;
        return (PFN_vkVoidFunction)image_needs;
    }
    if (strcmp(name, "vkGetBufferMemoryRequirements") == 0) {
        real_buffer_needs = (PFN_vkGetBufferMemoryRequirements)real;
        return (PFN_vkVoidFunction)buffer_needs;
    }
    return real;
}

static PFN_vkVoidFunction VKAPI_PTR other_proc(VkInstance instance, const char *name)
{
    PFN_vkVoidFunction real = hdt_vk_hooked(instance, name);
    if (!real || strcmp(name, "vkGetDeviceProcAddr") != 0)
        return real;
    real_device_proc = (PFN_vkGetDeviceProcAddr)real;
    return (PFN_vkVoidFunction)other_device_proc;
}

/* Older layers do not follow the chain of two barriers by which an image takes the bytes of another one. The verifier
 * of streams does, and so do newer ones. These miss the extension of a layout that the frames have without a window. */
static bool is_fault_of_layer(const char *text)
{
    if (strstr(text, "VK_IMAGE_LAYOUT_PRESENT_SRC_KHR) requires the extension"))
        return true;
    return strstr(text, "SYNC-HAZARD-WRITE-AFTER-WRITE") && strstr(text, "for image barrier") &&
           strstr(text, "usage: SYNC_IMAGE_LAYOUT_TRANSITION");
}

static void take_message(const char *text, void *user)
{
    seen *n = user;
    if (is_fault_of_layer(text))
        n->faults++;
    else if (!strstr(text, "the validation layer has") && n->messages++ == 0)
        snprintf(n->first, sizeof(n->first), "%s", text);
}

static hd_result replay(const hd_stream *s, seen *n)
{
    n->messages = n->faults = 0;
    n->first[0] = 0;
    hdt_vk_three_families(n->three, 0);
    hd_replay_desc desc = {.validate = n->validate, .message = take_message, .user = n};
    desc.get_instance_proc = n->other ? other_proc : n->three ? hdt_vk_hooked : NULL;
    return hd_replay(s, &desc, &n->report);
}

static void expect_same(const hd_stream *s, seen *n, const char *what, uint64_t seed)
{
    hd_result result = replay(s, n);
    cr_expect(result == HD_OK || (result == HD_VULKAN && n->faults), "%s %llu: %s", what, (unsigned long long)seed,
              n->first);
    cr_expect_eq(n->messages, 0, "%s %llu: %s", what, (unsigned long long)seed, n->first);
    const char *path = getenv("HEDDLE_KEEP"); /* the first stream that fails, to look at */
    FILE *file = path && (n->messages || n->report.different) ? fopen(path, "wx") : NULL;
    if (file) {
        hd_stream_write(s, file);
        fclose(file);
    }
    cr_expect_eq(n->report.different, 0, "%s %llu: %u of %u contents are different", what, (unsigned long long)seed,
                 n->report.different, n->report.contents);
}

/* As a file has it. */
static hd_stream *through_file(const hd_stream *s)
{
    char *text = NULL, error[256] = "";
    size_t bytes;
    hd_stream *read = NULL;
    FILE *file = open_memstream(&text, &bytes);
    cr_assert_eq(hd_stream_write(s, file), HD_OK);
    fclose(file);
    cr_assert_eq(hd_stream_read(text, bytes, NULL, &read, error, sizeof(error)), HD_OK, "%s", error);
    free(text);
    return read;
}

static bool is_named(const hd_stream *s, uint32_t command, const char *name)
{
    return command != HD_NONE && strcmp(s->strings[s->commands[command].name], name) == 0;
}

/* What a node needs. */
static hd_stream *reduce(const hd_stream *s, const hd_stream_graph *g, uint32_t node)
{
    hd_stream *part;
    uint8_t *keep = calloc(g->node_count, 1);
    keep[node] = 1;
    cr_assert_eq(hd_stream_graph_needs(g, keep), HD_OK);
    cr_assert_eq(hd_stream_graph_reduce(s, g, keep, &part), HD_OK);
    free(keep);
    return part;
}

/* The host's writes with other bytes: other content stands somewhere, but for what no content comes of. */
static unsigned count_broken(hd_stream *s, seen *n)
{
    unsigned found = 0, tried = 0;
    for (uint32_t c = 0; c < s->command_count && tried < BROKEN; c++) {
        if (!is_named(s, c, "host write"))
            continue;
        const hd_stream_data *data = &s->datas[s->commands[c].data];
        uint8_t *bytes = &s->bytes[data->byte_begin + sizeof(uint64_t)];
        for (uint32_t i = 0; i < data->byte_count - sizeof(uint64_t); i++)
            bytes[i] ^= 1;
        tried++;
        found += replay(s, n) == HD_OK && n->report.different > 0;
        for (uint32_t i = 0; i < data->byte_count - sizeof(uint64_t); i++)
            bytes[i] ^= 1;
    }
    return found;
}

Test(replay_frames, whole_and_reduced, .timeout = 400)
{
    unsigned kept = 0, all = 0, broken = 0;
    for (uint32_t family = 0; family < HDB_FAMILY_COUNT; family++) {
        hd_graph *graph;
        hd_stream_graph *g;
        hdb_workload *w = hdb_workload_make(family, PASSES, 1, true);
        cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
        hdb_workload_declare(w, graph);
        hdb_workload_free(w);
        seen n = {.three = family % 2 == 0, .validate = true};
        hd_stream *captured = capture_for_replay(graph, 3, n.three), *s = through_file(captured);
        expect_same(s, &n, hdb_family_names[family], 0);
        cr_expect_gt(n.report.contents, 0, "%s: nothing is compared", hdb_family_names[family]);
        n.three = !n.three; /* a device with other families */
        expect_same(s, &n, hdb_family_names[family], 1);
        n.other = true;
        n.validate = false; /* the layer asks the driver itself */
        expect_same(s, &n, hdb_family_names[family], 3);
        cr_assert(real_image_needs && real_buffer_needs, "it was not asked what it needs");
        n.other = false;
        n.validate = true;
        cr_assert_eq(hd_stream_graph_build(s, NULL, &g), HD_OK);
        uint32_t last = g->node_count;
        while (last-- > 0 && !is_named(s, g->nodes[last].command, "host read"))
            continue;
        hd_stream *part = reduce(s, g, last);
        all += n.report.commands;
        expect_same(part, &n, hdb_family_names[family], 2);
        cr_expect_gt(n.report.contents, 0, "%s: nothing is compared", hdb_family_names[family]);
        kept += n.report.commands;
        n.validate = false;
        broken += count_broken(s, &n);
        hd_stream_free(part);
        hd_stream_graph_free(g);
        hd_stream_free(s);
        hd_stream_free(captured);
        hd_graph_destroy(graph);
    }
    printf("%u of %u commands are needed by the last read of the host; %u changes of what the host wrote are seen\n",
           kept, all, broken);
    cr_expect_lt(kept, all);
    cr_expect_gt(broken, 0);
}

/* 1036: a rendering without attachments that the capture knows, of which a draw is wanted. 1111: a host pass writes
 * what the device writes again in a submit that waits already. */
static const uint64_t known[] = {1036, 1111};

Test(replay_frames, random_ones, .timeout = 400)
{
    uint64_t first = 1, count = SEEDS, more = getenv("HEDDLE_SEED") ? 0 : sizeof(known) / sizeof(known[0]);
    hd_graph *graph;
    hdt_seeds(&first, &count);
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    for (uint64_t k = 0; k < count + more; k++) {
        uint64_t seed = k < count ? first + k : known[k - count], random = seed;
        hd_stream_graph *g;
        seen n = {.three = seed % 2, .validate = true};
        hdt_try_seed(seed);
        hdt_random_executable_graph(graph, seed, 12 + (uint32_t)(seed % 12));
        hd_stream *s = capture_for_replay(graph, 3, n.three);
        expect_same(s, &n, "HEDDLE_SEED", seed);
        cr_assert_eq(hd_stream_graph_build(s, NULL, &g), HD_OK);
        for (int i = 0; i < COMMANDS && g->node_count; i++) {
            hd_stream *part = reduce(s, g, hdt_below(&random, g->node_count));
            expect_same(part, &n, "HEDDLE_SEED, a part of", seed);
            hd_stream_free(part);
        }
        hd_stream_graph_free(g);
        hd_stream_free(s);
    }
    hd_graph_destroy(graph);
}

/* Waits and signals are lost: what is left is no program's any more, but it ends, with a sentence where a wait is for
 * nothing. Commands are not: without what they write, a driver would take any bytes for the counts of a draw. */
Test(replay_frames, lost_parts, .timeout = 400)
{
    hd_graph *graph;
    unsigned ended = 0, refused = 0;
    uint64_t random = hdt_seed();
    cr_assert_eq(hd_graph_create(NULL, &graph), HD_OK);
    hdt_random_executable_graph(graph, 7, 20);
    hd_stream *s = capture_for_replay(graph, 3, true);
    for (int i = 0; i < LOST; i++) {
        hd_stream *part;
        seen n = {.validate = false};
        cr_assert_eq(hd_stream_copy(s, &part), HD_OK);
        for (uint32_t k = 0; k < part->sync_count; k++)
            part->syncs[k].semaphore = hdt_below(&random, 12) ? part->syncs[k].semaphore : HD_NONE;
        hd_result result = replay(part, &n);
        cr_expect(result == HD_OK || result == HD_INVALID_ARGUMENT, "%s", n.first);
        cr_expect_eq(n.messages, result != HD_OK, "%s", n.first);
        ended += result == HD_OK;
        refused += result != HD_OK;
        hd_stream_free(part);
    }
    printf("%u ended, %u waited for nothing\n", ended, refused);
    cr_expect(ended && refused);
    hd_stream_free(s);
    hd_graph_destroy(graph);
}
