#include "app.h"

/* The frame, as heddle is told of it: resources, then passes in the order in which they make sense to read. heddle
 * finds out what depends on what, which queue runs what, where the barriers stand and which images share memory.
 * Nothing here touches Vulkan; the callbacks in passes_*.c record the commands. */

#define R8 9 /* VkFormat numbers */
#define RGBA8 37
#define RG16F 83
#define RGBA16F 97
#define D32F 126

static hd_resource image(struct app *app, const char *name, uint32_t divisor, uint32_t format)
{
    return hd_graph_image(app->graph, &(hd_image_desc){.name = name,
                                                       .width = (app->width + divisor - 1) / divisor,
                                                       .height = (app->height + divisor - 1) / divisor,
                                                       .format = format});
}

static hd_resource buffer(struct app *app, const char *name, uint64_t bytes)
{
    return hd_graph_buffer(app->graph, &(hd_buffer_desc){.name = name, .bytes = bytes});
}

static void declare_resources(struct app *app, struct frame *f)
{
    hd_graph *g = app->graph;
    uint64_t tiles = (uint64_t)((app->width + TILE - 1) / TILE) * ((app->height + TILE - 1) / TILE);

    /* The meshes stay from frame to frame: they are the sample's own buffers. */
    f->vertices = hd_graph_import(
        g, &(hd_import_desc){.name = "vertices", .buffer = app->vertices.buffer, .bytes = app->vertices.bytes});
    f->indices = hd_graph_import(
        g, &(hd_import_desc){.name = "indices", .buffer = app->indices.buffer, .bytes = app->indices.bytes});

    f->staging = buffer(app, "staging", sizeof(struct frame_data));
    f->constants = buffer(app, "constants", sizeof(struct constants));
    f->lights = buffer(app, "lights", sizeof f->data.lights);
    f->instances = buffer(app, "instances", sizeof f->data.instances);
    f->light_masks = buffer(app, "light masks", tiles * 16);
    f->readback = buffer(app, "readback", (uint64_t)app->width * app->height * 4);

    f->sun_map = hd_graph_image(
        g, &(hd_image_desc){.name = "sun map", .width = SHADOW_SIZE, .height = SHADOW_SIZE, .format = D32F});
    f->depth = image(app, "depth", 1, D32F);
    f->albedo = image(app, "albedo", 1, RGBA8);
    f->normal = image(app, "normal", 1, RGBA16F);
    f->motion = image(app, "motion", 1, RG16F);
    f->occlusion_noisy = image(app, "noisy occlusion", 2, R8);
    f->occlusion = image(app, "occlusion", 2, R8);
    f->mirror_color = image(app, "mirrored court", 2, RGBA16F);
    f->mirror_depth = image(app, "mirrored depth", 2, D32F);
    f->reflected = image(app, "reflections", 2, RGBA16F);
    f->mist = image(app, "mist", 2, RGBA16F);
    f->lit = image(app, "lit", 1, RGBA16F);
    f->resolved = image(app, "resolved", 1, RGBA16F);
    f->history = hd_graph_history(g, f->resolved);
    f->bloom = hd_graph_image(g, &(hd_image_desc){.name = "bloom",
                                                  .width = f->bloom_levels[0].width,
                                                  .height = f->bloom_levels[0].height,
                                                  .format = RGBA16F,
                                                  .mips = app->bloom_level_count});
    f->picture = image(app, "picture", 1, RGBA8);
}

/* A pass; where pictures are wanted, with passes behind it that keep what it wrote. */
static void add_pass(struct frame *f, const hd_pass_desc *desc)
{
    hd_pass pass = hd_graph_pass(f->app->graph, desc);
    if (f->with_thumbnails)
        thumbnails_add(f, pass, desc);
}

