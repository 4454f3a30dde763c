#include "mutant_trial.h"

#include <heddle/capture.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "random.h"
#include "random_graph.h"
#include "run.h"
#include "vk_device.h"
#include "vk_fixture.h"

/* A child makes one trial after another and writes each back. Where it ends, or says nothing for long, the trial at
 * hand is the culprit, and a new child goes on behind it. */

enum { PASSES = 16, FRAMES = 2, SCALE = 8, SILENCE_MS = 20000, PATIENCE_MS = 1000, NO_DEVICE = 77 };
#define LAYER "VK_LAYER_KHRONOS_validation"

const char *const hdt_outcome_names[HDT_OUTCOMES] = {
    [HDT_NOT_TRIED] = "not tried", [HDT_NOT_NOTICED] = "not noticed", [HDT_WRONG] = "wrong values",
    [HDT_LOST] = "deadlock",       [HDT_REFUSED] = "not taken",       [HDT_CRASHED] = "crash",
    [HDT_REPORTED] = "reported"};

/* ---- the layer's messages ---- */

static struct {
    PFN_vkGetInstanceProcAddr next;
    VkInstance instance;
    VkDebugUtilsMessengerEXT messenger;
    hdt_trial *trial;
    bool missing;
} layer;

static VkBool32 VKAPI_PTR on_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                     VkDebugUtilsMessageTypeFlagsEXT types,
                                     const VkDebugUtilsMessengerCallbackDataEXT *data, void *user)
{
    (void)severity, (void)types, (void)user;
    if (layer.trial && layer.trial->outcome != HDT_REPORTED) {
        layer.trial->outcome = HDT_REPORTED;
        snprintf(layer.trial->text, sizeof(layer.trial->text), "%s", data->pMessage);
    }
    return VK_FALSE;
}

static PFN_vkDestroyInstance real_vkDestroyInstance;
static void VKAPI_PTR destroy_instance(VkInstance instance, const VkAllocationCallbacks *memory)
{
    PFN_vkDestroyDebugUtilsMessengerEXT destroy =
        (PFN_vkDestroyDebugUtilsMessengerEXT)layer.next(instance, "vkDestroyDebugUtilsMessengerEXT");
    if (instance == layer.instance && destroy)
        destroy(instance, layer.messenger, NULL);
    layer.instance = VK_NULL_HANDLE;
    real_vkDestroyInstance(instance, memory);
}

/* A messenger for every instance, made when the instance is first asked for vkCreateDevice. */
static PFN_vkVoidFunction VKAPI_PTR listened(VkInstance instance, const char *name)
{
    if (!layer.next)
        layer.next = hdi_vk_find_loader();
    if (instance && instance != layer.instance && strcmp(name, "vkCreateDevice") == 0) {
        PFN_vkCreateDebugUtilsMessengerEXT create =
            (PFN_vkCreateDebugUtilsMessengerEXT)layer.next(instance, "vkCreateDebugUtilsMessengerEXT");
        VkDebugUtilsMessengerCreateInfoEXT info = {.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
                                                   .messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT |
                                                                      VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT,
                                                   .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT,
                                                   .pfnUserCallback = on_message};
        layer.missing |= !create || create(instance, &info, NULL, &layer.messenger) != VK_SUCCESS;
        layer.instance = instance;
    }
    PFN_vkVoidFunction real = layer.next ? layer.next(instance, name) : NULL;
    if (!real || strcmp(name, "vkDestroyInstance") != 0)
        return real;
    real_vkDestroyInstance = (PFN_vkDestroyInstance)real;
    return (PFN_vkVoidFunction)destroy_instance;
}

