#include "frame.h"

/* What runs beside the drawing; light; the way to the picture. */

/* One line a thought reads better here than one line a field. */
/* clang-format off */
/* The compute queue works on tables, rain, lights and mist while the graphics queue culls and draws. */
void declare_async(hd_graph *g, struct frame *f)
{
    add_pass(g, f, &(hd_pass_desc){
        .name = "sky table", .type = HD_PASS_COMPUTE, .pin = HD_PIN_COMPUTE, .cost_us = 10, .record = make_sky,
        .user = f,
        .uses = HD_USES({f->constants, HD_UNIFORM_READ_COMPUTE}, {f->sky, HD_STORAGE_WRITE_COMPUTE}),
    });
    add_pass(g, f, &(hd_pass_desc){
        .name = "sky light", .type = HD_PASS_COMPUTE, .pin = HD_PIN_COMPUTE, .cost_us = 46,
        .record = make_sky_light, .user = f,
        .uses = HD_USES({f->constants, HD_UNIFORM_READ_COMPUTE}, {f->sky, HD_SAMPLED_COMPUTE},
                        {f->sky_light, HD_STORAGE_WRITE_COMPUTE}),
    });
    add_pass(g, f, &(hd_pass_desc){
        .name = "rain", .type = HD_PASS_COMPUTE, .pin = HD_PIN_COMPUTE, .cost_us = 4, .record = move_rain, .user = f,
        .uses = HD_USES({f->constants, HD_UNIFORM_READ_COMPUTE}, {f->drops_before, HD_STORAGE_READ_COMPUTE},
                        {f->drops, HD_STORAGE_WRITE_COMPUTE}),
    });
    add_pass(g, f, &(hd_pass_desc){
        .name = "light clusters", .type = HD_PASS_COMPUTE, .pin = HD_PIN_COMPUTE, .cost_us = 23,
        .record = assign_lights, .user = f,
        .uses = HD_USES({f->constants, HD_UNIFORM_READ_COMPUTE}, {f->lights, HD_STORAGE_READ_COMPUTE},
                        {f->masks, HD_STORAGE_WRITE_COMPUTE}),
    });
    add_pass(g, f, &(hd_pass_desc){
        .name = "inject fog", .type = HD_PASS_COMPUTE, .pin = HD_PIN_COMPUTE, .cost_us = 96,
        .record = inject_fog, .user = f,
        .uses = HD_USES({f->constants, HD_UNIFORM_READ_COMPUTE}, {f->lights, HD_STORAGE_READ_COMPUTE},
                        {f->masks, HD_STORAGE_READ_COMPUTE}, {f->lamp_map, HD_SAMPLED_COMPUTE},
                        {f->sky_light, HD_SAMPLED_COMPUTE}, {f->volume_before, HD_SAMPLED_COMPUTE},
                        {f->volume, HD_STORAGE_WRITE_COMPUTE}),
    });
    add_pass(g, f, &(hd_pass_desc){
        .name = "integrate fog", .type = HD_PASS_COMPUTE, .pin = HD_PIN_COMPUTE, .cost_us = 20,
        .record = integrate_fog, .user = f,
        .uses = HD_USES({f->constants, HD_UNIFORM_READ_COMPUTE}, {f->volume, HD_SAMPLED_COMPUTE},
                        {f->fog, HD_STORAGE_WRITE_COMPUTE}),
    });
    add_pass(g, f, &(hd_pass_desc){
        .name = "occlusion", .type = HD_PASS_COMPUTE, .pin = HD_PIN_COMPUTE, .cost_us = 47,
        .record = trace_occlusion, .user = f,
        .uses = HD_USES({f->constants, HD_UNIFORM_READ_COMPUTE}, {f->depth, HD_SAMPLED_COMPUTE},
                        {f->normal, HD_SAMPLED_COMPUTE}, {f->occlusion_noisy, HD_STORAGE_WRITE_COMPUTE}),
    });
    add_pass(g, f, &(hd_pass_desc){
        .name = "occlusion across", .type = HD_PASS_COMPUTE, .pin = HD_PIN_COMPUTE, .cost_us = 14,
        .record = blur_occlusion_across, .user = f,
        .uses = HD_USES({f->constants, HD_UNIFORM_READ_COMPUTE}, {f->depth, HD_SAMPLED_COMPUTE},
                        {f->occlusion_noisy, HD_SAMPLED_COMPUTE}, {f->occlusion_across, HD_STORAGE_WRITE_COMPUTE}),
    });
    add_pass(g, f, &(hd_pass_desc){
        .name = "occlusion down", .type = HD_PASS_COMPUTE, .pin = HD_PIN_COMPUTE, .cost_us = 10,
        .record = blur_occlusion_down, .user = f,
        .uses = HD_USES({f->constants, HD_UNIFORM_READ_COMPUTE}, {f->depth, HD_SAMPLED_COMPUTE},
                        {f->occlusion_across, HD_SAMPLED_COMPUTE}, {f->occlusion, HD_STORAGE_WRITE_COMPUTE}),
    });
}

