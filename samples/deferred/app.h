/* What the parts of the sample share: the program's state, and what one frame's passes need to record. */
#ifndef DEFERRED_APP_H
#define DEFERRED_APP_H

#include "kit.h"
#include "scene.h"

#define MAX_BLOOM_LEVELS 6
#define SHADOW_SIZE 1536
#define TILE 16

enum program_id {
    PROGRAM_SHADOW,
    PROGRAM_DEPTH,
    PROGRAM_GBUFFER,
    PROGRAM_MIRROR,
    PROGRAM_OCCLUSION,
    PROGRAM_OCCLUSION_BLUR,
    PROGRAM_CULL,
    PROGRAM_MIST,
    PROGRAM_GLOSS,
    PROGRAM_LIGHTING,
    PROGRAM_TEMPORAL,
    PROGRAM_BLOOM_DOWN,
    PROGRAM_BLOOM_UP,
    PROGRAM_TONEMAP,
    PROGRAM_COUNT
};

struct app;
struct frame;

struct bloom_level {
    struct frame *frame;
    uint32_t mip, width, height;
};

/* One frame from its declaration until its host passes have run. KIT_SLOTS of them take turns. */
struct frame {
    struct app *app;
    uint32_t width, height;
    struct frame_data data;
    hd_resource vertices, indices;
    hd_resource staging, constants, lights, instances;
    hd_resource sun_map, depth, albedo, normal, motion;
    hd_resource occlusion_noisy, occlusion, light_masks;
    hd_resource mirror_color, mirror_depth, reflected, mist;
    hd_resource lit, resolved, history, bloom, picture;
    struct bloom_level bloom_levels[MAX_BLOOM_LEVELS];
};

struct app {
    struct kit kit;
    struct scene scene;
    struct kit_program programs[PROGRAM_COUNT];
    struct kit_resource vertices, indices;
    struct frame frames[KIT_SLOTS];
};

/* programs.c */
bool programs_create(struct app *app);
/* frame.c: declares one frame; the picture that it makes. */
hd_resource frame_declare(struct app *app);

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

#endif