static bool has_layer(void)
{
    PFN_vkGetInstanceProcAddr get = hdi_vk_find_loader();
    PFN_vkEnumerateInstanceLayerProperties enumerate =
        get ? (PFN_vkEnumerateInstanceLayerProperties)get(NULL, "vkEnumerateInstanceLayerProperties") : NULL;
    VkLayerProperties layers[64];
    uint32_t count = 64;
    if (!enumerate || enumerate(&count, layers) < VK_SUCCESS)
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(layers[i].layerName, LAYER) == 0)
            return true;
    return false;
}

/* ---- one trial ---- */

typedef struct context {
    hdt_trial *trial;
    int to; /* the parent */
    bool with_layer;
    hdt_sketch whole, broken;
} context;

static void write_all(int to, const void *from, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t n = write(to, (const char *)from + done, bytes - done);
        if (n <= 0)
            _exit(1);
        done += (size_t)n;
    }
}

/* The numbers of a kind that make something. */
static uint32_t count_mutants(context *c, const hdi_decl *decl, uint32_t stop)
{
    uint32_t made = 0;
    for (uint32_t n = 0; made <= stop; n++) {
        hdt_sketch_copy(&c->broken, &c->whole);
        hdt_made what = hdt_mutant_kinds[c->trial->kind].make(&c->broken, decl, n);
        if (what == HDT_NO_MORE)
            return made;
        made += what == HDT_MADE;
    }
    return made;
}

/* Every resource gets bytes of its own: Debian 12's layer takes the transition of a new tenant for a hazard, whatever
 * barrier made the old one's writes available. */
static void spread_out(hdt_sketch *s)
{
    for (uint32_t h = 0; h < s->heap_count; h++) {
        uint64_t end = 0;
        for (uint32_t i = 0; i < s->resource_count; i++) {
            if (s->resources[i].heap != h)
                continue;
            s->resources[i].offset = end;
            end = (end + s->resources[i].bytes + 65535) & ~UINT64_C(65535);
        }
        s->heaps[h].bytes = end;
    }
}

/* Nothing by Vulkan's rules: the stages of a barrier of one resource are those of all commands, only its access is of
 * that resource. The layer takes such a barrier of vkCmdPipelineBarrier2 to order nothing but accesses of the resource,
 * up to its pull request 10524. */
static void spell_out(hdt_sketch *s)
{
    for (uint32_t i = s->item_count; i-- > 0;) {
        const hd_plan_barrier *b = &s->items[i].barrier;
        if (s->items[i].kind != HDT_BARRIER || b->resource == HD_NONE || !b->src_stages || !b->dst_stages)
            continue;
        hdt_item item = s->items[i];
        item.joined = true;
        item.barrier = (hd_plan_barrier){.src_stages = b->src_stages,
                                         .dst_stages = b->dst_stages,
                                         .resource = HD_NONE,
                                         .src_family = b->src_family,
                                         .dst_family = b->dst_family,
                                         .reason = b->reason,
                                         .reason_pass = b->reason_pass,
                                         .reason_resource = b->reason_resource};
        hdt_sketch_insert(s, i + 1, item);
    }
}

static bool is_culled(const hdt_sketch *s, uint32_t pass)
{
    for (uint32_t i = 0; i < s->culled_count; i++)
        if (s->culled[i] == pass)
            return true;
    return false;
}

static bool used_whole(const hdi_decl *decl, const hdt_sketch *s, uint32_t res)
{
    for (uint32_t u = 0; u < decl->use_count; u++)
        if (decl->use_res[u] == res && decl->use_range[u] == HDI_NONE && !is_culled(s, decl->use_pass[u]))
            return true;
    return false;
}

/* Whether memory changes hands of which some tenant uses but parts. */
static bool hands_over_in_part(const hdi_decl *decl, const hdt_sketch *s)
{
    for (uint32_t i = 0; i < s->resource_count; i++) {
        const hd_plan_resource *a = &s->resources[i];
        for (uint32_t k = 0; k < s->resource_count && a->heap < s->heap_count; k++) {
            const hd_plan_resource *b = &s->resources[k];
            bool meet =
                k != i && a->heap == b->heap && a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
            if (meet && !used_whole(decl, s, a->id))
                return true;
        }
    }
    return false;
}