/* One line a thought reads better here than one line a field. */
/* clang-format off */
/* The CPU writes what changes into a staging buffer, the transfer queue brings it over. */
static void declare_upload(struct frame *f)
{
    add_pass(f, &(hd_pass_desc){
        .name = "frame data", .type = HD_PASS_HOST, .record = write_frame_data, .user = f,
        .uses = HD_USES({f->staging, HD_HOST_WRITE}),
    });
    add_pass(f, &(hd_pass_desc){
        .name = "upload", .type = HD_PASS_TRANSFER, .pin = HD_PIN_TRANSFER, .cost_us = 20,
        .record = upload_frame_data, .user = f,
        .uses = HD_USES({f->staging, HD_TRANSFER_SRC}, {f->constants, HD_TRANSFER_DST}, {f->lights, HD_TRANSFER_DST},
                        {f->instances, HD_TRANSFER_DST}),
    });
}

static void declare_geometry(struct frame *f)
{
    add_pass(f, &(hd_pass_desc){
        .name = "depth", .type = HD_PASS_GFX, .cost_us = 120, .record = draw_depth, .user = f,
        .uses = HD_USES({f->depth, HD_DEPTH_WRITE}, {f->constants, HD_UNIFORM_READ}, {f->instances, HD_VERTEX_READ},
                        {f->vertices, HD_VERTEX_READ}, {f->indices, HD_INDEX_READ}),
    });
    add_pass(f, &(hd_pass_desc){
        .name = "gbuffer", .type = HD_PASS_GFX, .cost_us = 260, .record = draw_gbuffer, .user = f,
        .uses = HD_USES({f->depth, HD_DEPTH_READ}, {f->albedo, HD_COLOR_WRITE}, {f->normal, HD_COLOR_WRITE},
                        {f->motion, HD_COLOR_WRITE},
                        {f->constants, HD_UNIFORM_READ}, {f->instances, HD_VERTEX_READ}, {f->vertices, HD_VERTEX_READ},
                        {f->indices, HD_INDEX_READ}),
    });
    add_pass(f, &(hd_pass_desc){
        .name = "sun map", .type = HD_PASS_GFX, .cost_us = 150, .record = draw_shadow_map, .user = f,
        .uses = HD_USES({f->sun_map, HD_DEPTH_WRITE}, {f->constants, HD_UNIFORM_READ}, {f->instances, HD_VERTEX_READ},
                        {f->vertices, HD_VERTEX_READ}, {f->indices, HD_INDEX_READ}),
    });
}

/* What the compute queue can do while the graphics queue draws. Reads have no order among themselves: heddle may run
 * the light culling before the G-buffer, beside the sun map, and does. */
static void declare_async(struct frame *f)
{
    add_pass(f, &(hd_pass_desc){
        .name = "light culling", .type = HD_PASS_COMPUTE, .pin = HD_PIN_COMPUTE, .cost_us = 60,
        .record = cull_lights, .user = f,
        .uses = HD_USES({f->constants, HD_UNIFORM_READ_COMPUTE}, {f->lights, HD_UNIFORM_READ_COMPUTE},
                        {f->depth, HD_SAMPLED_COMPUTE},
                        {f->light_masks, HD_STORAGE_WRITE_COMPUTE}),
    });
    add_pass(f, &(hd_pass_desc){
        .name = "occlusion", .type = HD_PASS_COMPUTE, .pin = HD_PIN_COMPUTE, .cost_us = 140,
        .record = trace_occlusion, .user = f,
        .uses = HD_USES({f->constants, HD_UNIFORM_READ_COMPUTE}, {f->depth, HD_SAMPLED_COMPUTE},
                        {f->normal, HD_SAMPLED_COMPUTE},
                        {f->occlusion_noisy, HD_STORAGE_WRITE_COMPUTE}),
    });
    add_pass(f, &(hd_pass_desc){
        .name = "occlusion blur", .type = HD_PASS_COMPUTE, .pin = HD_PIN_COMPUTE, .cost_us = 50,
        .record = blur_occlusion, .user = f,
        .uses = HD_USES({f->constants, HD_UNIFORM_READ_COMPUTE}, {f->depth, HD_SAMPLED_COMPUTE},
                        {f->occlusion_noisy, HD_SAMPLED_COMPUTE},
                        {f->occlusion, HD_STORAGE_WRITE_COMPUTE}),
    });
}

