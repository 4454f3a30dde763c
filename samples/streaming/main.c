#include "kit.h"
#include "maths.h"
#include "tiles.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "air_comp.h"
#include "picture_comp.h"
#include "terrain_frag.h"
#include "terrain_vert.h"

/* streaming: a flight over mountains and lakes that do not fit into memory. Threads make the tiles that come into view
 * and hand them to heddle (hd_vk_upload_async); each frame moves a part of what waits, on the transfer queue where the
 * device has one, and draws what has come. No frame waits for a tile. */

enum { UPLOAD_BYTES = 4 << 20, UPLOAD_BYTES_A_FRAME = 384 << 10, WARM_UP = 8 };

static struct {
    uint32_t budget_mib, speed;
    bool steady;
} wishes = {24, 220, false};

static const struct kit_option options_of_scene[] = {
    {"budget", "N", KIT_NUMBER, &wishes.budget_mib, 6, 1024, "MiB for tiles and what is under way to them (24)"},
    {"speed", "N", KIT_NUMBER, &wishes.speed, 0, 100000, "metres a second (220)"},
    {"steady", NULL, KIT_FLAG, &wishes.steady, 0, 0, "frames wait for tiles: pictures are the same in each run"},
    {0}};
static const struct kit_scene scene = {.name = "streaming",
                                       .about = "A flight over a landscape whose tiles stream in.",
                                       .frames = 120,
                                       .width = 960,
                                       .height = 540,
                                       .upload_bytes = UPLOAD_BYTES,
                                       .options = options_of_scene};

enum { TERRAIN, AIR, PICTURE, PROGRAM_COUNT };

static const VkVertexInputBindingDescription height_buffer = {0, 2 * sizeof(float), VK_VERTEX_INPUT_RATE_VERTEX};
static const VkVertexInputAttributeDescription height_members[] = {{0, 0, VK_FORMAT_R32G32_SFLOAT, 0}};
static const VkPipelineVertexInputStateCreateInfo height_input = {
    VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO, NULL, 0, 1, &height_buffer, 1, height_members};
static const struct kit_program_desc programs[PROGRAM_COUNT] = {
    [TERRAIN] = {"ul", .vertex = KIT_CODE(terrain_vert), .fragment = KIT_CODE(terrain_frag), .input = &height_input,
                 .colors = {VK_FORMAT_R16G16B16A16_SFLOAT}, .depth = VK_FORMAT_D32_SFLOAT,
                 .cull = VK_CULL_MODE_BACK_BIT},
    [AIR] = {"ulni", .compute = KIT_CODE(air_comp)},
    [PICTURE] = {"uli", .compute = KIT_CODE(picture_comp)},
};

struct constants { /* shaders/common.glsl */
    mat4s view_projection, inverse;
    vec4s eye, sun; /* eye: and seconds */
    float width, height, near_depth, pad;
};

struct frame {
    struct streaming *all;
    uint32_t width, height, drawn_count;
    struct constants data;
    hd_resource constants, indices, land, depth, light, picture;
    struct drawn drawn[MAX_DRAWN];
};

struct streaming {
    struct kit kit;
    struct kit_program programs[PROGRAM_COUNT];
    struct kit_resource indices;
    uint32_t index_count;
    struct tiles tiles;
    struct frame frames[KIT_SLOTS];
    float *altitude; /* of the flight, every ALTITUDE_STEP metres */
    uint32_t altitude_count;
    double *frame_us; /* wall times, then of the frame's thread, then of the GPU; room for frame_room each */
    uint32_t frame_count, frame_room;
    uint64_t most_bytes; /* of tiles in use and of what is under way */
};

#define bind(f, recorder, id, ...) kit_bind(&(f)->all->kit, recorder, &(f)->all->programs[id], __VA_ARGS__)

/* ---- what passes record ---- */

static void draw_land(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    VkCommandBuffer commands = hd_vk_commands(recorder);
    vkCmdBindIndexBuffer(commands, hd_vk_buffer(recorder, f->indices), 0, VK_INDEX_TYPE_UINT16);
    for (uint32_t i = 0; i < f->drawn_count; i++) {
        const struct drawn *d = &f->drawn[i];
        float size = land_size(&d->place);
        const float push[] = {(float)d->place.x * size, (float)d->place.z * size, size, d->since};
        bind(f, recorder, TERRAIN, {f->constants}, {d->texels});
        kit_push(recorder, &f->all->programs[TERRAIN], push, sizeof push);
        vkCmdBindVertexBuffers(commands, 0, 1, (VkBuffer[]){hd_vk_buffer(recorder, d->heights)}, (VkDeviceSize[]){0});
        vkCmdDrawIndexed(commands, f->all->index_count, 1, 0, 0, 0);
    }
}

