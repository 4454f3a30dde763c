/* What the files of the sample share: the program's state, and what one frame's passes need to record. */
#ifndef CITY_H
#define CITY_H

#include <kit.h>

#include "scene.h"

enum {
    BLOOM_LEVELS = 6,
    PYRAMID_LEVELS = 8,
    SKY_WIDTH = 384,
    SKY_HEIGHT = 192,
    RIPPLES = 256,
    PAGE_WIDTH = 256,
    PAGE_HEIGHT = 128,
    SHEET_WIDTH = 900,
    SHEET_HEIGHT = 116,
    KNOT_ALONG = 180,
    KNOT_AROUND = 10,
    KNOT_VERTICES = (KNOT_ALONG + 1) * (KNOT_AROUND + 1),
    CPU_DRAWS = 20000
};

enum program_id {
    PROGRAM_CULL_EARLY,
    PROGRAM_CULL_LATE,
    PROGRAM_CULL_CASCADE,
    PROGRAM_CULL_LAMPS,
    PROGRAM_GEOMETRY,
    PROGRAM_MATERIALS,
    PROGRAM_SHADOW,
    PROGRAM_PYRAMID_FIRST,
    PROGRAM_PYRAMID,
    PROGRAM_DECAL,
    PROGRAM_SKY_TABLE,
    PROGRAM_SKY_LIGHT,
    PROGRAM_RIPPLES,
    PROGRAM_RAIN,
    PROGRAM_CLUSTERS,
    PROGRAM_FOG_INJECT,
    PROGRAM_FOG_INTEGRATE,
    PROGRAM_OCCLUSION,
    PROGRAM_OCCLUSION_BLUR,
    PROGRAM_LIGHT,
    PROGRAM_SKY,
    PROGRAM_REFLECT,
    PROGRAM_REFLECT_TIME,
    PROGRAM_REFLECT_BLUR,
    PROGRAM_COMPOSE,
    PROGRAM_STEAM,
    PROGRAM_HOLOGRAM,
    PROGRAM_DROPS,
    PROGRAM_UPSCALE,
    PROGRAM_MOTION_TILES,
    PROGRAM_MOTION_AROUND,
    PROGRAM_MOTION_BLUR,
    PROGRAM_BLOOM_DOWN,
    PROGRAM_BLOOM_UP,
    PROGRAM_HISTOGRAM,
    PROGRAM_EXPOSURE,
    PROGRAM_TONEMAP,
    PROGRAM_OVERLAY,
    PROGRAM_VIEW_DEPTH,
    PROGRAM_VIEW_LIGHTS,
    PROGRAM_VIEW_NORMALS,
    PROGRAM_COUNT
};

struct city;
struct frame;

/* One step of a pass that comes several times: a level of a pyramid, a cascade. */
struct step {
    struct frame *frame;
    uint32_t index, width, height;
};

/* What one culling leaves: indices of the instances that stay, and a draw a chunk. */
struct culled {
    hd_resource list, draws;
};

/* One frame from its declaration until its host passes have run. KIT_SLOTS of them take turns. */
struct frame {
    struct city *city;
    struct scene_view view;
    uint32_t width, height, parts;
    /* The sample's own, imported. */
    hd_resource vertices, indices, statics, chunks, map, decals, identity, knot_indices;
    /* Uploads. */
    hd_resource staging, constants, lights, movers, page, knot, sheet;
    /* Tables and what the compute queue makes. */
    hd_resource sky, sky_light, ripples, drops, drops_before, masks, volume, volume_before, fog;
    hd_resource occlusion_noisy, occlusion_across, occlusion;
    /* Geometry. */
    struct culled early, late, cascade[CASCADES], lamp;
    hd_resource seen, seen_before, depth, index, facing, albedo, normal, emission, motion, pyramid, cascades, lamp_map;
    /* Light and picture. */
    hd_resource lit, mirrored, mirrored_steady, mirrored_before, mirrored_across, mirrored_smooth, scene;
    hd_resource resolved, history, tiles, around, blurred, bloom, bins, exposure, exposure_before, picture;
    hd_resource view_depth, view_lights, view_normals;
    struct step pyramid_steps[PYRAMID_LEVELS], cascade_steps[CASCADES], bloom_steps[BLOOM_LEVELS];
    uint32_t sheet_pixels[SHEET_WIDTH * SHEET_HEIGHT]; /* of the timeline, RGBA8 */
};

/* Options of the sample's own. */
struct city_options {
    uint32_t camera, instances;
    bool cpu_draws, overlay, gains, unaliased;
    const char *show;
};

/* Times of passes, by name. */
enum { MOST_PASSES = 128 };
struct pass_times {
    char names[MOST_PASSES][32];
    double us[MOST_PASSES];
    uint32_t count;
};