static void declare_lighting(struct frame *f)
{
    add_pass(f, &(hd_pass_desc){
        .name = "mist", .type = HD_PASS_COMPUTE, .cost_us = 150, .record = march_mist, .user = f,
        .uses = HD_USES({f->constants, HD_UNIFORM_READ_COMPUTE}, {f->depth, HD_SAMPLED_COMPUTE},
                        {f->sun_map, HD_SAMPLED_COMPUTE},
                        {f->mist, HD_STORAGE_WRITE_COMPUTE}),
    });
    add_pass(f, &(hd_pass_desc){
        .name = "mirrored court", .type = HD_PASS_GFX, .cost_us = 260, .record = draw_mirror, .user = f,
        .uses = HD_USES({f->mirror_color, HD_COLOR_WRITE}, {f->mirror_depth, HD_DEPTH_WRITE},
                        {f->constants, HD_UNIFORM_READ},
                        {f->lights, HD_UNIFORM_READ}, {f->sun_map, HD_SAMPLED_GRAPHICS}, {f->instances, HD_VERTEX_READ},
                        {f->vertices, HD_VERTEX_READ}, {f->indices, HD_INDEX_READ}),
    });
    add_pass(f, &(hd_pass_desc){
        .name = "reflections", .type = HD_PASS_COMPUTE, .cost_us = 90, .record = blur_mirror, .user = f,
        .uses = HD_USES({f->constants, HD_UNIFORM_READ_COMPUTE}, {f->depth, HD_SAMPLED_COMPUTE},
                        {f->normal, HD_SAMPLED_COMPUTE},
                        {f->mirror_color, HD_SAMPLED_COMPUTE}, {f->reflected, HD_STORAGE_WRITE_COMPUTE}),
    });
    add_pass(f, &(hd_pass_desc){
        .name = "lighting", .type = HD_PASS_COMPUTE, .cost_us = 420, .record = light_scene, .user = f,
        .uses = HD_USES({f->constants, HD_UNIFORM_READ_COMPUTE}, {f->lights, HD_UNIFORM_READ_COMPUTE},
                        {f->light_masks, HD_STORAGE_READ_COMPUTE}, {f->depth, HD_SAMPLED_COMPUTE},
                        {f->albedo, HD_SAMPLED_COMPUTE}, {f->normal, HD_SAMPLED_COMPUTE},
                        {f->occlusion, HD_SAMPLED_COMPUTE}, {f->sun_map, HD_SAMPLED_COMPUTE},
                        {f->reflected, HD_SAMPLED_COMPUTE}, {f->mist, HD_SAMPLED_COMPUTE},
                        {f->lit, HD_STORAGE_WRITE_COMPUTE}),
    });
    add_pass(f, &(hd_pass_desc){
        .name = "temporal", .type = HD_PASS_COMPUTE, .cost_us = 180, .record = accumulate, .user = f,
        .uses = HD_USES({f->constants, HD_UNIFORM_READ_COMPUTE}, {f->lit, HD_SAMPLED_COMPUTE},
                        {f->depth, HD_SAMPLED_COMPUTE}, {f->motion, HD_SAMPLED_COMPUTE},
                        {f->history, HD_SAMPLED_COMPUTE}, {f->resolved, HD_STORAGE_WRITE_COMPUTE}),
    });
}