static void declare_reflections(hd_graph *g, struct frame *f)
{
    add_pass(g, f, &(hd_pass_desc){
        .name = "reflections", .type = HD_PASS_COMPUTE, .pin = HD_PIN_GFX, .cost_us = 277,
        .record = trace_reflections, .user = f,
        .uses = HD_USES({f->constants, HD_UNIFORM_READ_COMPUTE}, {f->depth, HD_SAMPLED_COMPUTE},
                        {f->normal, HD_SAMPLED_COMPUTE}, {f->lit, HD_SAMPLED_COMPUTE}, {f->sky, HD_SAMPLED_COMPUTE},
                        {f->sky_light, HD_SAMPLED_COMPUTE}, {f->map, HD_STORAGE_READ_COMPUTE},
                        {f->mirrored, HD_STORAGE_WRITE_COMPUTE}),
    });
    add_pass(g, f, &(hd_pass_desc){
        .name = "reflections, steady", .type = HD_PASS_COMPUTE, .pin = HD_PIN_GFX, .cost_us = 33,
        .record = steady_reflections, .user = f,
        .uses = HD_USES({f->constants, HD_UNIFORM_READ_COMPUTE}, {f->mirrored, HD_SAMPLED_COMPUTE},
                        {f->motion, HD_SAMPLED_COMPUTE}, {f->normal, HD_SAMPLED_COMPUTE},
                        {f->mirrored_before, HD_SAMPLED_COMPUTE}, {f->mirrored_steady, HD_STORAGE_WRITE_COMPUTE}),
    });
    add_pass(g, f, &(hd_pass_desc){
        .name = "reflections across", .type = HD_PASS_COMPUTE, .pin = HD_PIN_GFX, .cost_us = 49,
        .record = blur_reflections_across, .user = f,
        .uses = HD_USES({f->constants, HD_UNIFORM_READ_COMPUTE}, {f->depth, HD_SAMPLED_COMPUTE},
                        {f->normal, HD_SAMPLED_COMPUTE}, {f->mirrored_steady, HD_SAMPLED_COMPUTE},
                        {f->mirrored_across, HD_STORAGE_WRITE_COMPUTE}),
    });
    add_pass(g, f, &(hd_pass_desc){
        .name = "reflections down", .type = HD_PASS_COMPUTE, .pin = HD_PIN_GFX, .cost_us = 40,
        .record = blur_reflections_down, .user = f,
        .uses = HD_USES({f->constants, HD_UNIFORM_READ_COMPUTE}, {f->depth, HD_SAMPLED_COMPUTE},
                        {f->normal, HD_SAMPLED_COMPUTE}, {f->mirrored_across, HD_SAMPLED_COMPUTE},
                        {f->mirrored_smooth, HD_STORAGE_WRITE_COMPUTE}),
    });
}

