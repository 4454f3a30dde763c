#include "app.h"

/* The frame, as heddle is told of it: resources, then passes in the order in which they make sense to read. heddle
 * finds out what depends on what, which queue runs what, where the barriers stand and which images share memory.
 * Nothing here touches Vulkan; the callbacks in passes.c record the commands. */

static uint32_t bloom_levels(uint32_t width, uint32_t height)
{
    uint32_t least = (width < height ? width : height) / 2, levels = 2;
    while (levels < MAX_BLOOM_LEVELS && least >> levels >= 8)
        levels++;
    return levels;
}

static void declare_resources(struct app *app, struct frame *f)
{
    struct kit *kit = &app->kit;
    uint64_t tiles = (uint64_t)((f->width + TILE - 1) / TILE) * ((f->height + TILE - 1) / TILE);

    /* The meshes stay from frame to frame: they are the sample's own buffers. */
    f->vertices = hd_graph_import(kit->graph, &app->vertices.import);
    f->indices = hd_graph_import(kit->graph, &app->indices.import);

    f->staging = kit_buffer(kit, "staging", sizeof(struct frame_data));
    f->constants = kit_buffer(kit, "constants", sizeof(struct constants));
    f->lights = kit_buffer(kit, "lights", sizeof f->data.lights);
    f->instances = kit_buffer(kit, "instances", sizeof f->data.instances);
    f->light_masks = kit_buffer(kit, "light masks", tiles * 16);

    f->sun_map = kit_image_with(
        kit, &(hd_image_desc){
                 .name = "sun map", .width = SHADOW_SIZE, .height = SHADOW_SIZE, .format = VK_FORMAT_D32_SFLOAT});
    f->depth = kit_image(kit, "depth", 1, VK_FORMAT_D32_SFLOAT);
    f->albedo = kit_image(kit, "albedo", 1, VK_FORMAT_R8G8B8A8_UNORM);
    f->normal = kit_image(kit, "normal", 1, VK_FORMAT_R16G16B16A16_SFLOAT);
    f->motion = kit_image(kit, "motion", 1, VK_FORMAT_R16G16_SFLOAT);
    f->occlusion_noisy = kit_image(kit, "noisy occlusion", 2, VK_FORMAT_R8_UNORM);
    f->occlusion = kit_image(kit, "occlusion", 2, VK_FORMAT_R8_UNORM);
    f->mirror_color = kit_image(kit, "mirrored court", 2, VK_FORMAT_R16G16B16A16_SFLOAT);
    f->mirror_depth = kit_image(kit, "mirrored depth", 2, VK_FORMAT_D32_SFLOAT);
    f->reflected = kit_image(kit, "reflections", 2, VK_FORMAT_R16G16B16A16_SFLOAT);
    f->mist = kit_image(kit, "mist", 2, VK_FORMAT_R16G16B16A16_SFLOAT);
    f->lit = kit_image(kit, "lit", 1, VK_FORMAT_R16G16B16A16_SFLOAT);
    f->resolved = kit_image(kit, "resolved", 1, VK_FORMAT_R16G16B16A16_SFLOAT);
    f->history = hd_graph_history(kit->graph, f->resolved);
    f->bloom = kit_image_with(kit, &(hd_image_desc){.name = "bloom",
                                                    .width = f->bloom_levels[0].width,
                                                    .height = f->bloom_levels[0].height,
                                                    .format = VK_FORMAT_R16G16B16A16_SFLOAT,
                                                    .mips = bloom_levels(f->width, f->height)});
    f->picture = kit_image(kit, "picture", 1, VK_FORMAT_R8G8B8A8_UNORM);
}

static void add_pass(struct frame *f, const hd_pass_desc *desc)
{
    kit_pass(&f->app->kit, desc);
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
}

/* clang-format on */

hd_resource frame_declare(struct app *app)
{
    struct kit *kit = &app->kit;
    struct frame *f = &app->frames[kit->slot];
    struct scene_view view = {.frame = kit->number,
                              .width = kit->width,
                              .height = kit->height,
                              .shadow_size = SHADOW_SIZE,
                              .tiles_x = (kit->width + TILE - 1) / TILE,
                              .tiles_y = (kit->height + TILE - 1) / TILE,
                              .detail = kit->options.detail};
    uint32_t levels = bloom_levels(kit->width, kit->height);
    f->app = app;
    f->width = kit->width;
    f->height = kit->height;
    for (uint32_t i = 0; i < levels; i++) {
        uint32_t width = (f->width + 1) / 2 >> i, height = (f->height + 1) / 2 >> i;
        f->bloom_levels[i] = (struct bloom_level){f, i, width ? width : 1, height ? height : 1};
    }
    scene_frame(&app->scene, &view, &f->data);

    declare_resources(app, f);
    declare_upload(f);
    declare_geometry(f);
    declare_async(f);
    declare_lighting(f);
    declare_bloom(f, levels);
    declare_picture(f);
    return f->picture;
}
