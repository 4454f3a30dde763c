/* kit.h: what the scenes share. A scene is a program that owns its frame loop:
 *
 *     int main(int argc, char **argv)
 *     {
 *         struct kit kit;
 *         struct kit_options options = {0};
 *         kit_options_parse(&options, &scene, argc, argv);
 *         if (kit_open(&kit, &scene, &options) && make_programs(&kit)) {
 *             while (kit_begin(&kit)) {                   a window's events, hd_graph_begin
 *                 hd_resource picture = declare(&kit);    the scene: resources and passes in kit.graph
 *                 kit_end(&kit, picture);                 shows the picture; compile, execute, present
 *             }
 *             kit_finish(&kit);                           pictures, the plan's files, a summary
 *         }
 *         ...                                             the scene destroys its programs and resources
 *         return kit_close(&kit);
 *     }
 *
 * Vulkan's functions are volk's pointers, loaded by kit_open: a process has one open kit at a time. Errors stick in
 * kit.result, like those of a graph: what comes after one does nothing, and kit_close says it. */
#ifndef KIT_H
#define KIT_H

#include <volk.h>

#include <heddle/vk.h>
#include <pthread.h>
#include <stdatomic.h>

#include "options.h"

struct kit;

/* What a scene is to the kit. */
struct kit_scene {
    const char *name;                         /* of files, of the window, in messages */
    const char *about;                        /* one sentence for --help */
    uint32_t frames, width, height;           /* 0: 60, 960, 540 */
    uint64_t upload_bytes; /* hd_vk_desc.upload_bytes */
    const struct kit_option *options;         /* of its own; the last one has no name */
    const VkPhysicalDeviceFeatures *features; /* beyond what the kit needs; may be null, as those below */
    const VkPhysicalDeviceVulkan11Features *features11;
    const VkPhysicalDeviceVulkan12Features *features12;
    const VkPhysicalDeviceVulkan13Features *features13;
};

/* A frame is declared before heddle waits for the frame that is KIT_FRAMES_IN_FLIGHT older. What the declaring thread
 * writes for callbacks of the frame needs one slot more: kit.slot counts them. */
enum { KIT_FRAMES_IN_FLIGHT = 2, KIT_SLOTS = KIT_FRAMES_IN_FLIGHT + 1, KIT_KEPT_TIMES = 1024 };

struct kit_slot {
    struct kit *kit;
    uint32_t number;
};

struct kit {
    const struct kit_scene *scene;
    struct kit_options options;
    hd_jobs *jobs;
    hd_vk *vk;
    hd_graph *graph;
    hd_vk_info info;
    bool discrete;           /* the device is a graphics card; scenes may ask more of it */
    hd_compile_desc compile; /* a scene may change it */
    hd_result result;        /* the first error */

    /* Of the frame between kit_begin and kit_end. */
    uint32_t number;        /* from 0 on */
    uint32_t slot;          /* number % KIT_SLOTS */
    uint32_t width, height; /* of the picture: the option's, or the window's */
    float seconds;          /* of the animation: 30 frames make one, however long they take */
    const hd_plan *plan;    /* of the last kit_end */
    bool thumbnails;        /* this frame leaves small pictures of its images (kit_pass) */

    /* The rest is the kit's own. */
    enum kit_phase { KIT_FRAMES, KIT_THUMBNAILS, KIT_PLAN_ALONE } phase;
    hd_log log;
    VkPhysicalDeviceMemoryProperties memory;
    uint32_t families[HD_MAX_QUEUES], family_count;
    VkSampler samplers[4];
    uint64_t serial;
    struct kit_slot slots[KIT_SLOTS];
    struct kit_window *window;
    struct kit_animation *animation;
    struct kit_bench *bench;
    struct kit_thumbnails *small;
    struct hd_view *view;
    double began_us, times_us[3][KIT_KEPT_TIMES]; /* declare, compile, record */
    double first_us;                              /* when the first frame began */
    uint8_t *last_picture;
    uint32_t last_width, last_height;
    uint64_t picture_hash; /* of the newest picture that came back */
    atomic_bool file_failed;
    pthread_mutex_t log_lock;
    char first_error[512];
};

/* kit.c. False: it failed; kit_close is called all the same. */
bool kit_open(struct kit *kit, const struct kit_scene *scene, const struct kit_options *options);
/* False: no further frame, or an error. */
bool kit_begin(struct kit *kit);
/* picture: an image of RGBA8 and of kit.width x kit.height for the window or the file; none (id 0): nothing to show. */
void kit_end(struct kit *kit, hd_resource picture);
/* Waits for the frames; writes what the options ask for and prints the summary. False where a plan or a capture does
 * not hold, or after an error. */
bool kit_finish(struct kit *kit);
/* Destroys all that kit_open made; the scene's own programs and resources have gone. The exit status: 0 done, 2 no
 * device or file, 3 a plan that fails verification. */
int kit_close(struct kit *kit);
/* Keeps the first error; true for HD_OK. */
bool kit_check(struct kit *kit, hd_result result);
double kit_now_us(void);

/* ---- programs.c: pipelines, and what a pass binds ---- */

struct kit_code {
    const uint32_t *words;
    size_t bytes;
};
#define KIT_CODE(words)                                                                                                \
    {                                                                                                                  \
        words, sizeof(words)                                                                                           \
    }