/* What the CPU makes of a frame before the frame is declared. */
struct prepared {
    bool made;
    struct scene_view view; /* for this one */
    struct {                /* uploaded up to the last mover */
        uint32_t page[PAGE_WIDTH * PAGE_HEIGHT];
        struct mesh_vertex knot[KNOT_VERTICES];
        struct frame_data frame;
    } data;
};

struct city {
    struct city_options options;
    struct kit kit;
    struct scene scene;
    struct kit_program programs[PROGRAM_COUNT];
    struct kit_resource vertices, indices, statics, chunks, map, decals, identity, knot_indices;
    uint32_t shadow_size, lamp_size, drop_count;
    struct prepared prepared;
    struct frame frames[KIT_SLOTS];
    const struct pass_times *costs; /* measured, in place of those that frame_*.c say; may be null */
    float exposure[4];              /* of the newest frame that came back */
};

/* programs.c */
bool city_programs(struct city *city);
/* prepare.c: does nothing where that view is prepared already. */
void city_prepare(struct city *city, const struct scene_view *view);
uint64_t prepared_bytes(const struct city *city);
/* frame.c: prepares the frame that kit begins next, in parallel; so that to declare it is all that is left then. */
void city_ahead(struct city *city);
/* Declares the frame that kit has begun; returns its picture. */
hd_resource city_frame(struct city *city);
/* gains.c: the table of gains; the exit status. */
int city_gains(struct city *city, const struct kit_options *options);
/* main.c */
bool city_open(struct city *city, const struct kit_options *options);
int city_close(struct city *city);
/* page.c: some rows of what the screens of the city show at that time; letters, over any texels. */
void page_draw(uint32_t *texels, uint32_t first_row, uint32_t rows, float seconds);
void text_draw(uint32_t *texels, uint32_t width, uint32_t height, int x, int y, int scale, const char *text,
               uint32_t color);
/* timeline.c: the queues of the newest finished frame as bars. */
void timeline_draw(const struct city *city, uint32_t *texels);

/* Record callbacks. user is the struct frame, for passes that come several times their struct step. */

void unpack(hd_recorder *recorder, void *user);
void cull_early(hd_recorder *recorder, void *user);
void draw_early(hd_recorder *recorder, void *user);
void draw_on_workers(hd_recorder *recorder, void *user);
void build_pyramid(hd_recorder *recorder, void *user);
void cull_late(hd_recorder *recorder, void *user);
void draw_late(hd_recorder *recorder, void *user);
void cull_cascade(hd_recorder *recorder, void *user);
void draw_cascade(hd_recorder *recorder, void *user);
void cull_lamps(hd_recorder *recorder, void *user);
void draw_lamps(hd_recorder *recorder, void *user);
void fill_materials(hd_recorder *recorder, void *user);
void draw_decals(hd_recorder *recorder, void *user);

void make_sky(hd_recorder *recorder, void *user);
void make_sky_light(hd_recorder *recorder, void *user);
void make_ripples(hd_recorder *recorder, void *user);
void move_rain(hd_recorder *recorder, void *user);
void assign_lights(hd_recorder *recorder, void *user);
void inject_fog(hd_recorder *recorder, void *user);
void integrate_fog(hd_recorder *recorder, void *user);
void trace_occlusion(hd_recorder *recorder, void *user);
void blur_occlusion_across(hd_recorder *recorder, void *user);
void blur_occlusion_down(hd_recorder *recorder, void *user);

void light_scene(hd_recorder *recorder, void *user);
void draw_sky(hd_recorder *recorder, void *user);
void trace_reflections(hd_recorder *recorder, void *user);
void steady_reflections(hd_recorder *recorder, void *user);
void blur_reflections_across(hd_recorder *recorder, void *user);
void blur_reflections_down(hd_recorder *recorder, void *user);
void compose(hd_recorder *recorder, void *user);
void draw_hologram(hd_recorder *recorder, void *user);
void draw_steam(hd_recorder *recorder, void *user);
void draw_rain(hd_recorder *recorder, void *user);

void upscale(hd_recorder *recorder, void *user);
void motion_tiles(hd_recorder *recorder, void *user);
void motion_around(hd_recorder *recorder, void *user);
void motion_blur(hd_recorder *recorder, void *user);
void bloom_down(hd_recorder *recorder, void *user);
void bloom_up(hd_recorder *recorder, void *user);
void count_brightness(hd_recorder *recorder, void *user);
void set_exposure(hd_recorder *recorder, void *user);
void keep_exposure(const void *data, uint64_t bytes, void *user); /* user: the struct city */
void tonemap(hd_recorder *recorder, void *user);
void lay_overlay(hd_recorder *recorder, void *user);
void view_depth(hd_recorder *recorder, void *user);
void view_lights(hd_recorder *recorder, void *user);
void view_normals(hd_recorder *recorder, void *user);

#endif