/* Three passes that blend over the scene and test its depth: heddle merges them into one rendering scope. */
static void declare_transparent(hd_graph *g, struct frame *f)
{
    add_pass(g, f, &(hd_pass_desc){
        .name = "steam", .type = HD_PASS_GFX, .cost_us = 30, .record = draw_steam, .user = f,
        .uses = HD_USES({f->depth, HD_DEPTH_READ}, {f->scene, HD_COLOR_RW}, {f->depth, HD_SAMPLED_GRAPHICS},
                        {f->constants, HD_UNIFORM_READ}, {f->lights, HD_STORAGE_READ_GRAPHICS}, {f->masks,
                            HD_STORAGE_READ_GRAPHICS}),
    });
    add_pass(g, f, &(hd_pass_desc){
        .name = "hologram", .type = HD_PASS_GFX, .cost_us = 16, .record = draw_hologram, .user = f,
        .uses = HD_USES({f->depth, HD_DEPTH_READ}, {f->scene, HD_COLOR_RW}, {f->constants, HD_UNIFORM_READ},
                        {f->knot, HD_VERTEX_READ}, {f->knot_indices, HD_INDEX_READ}),
    });
    add_pass(g, f, &(hd_pass_desc){
        .name = "drops", .type = HD_PASS_GFX, .cost_us = 60, .record = draw_rain, .user = f,
        .uses = HD_USES({f->depth, HD_DEPTH_READ}, {f->scene, HD_COLOR_RW}, {f->constants, HD_UNIFORM_READ},
                        {f->drops, HD_STORAGE_READ_GRAPHICS}, {f->fog, HD_SAMPLED_GRAPHICS}),
    });
}

void declare_light(hd_graph *g, struct frame *f)
{
    add_pass(g, f, &(hd_pass_desc){
        .name = "lighting", .type = HD_PASS_COMPUTE, .pin = HD_PIN_GFX, .cost_us = 115, .record = light_scene,
        .user = f,
        .uses = HD_USES({f->constants, HD_UNIFORM_READ_COMPUTE}, {f->lights, HD_STORAGE_READ_COMPUTE},
                        {f->masks, HD_STORAGE_READ_COMPUTE}, {f->depth, HD_SAMPLED_COMPUTE},
                        {f->albedo, HD_SAMPLED_COMPUTE}, {f->normal, HD_SAMPLED_COMPUTE},
                        {f->emission, HD_SAMPLED_COMPUTE}, {f->occlusion, HD_SAMPLED_COMPUTE},
                        {f->cascades, HD_SAMPLED_COMPUTE}, {f->lamp_map, HD_SAMPLED_COMPUTE},
                        {f->sky_light, HD_SAMPLED_COMPUTE}, {f->map, HD_STORAGE_READ_COMPUTE},
                        {f->lit, HD_STORAGE_WRITE_COMPUTE}),
    });
    add_pass(g, f, &(hd_pass_desc){
        .name = "sky", .type = HD_PASS_GFX, .cost_us = 42, .record = draw_sky, .user = f,
        .uses = HD_USES({f->depth, HD_DEPTH_READ}, {f->lit, HD_COLOR_RW}, {f->constants, HD_UNIFORM_READ},
                        {f->sky, HD_SAMPLED_GRAPHICS}),
    });
    declare_reflections(g, f);
    add_pass(g, f, &(hd_pass_desc){
        .name = "compose", .type = HD_PASS_COMPUTE, .pin = HD_PIN_GFX, .cost_us = 25, .record = compose, .user = f,
        .uses = HD_USES({f->constants, HD_UNIFORM_READ_COMPUTE}, {f->depth, HD_SAMPLED_COMPUTE},
                        {f->albedo, HD_SAMPLED_COMPUTE}, {f->normal, HD_SAMPLED_COMPUTE},
                        {f->occlusion, HD_SAMPLED_COMPUTE}, {f->lit, HD_SAMPLED_COMPUTE},
                        {f->mirrored_smooth, HD_SAMPLED_COMPUTE}, {f->fog, HD_SAMPLED_COMPUTE},
                        {f->scene, HD_STORAGE_WRITE_COMPUTE}),
    });
    declare_transparent(g, f);
}