static const hd_plan *mutate(const hd_graph *graph, const hd_plan *plan, const hd_verify_desc *verify, void *user)
{
    context *c = user;
    hdi_decl decl = hdi_graph_decl(graph);
    hdt_sketch_free(&c->whole);
    hdt_sketch_read(&c->whole, plan);
    if (c->with_layer)
        spread_out(&c->whole);
    if (c->trial->kind == HD_NONE)
        return hdt_sketch_pack(&c->whole);
    uint32_t count = count_mutants(c, &decl, UINT32_MAX - 1);
    if (count == 0)
        return NULL;
    uint64_t random = c->trial->seed * 977 + c->trial->kind;
    count_mutants(c, &decl, hdt_below(&random, count)); /* stops behind the one that was picked */
    if (c->trial->spelled)
        spell_out(&c->broken);
    const hd_plan *mutant = hdt_sketch_pack(&c->broken);
    c->trial->refused = hd_plan_verify(graph, mutant, verify) != HD_OK;
    c->trial->in_part = hands_over_in_part(&decl, &c->broken);
    c->trial->outcome = HDT_CRASHED; /* should nothing else come */
    write_all(c->to, c->trial, sizeof(*c->trial));
    c->trial->outcome = HDT_NOT_NOTICED;
    return mutant;
}

static void note(const char *text, void *user)
{
    hdt_trial *trial = user;
    if (!trial->text[0])
        snprintf(trial->text, sizeof(trial->text), "%.*s", (int)sizeof(trial->text) - 1, text);
}

/* Whether a message names two commands, which are of different frames. */
static bool of_two_frames(const char *text)
{
    unsigned frames[2] = {0, 0};
    uint32_t count = 0;
    for (const char *at = text; count < 2 && (at = strstr(at, ", frame ")); at++)
        count += sscanf(at, ", frame %u)", &frames[count]) == 1;
    return count == 2 && frames[0] != frames[1];
}

/* Random graphs read histories that were not written as a whole: undefined content is left to the plan's verifier. */
static void take(const char *text, void *user)
{
    hdt_trial *trial = user;
    if (strncmp(text, "content:", 8) == 0)
        return;
    trial->only_across = (trial->only_across || !trial->stream_refused) && of_two_frames(text);
    trial->stream_refused = true;
}

static void judge_stream(hdt_trial *trial, bool whole)
{
    hd_stream *stream;
    if (hd_capture_end(&stream) == HD_OK) {
        hd_verify_desc desc = {.message = take, .user = trial, .max_messages = 1000};
        trial->captured = whole && stream->unseen == 0;
        trial->stream_refused = trial->only_across = false;
        if (trial->captured)
            hd_stream_verify(stream, &desc);
        hd_stream_free(stream);
    }
    hd_capture_close();
}