static void add_air(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    bind(f, recorder, AIR, {f->constants}, {f->land}, {f->depth}, {f->light});
    kit_dispatch(recorder, f->width, f->height, 8);
}

static void make_picture(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    bind(f, recorder, PICTURE, {f->constants}, {f->light}, {f->picture});
    kit_dispatch(recorder, f->width, f->height, 8);
}

/* ---- the flight ---- */

#define ALTITUDE_STEP 60.0f

static vec3s way_point(float along)
{
    return v3(7700.0f + 420.0f * sinf(along / 1900.0f) + 160.0f * sinf(along / 730.0f), 0.0f, -3150.0f - along);
}

/* High enough above what comes, and smooth. */
static bool plan_altitude(struct streaming *all, float length)
{
    uint32_t count = (uint32_t)(length / ALTITUDE_STEP) + 80;
    float *raw = malloc(count * sizeof *raw);
    all->altitude = malloc(count * sizeof *all->altitude);
    all->altitude_count = count;
    for (uint32_t i = 0; raw && i < count; i++) {
        vec3s at = way_point((float)i * ALTITUDE_STEP);
        raw[i] = fmaxf(land_height(at.x, at.z, 6), 0.0f);
    }
    for (uint32_t i = 0; raw && all->altitude && i < count; i++) {
        float sum = 0.0f, weights = 0.0f;
        for (int32_t k = -12; k <= 16; k++) {
            uint32_t at = (int32_t)i + k < 0 ? 0 : i + (uint32_t)k >= count ? count - 1 : i + (uint32_t)k;
            float weight = expf(-(float)(k * k) / 60.0f), near = raw[at];
            for (uint32_t n = at > 3 ? at - 3 : 0; n < at + 4 && n < count; n++)
                near = fmaxf(near, raw[n]);
            sum += weight * near;
            weights += weight;
        }
        all->altitude[i] = sum / weights + 90.0f;
    }
    free(raw);
    return kit_check(&all->kit, all->altitude && raw ? HD_OK : HD_OUT_OF_MEMORY);
}

static float altitude_at(const struct streaming *all, float along)
{
    float place = along / ALTITUDE_STEP;
    uint32_t i = (uint32_t)place;
    if (i + 1 >= all->altitude_count)
        return all->altitude[all->altitude_count - 1];
    return all->altitude[i] + (all->altitude[i + 1] - all->altitude[i]) * (place - (float)i);
}

static void place_camera(struct frame *f, float seconds)
{
    const struct streaming *all = f->all;
    float along = seconds * (float)wishes.speed, tan_x = 0.66f;
    vec3s eye = way_point(along), ahead = way_point(along + 700.0f), later = way_point(along + 1400.0f);
    eye.y = altitude_at(all, along);
    ahead.y = eye.y + 0.30f * (altitude_at(all, along + 700.0f) - eye.y) - 75.0f; /* the horizon stays in view */
    float turn = ((later.x - ahead.x) - (ahead.x - eye.x)) * 0.0011f; /* wings follow the curve */
    mat4s view = glms_lookat(eye, ahead, glms_vec3_normalize(v3(turn, 1.0f, 0.0f)));
    mat4s projection = kit_perspective(tan_x, tan_x * (float)f->height / (float)f->width, 2.0f, 60000.0f);
    f->data.view_projection = glms_mat4_mul(projection, view);
    f->data.inverse = glms_mat4_inv(f->data.view_projection);
    f->data.eye = (vec4s){{eye.x, eye.y, eye.z, seconds}};
    f->data.sun = (vec4s){{all->tiles.sun.x, all->tiles.sun.y, all->tiles.sun.z, 0.0f}};
    f->data.width = (float)f->width;
    f->data.height = (float)f->height;
    f->data.near_depth = 0.5f;
}

/* ---- the frame ---- */

/* clang-format off */
static void declare_land(struct kit *kit, struct frame *f)
{
    hd_use uses[4 + 2 * MAX_DRAWN] = {{f->land, HD_COLOR_WRITE}, {f->depth, HD_DEPTH_WRITE},
                                      {f->constants, HD_UNIFORM_READ}, {f->indices, HD_INDEX_READ}};
    for (uint32_t i = 0; i < f->drawn_count; i++) {
        uses[4 + 2 * i] = (hd_use){f->drawn[i].heights, HD_VERTEX_READ};
        uses[5 + 2 * i] = (hd_use){f->drawn[i].texels, HD_SAMPLED_FRAGMENT};
    }
    kit_pass(kit, &(hd_pass_desc){
        .name = "land", .type = HD_PASS_GFX, .cost_us = 400, .record = draw_land, .user = f,
        .uses = uses, .use_count = 4 + 2 * f->drawn_count,
    });
}