/* Down and up again over the levels of one image: each pass names the levels that it touches, and only those. */
static void declare_bloom(hd_graph *g, struct frame *f)
{
    static const char *const down[BLOOM_LEVELS] = {"bloom down 0", "bloom down 1", "bloom down 2", "bloom down 3",
        "bloom down 4", "bloom down 5"};
    static const char *const up[BLOOM_LEVELS - 1] = {"bloom up 0", "bloom up 1", "bloom up 2", "bloom up 3",
        "bloom up 4"};
    for (uint32_t i = 0; i < BLOOM_LEVELS; i++) {
        hd_use from = {f->blurred, HD_SAMPLED_COMPUTE};
        if (i > 0)
            from = (hd_use){f->bloom, HD_SAMPLED_COMPUTE, .range = kit_mip(i - 1)};
        add_pass(g, f, &(hd_pass_desc){
            .name = down[i], .type = HD_PASS_COMPUTE, .pin = HD_PIN_COMPUTE, .cost_us = i ? 7 : 40,
            .record = bloom_down, .user = &f->bloom_steps[i],
            .uses = HD_USES({f->constants, HD_UNIFORM_READ_COMPUTE}, from,
                            {f->bloom, HD_STORAGE_WRITE_COMPUTE, .range = kit_mip(i)}),
        });
        if (i == 1) { /* before the way up changes that level */
            add_pass(g, f, &(hd_pass_desc){
                .name = "histogram", .type = HD_PASS_COMPUTE, .pin = HD_PIN_COMPUTE, .cost_us = 10,
                .record = count_brightness, .user = f,
                .uses = HD_USES({f->constants, HD_UNIFORM_READ_COMPUTE},
                                {f->bloom, HD_SAMPLED_COMPUTE, .range = kit_mip(1)}, {f->bins, HD_STORAGE_RW_COMPUTE}),
            });
        }
    }
    for (uint32_t i = BLOOM_LEVELS - 1; i-- > 0;) {
        add_pass(g, f, &(hd_pass_desc){
            .name = up[i], .type = HD_PASS_COMPUTE, .pin = HD_PIN_COMPUTE, .cost_us = i ? 6 : 16,
            .record = bloom_up, .user = &f->bloom_steps[i],
            .uses = HD_USES({f->constants, HD_UNIFORM_READ_COMPUTE},
                            {f->bloom, HD_SAMPLED_COMPUTE, .range = kit_mip(i + 1)},
                            {f->bloom, HD_STORAGE_RW_COMPUTE, .range = kit_mip(i)}),
        });
    }
}

/* No pass reads these, unless --show asks for one: then the picture is that view, and heddle culls the rest instead. */
static void declare_views(hd_graph *g, struct frame *f)
{
    add_pass(g, f, &(hd_pass_desc){
        .name = "view of depth", .type = HD_PASS_COMPUTE, .cost_us = 20, .record = view_depth, .user = f,
        .uses = HD_USES({f->constants, HD_UNIFORM_READ_COMPUTE}, {f->depth, HD_SAMPLED_COMPUTE},
                        {f->view_depth, HD_STORAGE_WRITE_COMPUTE}),
    });
    add_pass(g, f, &(hd_pass_desc){
        .name = "view of lights", .type = HD_PASS_COMPUTE, .cost_us = 30, .record = view_lights, .user = f,
        .uses = HD_USES({f->constants, HD_UNIFORM_READ_COMPUTE}, {f->masks, HD_STORAGE_READ_COMPUTE},
                        {f->depth, HD_SAMPLED_COMPUTE}, {f->view_lights, HD_STORAGE_WRITE_COMPUTE}),
    });
    add_pass(g, f, &(hd_pass_desc){
        .name = "view of normals", .type = HD_PASS_COMPUTE, .cost_us = 20, .record = view_normals, .user = f,
        .uses = HD_USES({f->normal, HD_SAMPLED_COMPUTE}, {f->view_normals, HD_STORAGE_WRITE_COMPUTE}),
    });
}

/* On the compute queue too: a queue runs in order, so passes at the end of the graphics queue would keep the next
 * frame's
 * draws from running beside them. */
