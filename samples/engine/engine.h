/* engine.h: a miniature engine that owns its device, its memory, its threads, its log, its images and its windows, and
 * lets heddle order the frame. README.md walks through the files in the order of an integration. */
#ifndef ENGINE_H
#define ENGINE_H

#include <pthread.h>
#include <stdatomic.h>
#include <volk.h>

#include <heddle/vk.h>

#include "maths.h"

struct engine;

enum {
    FRAMES_IN_FLIGHT = 2,
    /* A frame is declared before heddle waits for the frame that is FRAMES_IN_FLIGHT older: what record callbacks read
     * needs one slot more. */
    FRAME_SLOTS = FRAMES_IN_FLIGHT + 1,
    VIEWS = 2,
    TEXTURE_SIZE = 512,
    TEXTURE_LAYERS = 4,
    TEXTURE_MIPS = 10,
    SHADOW_SIZE = 1024,
    MAX_QUEUES = 3,
};

/* ---- log.c ---- */

/* One line; any thread. Errors and warnings also go to standard error. The first error is kept. */
struct journal {
    pthread_mutex_t lock;
    FILE *file; /* null: none */
    bool quiet; /* information goes nowhere but to the file */
    uint32_t warnings, errors;
    uint32_t validation; /* messages of the validation layer; warnings and errors count here alone */
    char first_error[512];
};
void journal_open(struct journal *journal, const char *path);
void journal_close(struct journal *journal);
void journal_say(struct journal *journal, hd_log_level level, const char *from, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
hd_log journal_for_heddle(struct journal *journal); /* step 5 of README.md */

/* ---- threads.c: a pool of threads with one list of tasks ---- */

struct task;
struct threads {
    pthread_t thread[64];
    uint32_t count;
    pthread_mutex_t lock;
    pthread_cond_t work, ended;
    struct task *first, *last;
    bool stop;
};
bool threads_start(struct threads *threads, uint32_t count);
void threads_stop(struct threads *threads); /* runs what is listed, then joins */
/* Null: no memory; nothing was listed. urgent: before all others. */
struct task *threads_run(struct threads *threads, void (*run)(void *), void *context, bool urgent);
/* Waits until the task has run. One that has not begun is taken off the list instead. Frees it. */
void threads_finish(struct threads *threads, struct task *task);
/* Likewise, but the task runs in any case. */
void threads_join(struct threads *threads, struct task *task);
hd_jobs_desc threads_for_heddle(struct threads *threads); /* step 4 */

/* ---- memory.c: CPU memory that is counted, device memory in blocks ---- */

struct block;
struct memory {
    atomic_ullong cpu_bytes, cpu_most;
    pthread_mutex_t lock;
    VkDevice device;
    VkPhysicalDeviceMemoryProperties properties;
    uint64_t granularity;
    struct block *blocks;
    uint64_t gpu_bytes, gpu_used, gpu_most; /* in blocks; of them in use */
};
hd_allocator memory_for_heddle(struct memory *memory);                  /* step 3 */
hd_vk_memory_callbacks memory_for_heddle_device(struct memory *memory); /* step 3 */
/* Of the device's own memory, for what the engine makes. */
VkResult memory_allocate(struct memory *memory, const VkMemoryRequirements *need, hd_vk_memory *out);
void memory_free(struct memory *memory, const hd_vk_memory *piece);
struct device;
void memory_open(struct memory *memory, const struct device *device);
bool memory_close(struct memory *memory); /* false: pieces or bytes are left */

/* ---- device.c ---- */

struct device {
    VkInstance instance;
    VkPhysicalDevice physical;
    VkDevice device;
    VkDebugUtilsMessengerEXT messenger;
    VkPhysicalDeviceProperties properties;
    VkPhysicalDeviceVulkan12Features features12; /* as they were enabled */
    VkPhysicalDeviceVulkan13Features features13;
    bool calibrated;
    hd_vk_queue_desc queues[MAX_QUEUES];
    uint32_t queue_count;
    uint32_t families[MAX_QUEUES], family_count;
};
bool device_open(struct engine *engine);
void device_close(struct engine *engine);

/* ---- images.c: what the engine makes itself and imports into each frame ---- */

struct image {
    VkImage image;
    hd_vk_memory memory;
    hd_import_desc import; /* its initial_layout is that in which the last frame left it */
};
struct buffer {
    VkBuffer buffer;
    hd_vk_memory memory;
    hd_import_desc import;
};
bool image_create(struct engine *engine, const hd_image_desc *desc, struct image *out);
bool buffer_create(struct engine *engine, const char *name, uint64_t bytes, VkBufferUsageFlags usage,
                   struct buffer *out);
void image_destroy(struct engine *engine, struct image *image); /* no frame in flight uses it */
void buffer_destroy(struct engine *engine, struct buffer *buffer);

/* ---- programs.c: pipelines, and shaders that change while the engine runs ---- */

enum program_id {
    PROGRAM_WAVES,
    PROGRAM_SHADOW,
    PROGRAM_SKY,
    PROGRAM_SKY_SAMPLED, /* with four samples */
    PROGRAM_COLUMNS,
    PROGRAM_COLUMNS_SAMPLED,
    PROGRAM_GLOW,
    PROGRAM_METER,
    PROGRAM_TONE,
    PROGRAM_COUNT
};

struct program {
    VkDescriptorSetLayout set_layout;
    VkPipelineLayout layout;
    VkPipeline pipeline;
    _Atomic(VkPipeline) next; /* made from changed shaders; takes over at the start of a frame */
};

enum { MAX_SHADERS = 16 };
struct shader {
    const uint32_t *words; /* built in, or `compiled` */
    size_t bytes;
    uint32_t *compiled;
    int64_t changed; /* when the file was, in nanoseconds; 0: there is none */
};

struct retired {
    VkPipeline pipeline;
    uint32_t frame; /* the first one that does without */
};

struct programs {
    struct program program[PROGRAM_COUNT];
    struct shader shader[MAX_SHADERS];
    int64_t common_changed;
    struct task *reload;
    uint32_t reload_shaders; /* bits: those that the task compiles */
    atomic_bool reload_ended;
    struct retired retired[4 * PROGRAM_COUNT];
    uint32_t retired_count, swapped, refused;
    VkSampler linear, repeat, shadow;
};
bool programs_open(struct engine *engine);
void programs_close(struct engine *engine); /* no frame is in flight */
/* Makes the pipeline from the shaders as they are now; null: the device refused. Any thread. */
VkPipeline program_build(struct engine *engine, enum program_id id);
const char *program_shader_name(uint32_t shader); /* from 1 on; null: there are no more */
bool program_uses(enum program_id id, uint32_t shader_bits);
/* reload.c. Before a frame is declared: swaps in what has been compiled, drops pipelines that no frame in flight uses,
 * and looks for changed files. all: takes every file as changed. */
void programs_update(struct engine *engine, uint32_t frame, bool all);
void programs_wait(struct engine *engine); /* for shaders that are being compiled */
void programs_free_shaders(struct programs *programs);

/* In a record callback: binds the pipeline and its resources, in the order of its letters (programs.c). */
#define program_bind(engine, recorder, id, ...)                                                                        \
    program_bind_resources(engine, recorder, id, (const hd_resource[]){__VA_ARGS__},                                   \
                           (uint32_t)(sizeof((const hd_resource[]){__VA_ARGS__}) / sizeof(hd_resource)))
void program_bind_resources(struct engine *engine, hd_recorder *recorder, enum program_id id,
                            const hd_resource *resources, uint32_t count);
void program_push(struct engine *engine, hd_recorder *recorder, enum program_id id, const void *data, uint32_t bytes);

/* ---- windows.c: a window of the system, or two images that take turns ---- */

struct window {
    struct engine *engine;
    const char *name;
    uint32_t width, height;
    struct GLFWwindow *glfw; /* with --window */
    VkSurfaceKHR surface;
    hd_vk_swapchain *swapchain;
    struct image images[2]; /* without */
};
bool windows_open(struct engine *engine); /* before the device: the instance needs the system's extensions */
const char *const *windows_extensions(const struct engine *engine, uint32_t *count);
bool windows_attach(struct engine *engine); /* after hd_vk_create */
bool windows_poll(struct engine *engine);   /* keys and sizes; false: a window was closed */
bool windows_resize(struct engine *engine, uint32_t percent);
/* Declares what brings the picture to the window; in the last frame also to a file. */
void window_show(struct engine *engine, struct window *window, hd_resource picture);
void window_present(struct engine *engine, struct window *window);
void windows_detach(struct engine *engine); /* before hd_vk_destroy; no frame is in flight */
void windows_close(struct engine *engine);

/* ---- streaming.c: textures come in while frames go on ---- */

enum { UPLOAD_BYTES = 8 << 20, UPLOAD_BYTES_A_FRAME = 1 << 20 };
struct streaming {
    struct image texture;
    struct task *task;
    atomic_bool stop;
    atomic_uint handed;              /* mips from here to the coarsest have a token */
    hd_vk_token token[TEXTURE_MIPS];
    uint32_t finest;                 /* mip that frames may read */
};
struct frame;
bool streaming_open(struct engine *engine);
/* Declares a part of the uploads that wait; frame gets the texture and the range of it that is there. */
void streaming_declare(struct engine *engine, struct frame *frame);
void streaming_close(struct engine *engine);

/* ---- frame.c, passes.c: the frame ---- */

struct constants { /* shaders/common.glsl */
    mat4s view_projection[VIEWS], inverse[VIEWS], sun_matrix;
    vec4s eye[VIEWS]; /* w: 0 for a camera without perspective */
    vec4s sun;        /* direction towards it, then strength */
    float exposure[VIEWS], time, shadows, waves;
    uint32_t side, pad[2]; /* columns along a side of the field */
};

/* One camera's part of a frame. */
struct view_frame {
    struct frame *frame;
    uint32_t index, width, height;
    hd_resource color, depth, resolved, glow, old_glow, light, picture;
};

/* One frame from its declaration until its host passes have run; FRAME_SLOTS of them take turns. */
struct frame {
    struct engine *engine;
    uint32_t number;
    struct constants data;
    hd_resource constants, columns, old_columns, prism, texture, shadow;
    hd_range texture_range;
    struct view_frame views[VIEWS];
    bool waves, shadows, glow, sampled; /* which passes this frame has */
    float light_read[VIEWS];            /* by this frame's readbacks */
};
void frame_declare(struct engine *engine, struct frame *frame, uint32_t number);

void record_waves(hd_recorder *recorder, void *frame);
void record_shadow(hd_recorder *recorder, void *frame);
void record_scene(hd_recorder *recorder, void *view);
void record_glow(hd_recorder *recorder, void *view);
void record_meter(hd_recorder *recorder, void *view);
void record_tone(hd_recorder *recorder, void *view);

/* ---- main.c ---- */

struct engine {
    /* options */
    uint32_t frames, width, height, side, device_index, workers;
    bool windowed, exercise, validate, capture, steady;
    const char *out, *shaders, *report;

    struct journal journal;
    struct threads threads;
    struct memory memory;
    struct device device;
    hd_jobs *jobs;
    hd_vk *vk;
    hd_error create_error; /* why there is no vk */
    hd_graph *graph;
    struct programs programs;
    struct streaming streaming;
    struct buffer prism;
    vec3s *prism_data; /* position and normal of each vertex */
    uint32_t prism_vertices;
    struct window windows[VIEWS];

    bool waves, shadows, glow, sampled, report_wanted; /* keys 1 to 4, and R */
    float exposure[VIEWS];
    uint32_t number;
    bool last; /* this frame's pictures go to files */
    struct frame frame[FRAME_SLOTS];
    atomic_bool failed;         /* a picture could not be written */
    atomic_ullong picture_hash; /* of those that were */
    atomic_ullong callback_ns[2], callbacks[2]; /* of passes on the GPU, and on the host */
    uint32_t plans; /* how often a frame was compiled, in place of finding its plan */
};
/* False, and the journal has an error, unless result is HD_OK. */
bool engine_check(struct engine *engine, hd_result result);

/* options.c: ends the process for a wrong command line, and after --help. */
void options_parse(struct engine *engine, int argc, char **argv);

/* report.c */
bool report_write(struct engine *engine, const char *folder); /* step 11; of the frame that is declared */
bool report_write_next(struct engine *engine);
hd_vk_pass_callbacks report_callbacks(struct engine *engine); /* step 10 */
bool report_verify(struct engine *engine, const hd_plan *plan);
bool report_capture(struct engine *engine);
void report_summary(struct engine *engine, const hd_plan *plan);

#endif