static hd_resource declare(struct streaming *all)
{
    struct kit *kit = &all->kit;
    struct frame *f = &all->frames[kit->slot];
    f->all = all;
    f->width = kit->width;
    f->height = kit->height;
    place_camera(f, kit->seconds);
    /* Imports of tiles that this frame draws come first: heddle imports what else it uploads to. */
    vec3s eye = v3(f->data.eye.x, f->data.eye.y, f->data.eye.z);
    f->drawn_count = tiles_choose(&all->tiles, (int32_t)kit->number, eye, f->data.view_projection, f->drawn);
    if (wishes.steady)
        tiles_settle(&all->tiles);
    hd_vk_upload_some(kit->vk, kit->graph, wishes.steady ? UPLOAD_BYTES : UPLOAD_BYTES_A_FRAME);

    f->constants = kit_buffer(kit, "constants", sizeof f->data);
    hd_vk_upload(kit->vk, kit->graph, f->constants, NULL, &f->data, sizeof f->data, &(hd_vk_as){.name = "constants"});
    f->indices = hd_graph_import(kit->graph, &all->indices.import);
    f->land = kit_image(kit, "land", 1, VK_FORMAT_R16G16B16A16_SFLOAT);
    f->depth = kit_image(kit, "depth", 1, VK_FORMAT_D32_SFLOAT);
    f->light = kit_image(kit, "light", 1, VK_FORMAT_R16G16B16A16_SFLOAT);
    f->picture = kit_image(kit, "picture", 1, VK_FORMAT_R8G8B8A8_UNORM);
    declare_land(kit, f);
    kit_pass(kit, &(hd_pass_desc){
        .name = "air", .type = HD_PASS_COMPUTE, .cost_us = 300, .record = add_air, .user = f,
        .uses = HD_USES({f->constants, HD_UNIFORM_READ_COMPUTE}, {f->land, HD_SAMPLED_COMPUTE},
                        {f->depth, HD_SAMPLED_COMPUTE}, {f->light, HD_STORAGE_WRITE_COMPUTE}),
    });
    kit_pass(kit, &(hd_pass_desc){
        .name = "picture", .type = HD_PASS_COMPUTE, .root = true, .cost_us = 60, .record = make_picture, .user = f,
        .uses = HD_USES({f->constants, HD_UNIFORM_READ_COMPUTE}, {f->light, HD_SAMPLED_COMPUTE},
                        {f->picture, HD_STORAGE_WRITE_COMPUTE}),
    });
    return f->picture;
}
/* clang-format on */

/* ---- start ---- */

static bool make_indices(struct streaming *all)
{
    uint16_t indices[(GRID - 1) * (GRID - 1) * 6], *next = indices;
    for (uint32_t j = 0; j + 1 < GRID; j++)
        for (uint32_t i = 0; i + 1 < GRID; i++) {
            uint16_t a = (uint16_t)(j * GRID + i), b = a + 1, c = a + GRID, d = c + 1;
            const uint16_t quad[] = {a, c, b, b, c, d};
            memcpy(next, quad, sizeof quad);
            next += 6;
        }
    all->index_count = (uint32_t)(next - indices);
    return kit_buffer_create(&all->kit, "indices", sizeof indices, VK_BUFFER_USAGE_INDEX_BUFFER_BIT, indices,
                             &all->indices);
}

/* The loading screen of a game: frames without a picture, until all that the first one wants has come. */
static bool load_first(struct streaming *all)
{
    struct kit *kit = &all->kit;
    struct frame *f = &all->frames[0];
    *f = (struct frame){.all = all, .width = kit->width, .height = kit->height};
    place_camera(f, 0.0f);
    do {
        hd_graph_begin(kit->graph);
        tiles_choose(&all->tiles, -100, v3(f->data.eye.x, f->data.eye.y, f->data.eye.z), f->data.view_projection,
                     f->drawn);
        tiles_settle(&all->tiles);
        hd_vk_upload_some(kit->vk, kit->graph, UPLOAD_BYTES);
        if (!kit_check(kit, hd_vk_frame(kit->vk, kit->graph)))
            return false;
    } while (all->tiles.missing > 0);
    return true;
}