enum kit_blend { KIT_OPAQUE, KIT_ADD, KIT_ALPHA }; /* KIT_ALPHA: color * alpha over what stands there */
enum { KIT_MAX_COLORS = 8, KIT_MAX_BINDINGS = 24, KIT_PUSH_BYTES = 128 };

/* A pipeline. Its bindings are letters, in the order of the shaders' binding numbers in set 0:
 *     u uniform buffer   b storage buffer   i storage image
 *     n, l, r image, sampled with: nearest, clamped; linear, clamped; linear, repeated, with mips
 *     s depth image, compared linearly (greater or equal; 0 outside)
 *     d depth image that the same pass tests against, nearest
 * All stages have KIT_PUSH_BYTES of push constants. Specialization constants 0, 1, ... are those of `constants`. */
struct kit_program_desc {
    const char *bindings;
    struct kit_code compute; /* or: */
    struct kit_code vertex, fragment;
    VkFormat colors[KIT_MAX_COLORS]; /* up to the first UNDEFINED */
    enum kit_blend blend;            /* of all colors */
    VkFormat depth;                  /* UNDEFINED: none */
    VkCompareOp compare;             /* 0: GREATER_OR_EQUAL, as depth is reversed */
    bool keep_depth;                 /* tests alone, writes none */
    float slope_bias;                /* not 0: depth bias by slope */
    VkCullModeFlags cull;            /* 0: none */
    VkFrontFace front;               /* 0: counter-clockwise */
    VkPrimitiveTopology topology;    /* 0: triangles, or points where that is set */
    bool points;
    VkSampleCountFlagBits samples;                     /* 0: 1 */
    const VkPipelineVertexInputStateCreateInfo *input; /* null: no vertex buffers */
    const int32_t *constants;
    uint32_t constant_count;
};

struct kit_program {
    char bindings[KIT_MAX_BINDINGS + 1];
    VkDescriptorSetLayout set_layout;
    VkPipelineLayout layout;
    VkPipeline pipeline;
    VkPipelineBindPoint point;
};

/* Any thread. What went wrong sticks in the kit; *out may be destroyed then too. */
bool kit_program_create(struct kit *kit, const struct kit_program_desc *desc, struct kit_program *out);
void kit_program_destroy(struct kit_program *program);

/* What a binding gets: a resource that the pass uses; of images a range, all zero for what the uses span. */
struct kit_arg {
    hd_resource resource;
    hd_range range;
};
/* In a record callback: binds the program and its resources, in the order of its letters:
 *     kit_bind(kit, recorder, &blur, {f->constants}, {f->lit}, {f->bloom, kit_mip(2)}); */
#define kit_bind(kit, recorder, program, ...)                                                                          \
    kit_bind_args(kit, recorder, program, (const struct kit_arg[]){__VA_ARGS__},                                       \
                  (uint32_t)(sizeof((const struct kit_arg[]){__VA_ARGS__}) / sizeof(struct kit_arg)))
void kit_bind_args(struct kit *kit, hd_recorder *recorder, const struct kit_program *program,
                   const struct kit_arg *args, uint32_t count);
void kit_push(hd_recorder *recorder, const struct kit_program *program, const void *data, uint32_t bytes);
/* Enough groups of size x size threads for width x height. */
void kit_dispatch(hd_recorder *recorder, uint32_t width, uint32_t height, uint32_t size);
static inline hd_range kit_mip(uint32_t mip)
{
    return (hd_range){.mip_base = (uint16_t)mip, .mip_count = 1};
}

/* ---- resources.c: what stays from frame to frame ---- */

/* A buffer or image of the scene's own. Each frame: hd_graph_import(kit->graph, &resource->import). */
struct kit_resource {
    VkBuffer buffer;
    VkImage image;
    VkDeviceMemory memory;
    hd_import_desc import;
};

/* usage: beyond that as a copy's source and destination. data null: undefined content. Waits until it is there. */
bool kit_buffer_create(struct kit *kit, const char *name, uint64_t bytes, VkBufferUsageFlags usage, const void *data,
                       struct kit_resource *out);
/* mips 0: all of them, made from the first. texels: level 0, layer after layer; null: undefined content, in the layout
 * of a sampled image all the same. */
bool kit_texture_create(struct kit *kit, const hd_image_desc *desc, const void *texels, uint64_t bytes,
                        struct kit_resource *out);
/* Nothing may be in flight. */
void kit_resource_destroy(struct kit_resource *resource);

/* ---- declaring, in kit.graph ---- */

/* hd_graph_pass and hd_graph_image; what such a pass writes of such images is seen in the page of --thumbnails. */
hd_pass kit_pass(struct kit *kit, const hd_pass_desc *desc);
hd_resource kit_image_with(struct kit *kit, const hd_image_desc *desc);
/* Of the picture's size over divisor, rounded up. */
hd_resource kit_image(struct kit *kit, const char *name, uint32_t divisor, VkFormat format);
hd_resource kit_buffer(struct kit *kit, const char *name, uint64_t bytes);

/* ---- report.c ---- */

/* hd_vk_report_frame of the frame declared last, into a folder that does not exist yet. False: standard error says why.
 */
bool kit_report(struct kit *kit, const char *folder);
/* The frame `back` frames before the newest that is known to have finished, as bars: one row a pass, grouped by queue;
 * and for how long passes of different queues ran side by side. Nothing where frames are not timed. */
void kit_print_timeline(const struct kit *kit, uint32_t back);
double kit_median(double *values, uint32_t count); /* sorts them */

#endif
