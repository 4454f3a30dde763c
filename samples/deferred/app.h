/* What the parts of the sample share: the program's state, and what one frame's passes need to record. */
#ifndef DEFERRED_APP_H
#define DEFERRED_APP_H

#include <pthread.h>

#include "gpu.h"
#include "scene.h"

#define MAX_BLOOM_LEVELS 6
#define SHADOW_SIZE 1536
#define TILE 16

struct app;
struct frame;

struct bloom_level {
    struct frame *frame;
    uint32_t mip, width, height;
};

/* One frame from its declaration until its host passes have run. FRAME_SLOTS of them take turns. */
struct frame {
    struct app *app;
    uint32_t number;
    bool write_png, read_back, with_thumbnails;
    struct frame_data data;
    hd_resource vertices, indices;
    hd_resource staging, constants, lights, instances;
    hd_resource sun_map, depth, albedo, normal, motion;
    hd_resource occlusion_noisy, occlusion, light_masks;
    hd_resource mirror_color, mirror_depth, reflected, mist;
    hd_resource lit, resolved, history, bloom, picture, readback;
    struct bloom_level bloom_levels[MAX_BLOOM_LEVELS];
};

/* An image as a pass left it, small. */
enum { MAX_THUMBNAILS = 64, THUMBNAIL_WIDTH = 128, THUMBNAIL_HEIGHT = 72 };
struct thumbnail {
    uint32_t pass, resource;
    uint32_t width, height; /* of the image, where all of it comes to the CPU */
    float least, most;
    uint8_t rgba[THUMBNAIL_WIDTH * THUMBNAIL_HEIGHT * 4];
};

struct app {
    /* options */
    uint32_t frame_count, width, height, device, workers, every;
    uint32_t view_port; /* 0: no live view */
    uint32_t bench;  /* frames to measure; 0: pictures are what is wanted */
    uint32_t detail; /* how finely the compute passes sample: 1 upwards; 0: as the device can */
    bool passes, untimed, capture, thumbnails;
    const char *out;
    hd_queue_kind queue_kinds[HD_MAX_QUEUES];
    uint32_t queue_kind_count;

    struct scene scene;
    struct gpu gpu;
    hd_jobs *jobs;
    hd_vk *vk;
    hd_graph *graph;
    struct gpu_buffer vertices, indices;
    uint32_t bloom_level_count;
    struct frame frames[FRAME_SLOTS];

    struct hd_view *view;
    struct thumbnail *thumbnail; /* room for MAX_THUMBNAILS, where they are wanted */
    uint32_t thumbnail_count, thumbnail_passes;

    uint64_t *picture_hashes; /* of each frame's picture, written by its last host pass */
    uint8_t *last_picture; /* of the last frame, until it is written */
    atomic_bool png_failed;

    pthread_mutex_t log_lock;
    char first_error[512];
};

/* options.c: false, with the usage on standard error, for a wrong command line. */
bool options_parse(struct app *app, int argc, char **argv);

/* frame.c: declares one frame in app->graph, beginning it. */
void frame_declare(struct app *app, struct frame *frame, uint32_t number, bool with_thumbnails);
/* thumbnails.c: declares what keeps a small picture of each image that the pass wrote. */
void thumbnails_add(struct frame *frame, hd_pass pass, const hd_pass_desc *desc);
/* load.c: a graph of its own that brings the meshes to the device, once. */
hd_result load_meshes(struct app *app);

/* Record callbacks; user is the struct frame, for bloom its level. */
void write_frame_data(hd_recorder *recorder, void *user);
void upload_frame_data(hd_recorder *recorder, void *user);
void draw_shadow_map(hd_recorder *recorder, void *user);
void draw_depth(hd_recorder *recorder, void *user);
void draw_gbuffer(hd_recorder *recorder, void *user);
void draw_mirror(hd_recorder *recorder, void *user);
void trace_occlusion(hd_recorder *recorder, void *user);
void blur_occlusion(hd_recorder *recorder, void *user);
void cull_lights(hd_recorder *recorder, void *user);
void march_mist(hd_recorder *recorder, void *user);
void blur_mirror(hd_recorder *recorder, void *user);
void light_scene(hd_recorder *recorder, void *user);
void accumulate(hd_recorder *recorder, void *user);
void bloom_down(hd_recorder *recorder, void *user);
void bloom_up(hd_recorder *recorder, void *user);
void tonemap(hd_recorder *recorder, void *user);
void read_back(hd_recorder *recorder, void *user);
void keep_picture(hd_recorder *recorder, void *user);
/* Once the GPU is done; a fault is noted in png_failed. */
void write_last_picture(struct app *app);

/* live.c */
hd_result live_open(struct app *app);
hd_result live_show(struct app *app, const hd_plan *plan);
void live_close(struct app *app);

/* bench.c: renders app->frame_count frames and prints the times of the frames between the first and the last. */
#define BENCH_WARM_UP 24
hd_result bench_run(struct app *app);

/* image_png.c: writes width x height RGBA pixels, without alpha. False when the file cannot be written. */
bool png_write(const char *path, const uint8_t *rgba, uint32_t width, uint32_t height);

/* report.c */
void report_path(const struct app *app, const char *file, char *path, size_t bytes);
/* Says on standard error that it could not be read or written; errno is as that left it. Any thread. */
void report_file(const char *path);
/* The times of the passes of a frame: of the frame `back` frames before the newest that is known to have finished. Null
 * where the device could not measure them. Freed by the caller. */
hd_page_span *report_spans(const struct app *app, uint32_t back, uint32_t *count);
/* Leaves the plan's files in the output folder. */
hd_result report_write_plan(const struct app *app, const hd_plan *plan);
hd_result report_verify(const struct app *app, const hd_plan *plan);
/* Ends the capture, writes it and verifies it. */
hd_result report_capture(const struct app *app);
double median(double *values, uint32_t count); /* sorts them */
double now_us(void);

#endif