void declare_picture(hd_graph *g, struct frame *f)
{
    hd_vk *vk = f->city->kit.vk;
    add_pass(g, f, &(hd_pass_desc){
        .name = "upscale", .type = HD_PASS_COMPUTE, .pin = HD_PIN_COMPUTE, .cost_us = 91, .record = upscale, .user = f,
        .uses = HD_USES({f->constants, HD_UNIFORM_READ_COMPUTE}, {f->scene, HD_SAMPLED_COMPUTE},
                        {f->depth, HD_SAMPLED_COMPUTE}, {f->motion, HD_SAMPLED_COMPUTE},
                        {f->history, HD_SAMPLED_COMPUTE}, {f->resolved, HD_STORAGE_WRITE_COMPUTE}),
    });
    add_pass(g, f, &(hd_pass_desc){
        .name = "tiles of motion", .type = HD_PASS_COMPUTE, .pin = HD_PIN_GFX, .cost_us = 14,
        .record = motion_tiles, .user = f,
        .uses = HD_USES({f->constants, HD_UNIFORM_READ_COMPUTE}, {f->motion, HD_SAMPLED_COMPUTE},
                        {f->tiles, HD_STORAGE_WRITE_COMPUTE}),
    });
    add_pass(g, f, &(hd_pass_desc){
        .name = "motion around", .type = HD_PASS_COMPUTE, .pin = HD_PIN_GFX, .cost_us = 6,
        .record = motion_around, .user = f,
        .uses = HD_USES({f->constants, HD_UNIFORM_READ_COMPUTE}, {f->tiles, HD_SAMPLED_COMPUTE},
                        {f->around, HD_STORAGE_WRITE_COMPUTE}),
    });
    add_pass(g, f, &(hd_pass_desc){
        .name = "motion blur", .type = HD_PASS_COMPUTE, .pin = HD_PIN_COMPUTE, .cost_us = 56, .record = motion_blur,
        .user = f,
        .uses = HD_USES({f->constants, HD_UNIFORM_READ_COMPUTE}, {f->resolved, HD_SAMPLED_COMPUTE},
                        {f->depth, HD_SAMPLED_COMPUTE}, {f->motion, HD_SAMPLED_COMPUTE},
                        {f->around, HD_SAMPLED_COMPUTE}, {f->blurred, HD_STORAGE_WRITE_COMPUTE}),
    });
    hd_vk_fill(vk, g, f->bins, NULL, 0, &(hd_vk_as){.name = "empty histogram", .pin = HD_PIN_COMPUTE});
    declare_bloom(g, f);
    add_pass(g, f, &(hd_pass_desc){
        .name = "exposure", .type = HD_PASS_COMPUTE, .pin = HD_PIN_COMPUTE, .cost_us = 11, .record = set_exposure,
        .user = f,
        .uses = HD_USES({f->constants, HD_UNIFORM_READ_COMPUTE}, {f->bins, HD_STORAGE_READ_COMPUTE},
                        {f->exposure_before, HD_STORAGE_READ_COMPUTE}, {f->exposure, HD_STORAGE_WRITE_COMPUTE}),
    });
    hd_vk_readback(vk, g, f->exposure, NULL, keep_exposure, f->city,
                   &(hd_vk_as){.name = "exposure back", .pin = HD_PIN_COMPUTE});
    add_pass(g, f, &(hd_pass_desc){
        .name = "tonemap", .type = HD_PASS_COMPUTE, .pin = HD_PIN_COMPUTE, .cost_us = 40,
        .root = !f->city->options.show, .record = tonemap, .user = f,
        .uses = HD_USES({f->constants, HD_UNIFORM_READ_COMPUTE}, {f->blurred, HD_SAMPLED_COMPUTE},
                        {f->bloom, HD_SAMPLED_COMPUTE, .range = kit_mip(0)}, {f->exposure, HD_STORAGE_READ_COMPUTE},
                        {f->picture, HD_STORAGE_WRITE_COMPUTE}),
    });
    if (f->city->options.overlay) {
        add_pass(g, f, &(hd_pass_desc){
            .name = "overlay", .type = HD_PASS_COMPUTE, .cost_us = 10, .root = true, .record = lay_overlay, .user = f,
            .uses = HD_USES({f->constants, HD_UNIFORM_READ_COMPUTE}, {f->sheet, HD_SAMPLED_COMPUTE},
                            {f->picture, HD_STORAGE_RW_COMPUTE}),
        });
    }
    declare_views(g, f);
}