static void execute(context *c, uint64_t order, bool with_layer)
{
    static const hd_queue_kind one[] = {HD_QUEUE_GFX};
    hdt_trial *trial = c->trial;
    char error[512];
    run_report report;
    hd_graph *graph;
    if (hd_graph_create(NULL, &graph) != HD_OK)
        abort();
    hdt_random_executable_graph(graph, trial->seed, PASSES);
    run_desc desc = {.graph = graph,
                     .frames = FRAMES,
                     .scale = SCALE,
                     .check = true,
                     .replace = mutate,
                     .user = c,
                     .wrong = note,
                     .wrong_user = trial};
    hdt_vk_three_families(!with_layer, order);
    hdt_vk_family_settings.patience_ms = PATIENCE_MS;
    desc.vk.get_instance_proc = with_layer ? listened : hd_capture_get_instance_proc;
    if (!with_layer && (hd_capture_open(&(hd_capture_desc){.get_instance_proc = hdt_vk_hooked}) != HD_OK ||
                        hd_capture_begin() != HD_OK))
        abort();
    if (with_layer) {
        desc.vk.queue_kinds = one;
        desc.vk.queue_kind_count = 1;
        layer.trial = trial;
    }
    unsigned faults = hdt_vk_family_counts().faults;
    hd_result result = run_graph(&desc, &report, error, sizeof(error));
    if (hdt_vk_none(result) || layer.missing)
        _exit(NO_DEVICE);
    if (!with_layer)
        judge_stream(trial, result == HD_OK);
    bool tried = trial->outcome != HDT_NOT_TRIED || (trial->kind == HD_NONE && result == HD_OK);
    if (tried && trial->outcome != HDT_REPORTED) {
        if (hdt_vk_family_counts().faults != faults || result == HD_DEVICE_LOST)
            trial->outcome = HDT_LOST;
        else if (result != HD_OK)
            trial->outcome = HDT_REFUSED;
        else
            trial->outcome = report.wrong ? HDT_WRONG : HDT_NOT_NOTICED;
        if (result != HD_OK)
            note(error, trial);
    }
    if (result == HD_OK)
        run_report_free(&report);
    layer.trial = NULL;
    hd_graph_destroy(graph);
}

static void child(hdt_trial *trials, uint32_t count, uint32_t orders, bool with_layer, int to)
{
    if (with_layer && !has_layer())
        _exit(NO_DEVICE);
    if (with_layer) {
        setenv("VK_INSTANCE_LAYERS", LAYER, 1);
        /* Within command buffers: over submits it does not see that the host has waited for a timeline, and reports. */
        setenv("VK_LAYER_ENABLES", "VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT", 1);
    }
    setenv("LP_NUM_THREADS", "0", 0); /* lavapipe leaves out barriers between what it draws in the background */
    hdt_vk_keep_libraries();
    for (uint32_t t = 0; t < count; t++) {
        context c = {.trial = &trials[t], .to = to, .with_layer = with_layer};
        uint64_t random = trials[t].seed;
        for (uint32_t o = 0; o < (with_layer ? 1 : orders); o++) {
            execute(&c, hdt_random(&random) | 1, with_layer);
            if (trials[t].outcome != HDT_NOT_NOTICED)
                break;
        }
        hdt_sketch_free(&c.whole);
        hdt_sketch_free(&c.broken);
        write_all(to, &trials[t], sizeof(trials[t]));
    }
    _exit(0); /* what drivers and layers keep is not ours to free */
}

/* ---- the parent ---- */

static bool read_all(int from, void *to, size_t bytes)
{
    struct pollfd poll_one = {.fd = from, .events = POLLIN};
    for (size_t done = 0; done < bytes;) {
        if (poll(&poll_one, 1, SILENCE_MS) <= 0)
            return false;
        ssize_t n = read(from, (char *)to + done, bytes - done);
        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

bool hdt_try(hdt_trial *trials, uint32_t count, uint32_t orders, bool with_layer)
{
    for (uint32_t t = 0; t < count;) {
        int ends[2], status = 0;
        fflush(NULL);
        if (pipe(ends) != 0)
            abort();
        pid_t pid = fork();
        if (pid < 0)
            abort();
        if (pid == 0) {
            close(ends[0]);
            child(trials + t, count - t, orders, with_layer, ends[1]);
        }
        close(ends[1]);
        hdt_trial got;
        while (t < count && read_all(ends[0], &got, sizeof(got))) {
            trials[t] = got;
            t += got.outcome != HDT_CRASHED;
        }
        close(ends[0]);
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
        if (WIFEXITED(status) && WEXITSTATUS(status) == NO_DEVICE)
            return false;
        if (t < count) {
            trials[t].outcome = HDT_CRASHED;
            snprintf(trials[t].text, sizeof(trials[t].text), "status 0x%x", (unsigned)status);
            t++;
        }
    }
    return true;
}