static bool open_scene(struct streaming *all)
{
    struct kit *kit = &all->kit;
    const vec3s sun = glms_vec3_normalize(v3(-0.80f, 0.36f, -0.15f));
    uint32_t frames = kit->options.frames ? kit->options.frames : 100000;
    all->frame_us = calloc(3 * (size_t)frames, sizeof *all->frame_us);
    all->frame_room = frames;
    if (!kit_check(kit, all->frame_us ? HD_OK : HD_OUT_OF_MEMORY) ||
        !plan_altitude(all, (float)frames / 30.0f * (float)wishes.speed))
        return false;
    for (int i = 0; i < PROGRAM_COUNT; i++)
        if (!kit_program_create(kit, &programs[i], &all->programs[i]))
            return false;
    return make_indices(all) &&
           tiles_open(&all->tiles, kit, ((uint64_t)wishes.budget_mib << 20) - UPLOAD_BYTES, sun) && load_first(all);
}

/* ---- times ---- */

static double thread_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/* From the first pass of a finished frame to the end of its last one. */
static double gpu_us(const struct streaming *all)
{
    hd_vk_times times;
    uint64_t begin = UINT64_MAX, end = 0;
    if (hd_vk_times_get(all->kit.vk, 0, &times) != HD_OK)
        return 0.0;
    for (uint32_t i = 0; i < times.span_count; i++) {
        const hd_vk_span *span = &times.spans[i];
        if (span->kind != HD_VK_SPAN_PASS)
            continue;
        begin = span->begin_ns < begin ? span->begin_ns : begin;
        end = span->end_ns > end ? span->end_ns : end;
    }
    return end > begin ? (double)(end - begin) * 1e-3 : 0.0;
}

static void note_frame(struct streaming *all, double wall, double cpu)
{
    hd_vk_frame_stats stats;
    hd_vk_frame_stats_get(all->kit.vk, &stats);
    uint64_t bytes = tiles_used_bytes(&all->tiles) + stats.upload_bytes;
    all->most_bytes = bytes > all->most_bytes ? bytes : all->most_bytes;
    if (all->kit.number < WARM_UP || all->frame_count == all->frame_room)
        return;
    all->frame_us[all->frame_count] = wall;
    all->frame_us[all->frame_room + all->frame_count] = cpu;
    all->frame_us[2 * all->frame_room + all->frame_count++] = gpu_us(all);
}

static void print_times(const char *name, double *values, uint32_t count)
{
    double median = kit_median(values, count), longest = values[count - 1]; /* sorted now */
    printf("%-15s median %.2f ms, longest %.2f ms: %.2f of the median\n", name, median * 1e-3, longest * 1e-3,
           median > 0.0 ? longest / median : 0.0);
}

static void print_streaming(struct streaming *all)
{
    const struct tiles *t = &all->tiles;
    printf("tiles           %u came, %u made way, %u are there; %u wishes refused for want of room\n", t->loaded,
           t->dropped, t->count, t->refused);
    printf("budget          %.1f MiB at most of %u MiB: cache %.1f MiB, staging %.1f MiB\n",
           (double)all->most_bytes / 1048576.0, wishes.budget_mib, (double)t->memory_bytes / 1048576.0,
           (double)UPLOAD_BYTES / 1048576.0);
    if (!all->frame_count)
        return;
    print_times("frame", all->frame_us, all->frame_count);
    print_times("frame, CPU", all->frame_us + all->frame_room, all->frame_count);
    print_times("frame, GPU", all->frame_us + 2 * all->frame_room, all->frame_count);
}

int main(int argc, char **argv)
{
    struct kit_options options = {0};
    struct streaming *all = calloc(1, sizeof *all);
    if (!all)
        return 2;
    kit_options_parse(&options, &scene, argc, argv);
    if (kit_open(&all->kit, &scene, &options) && open_scene(all)) {
        double wall = kit_now_us(), cpu = thread_us();
        while (kit_begin(&all->kit)) {
            kit_end(&all->kit, declare(all));
            double wall_now = kit_now_us(), cpu_now = thread_us();
            note_frame(all, wall_now - wall, cpu_now - cpu);
            wall = wall_now;
            cpu = cpu_now;
        }
        if (kit_finish(&all->kit) && !options.bench)
            print_streaming(all);
    }
    if (all->kit.vk)
        hd_vk_wait(all->kit.vk);
    tiles_close(&all->tiles);
    kit_resource_destroy(&all->indices);
    for (int i = 0; i < PROGRAM_COUNT; i++)
        kit_program_destroy(&all->programs[i]);
    int status = kit_close(&all->kit);
    free(all->altitude);
    free(all->frame_us);
    free(all);
    return status;
}