/* Down and up again over the mips of one image: each pass names the mips that it touches, and only those. */
static void declare_bloom(struct frame *f, uint32_t levels)
{
    static const char *const down[] = {"bloom down 0", "bloom down 1", "bloom down 2", "bloom down 3",
        "bloom down 4", "bloom down 5"};
    static const char *const up[] = {"bloom up 0", "bloom up 1", "bloom up 2", "bloom up 3", "bloom up 4"};
    for (uint32_t i = 0; i < levels; i++) {
        hd_range level = {.mip_base = i, .mip_count = 1}, above = {.mip_base = i - 1, .mip_count = 1};
        hd_use source = {f->resolved, HD_SAMPLED_COMPUTE};
        if (i > 0)
            source = (hd_use){f->bloom, HD_SAMPLED_COMPUTE, .range = above};
        add_pass(f, &(hd_pass_desc){
            .name = down[i], .type = HD_PASS_COMPUTE, .cost_us = i ? 10 : 40,
            .record = bloom_down, .user = &f->bloom_levels[i],
            .uses = HD_USES({f->constants, HD_UNIFORM_READ_COMPUTE}, source,
                            {f->bloom, HD_STORAGE_WRITE_COMPUTE, .range = level}),
        });
    }
    for (uint32_t i = levels - 1; i-- > 0;) {
        hd_range level = {.mip_base = i, .mip_count = 1}, below = {.mip_base = i + 1, .mip_count = 1};
        add_pass(f, &(hd_pass_desc){
            .name = up[i], .type = HD_PASS_COMPUTE, .cost_us = i ? 10 : 40,
            .record = bloom_up, .user = &f->bloom_levels[i],
            .uses = HD_USES({f->constants, HD_UNIFORM_READ_COMPUTE}, {f->bloom, HD_SAMPLED_COMPUTE, .range = below},
                            {f->bloom, HD_STORAGE_RW_COMPUTE, .range = level}),
        });
    }
}

/* On the compute queue too: a queue runs in order, so a last pass on the graphics queue would keep the next frame's
 * first ones from running beside the light of this one. */
static void declare_picture(struct frame *f)
{
    hd_range largest = {.mip_base = 0, .mip_count = 1};
    add_pass(f, &(hd_pass_desc){
        .name = "tonemap", .type = HD_PASS_COMPUTE, .cost_us = 70, .root = true, .record = tonemap, .user = f,
        .uses = HD_USES({f->constants, HD_UNIFORM_READ_COMPUTE}, {f->resolved, HD_SAMPLED_COMPUTE},
                        {f->bloom, HD_SAMPLED_COMPUTE, .range = largest},
                        {f->picture, HD_STORAGE_WRITE_COMPUTE}),
    });
    if (!f->read_back)
        return;
    add_pass(f, &(hd_pass_desc){
        .name = "read back", .type = HD_PASS_TRANSFER, .pin = HD_PIN_TRANSFER, .cost_us = 60,
        .record = read_back, .user = f,
        .uses = HD_USES({f->picture, HD_TRANSFER_SRC}, {f->readback, HD_TRANSFER_DST}),
    });
    /* Nothing in the graph needs what a host pass does with the picture: without root it would be culled, and with it
     * everything that leads only here. */
    add_pass(f, &(hd_pass_desc){
        .name = "keep picture", .type = HD_PASS_HOST, .root = true, .record = keep_picture, .user = f,
        .uses = HD_USES({f->readback, HD_HOST_READ}),
    });
}

/* clang-format on */

void frame_declare(struct app *app, struct frame *frame, uint32_t number, bool with_thumbnails)
{
    struct scene_view view = {.frame = number,
                              .width = app->width,
                              .height = app->height,
                              .shadow_size = SHADOW_SIZE,
                              .tiles_x = (app->width + TILE - 1) / TILE,
                              .tiles_y = (app->height + TILE - 1) / TILE,
                              .detail = app->detail};
    frame->app = app;
    frame->number = number;
    frame->read_back = !app->bench || number + 1 == app->frame_count;
    frame->write_png =
        !app->bench && (number + 1 == app->frame_count || (app->every && (number + 1) % app->every == 0));
    for (uint32_t i = 0; i < app->bloom_level_count; i++) {
        uint32_t width = (app->width + 1) / 2 >> i, height = (app->height + 1) / 2 >> i;
        frame->bloom_levels[i] = (struct bloom_level){frame, i, width ? width : 1, height ? height : 1};
    }
    scene_frame(&app->scene, &view, &frame->data);

    frame->with_thumbnails = with_thumbnails;
    hd_graph_begin(app->graph);
    declare_resources(app, frame);
    declare_upload(frame);
    declare_geometry(frame);
    declare_async(frame);
    declare_lighting(frame);
    declare_bloom(frame, app->bloom_level_count);
    declare_picture(frame);
}
