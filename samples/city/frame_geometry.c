#include "frame.h"

/* Uploads, culling in two phases, drawing, shadows. */

/* One line a thought reads better here than one line a field. */
/* clang-format off */
/* hd_vk_upload copies at once: what was prepared may change when the frame is declared. A pass then puts each part
 * where it belongs: frame data, a page of texture, a page of mesh. */
void declare_uploads(hd_graph *g, struct frame *f)
{
    hd_vk *vk = f->city->kit.vk;
    hd_vk_upload(vk, g, f->staging, NULL, &f->city->prepared.data, prepared_bytes(f->city),
        &(hd_vk_as){.name = "upload", .pin = HD_PIN_TRANSFER, .cost_us = 15});
    add_pass(g, f, &(hd_pass_desc){
        .name = "unpack", .type = HD_PASS_TRANSFER, .pin = HD_PIN_TRANSFER, .cost_us = 20, .record = unpack, .user = f,
        .uses = HD_USES({f->staging, HD_TRANSFER_SRC}, {f->constants, HD_TRANSFER_DST}, {f->lights, HD_TRANSFER_DST},
                        {f->movers, HD_TRANSFER_DST}, {f->page, HD_TRANSFER_DST}, {f->knot, HD_TRANSFER_DST}),
    });
    if (f->city->options.overlay)
        hd_vk_upload(vk, g, f->sheet, NULL, f->sheet_pixels, sizeof f->sheet_pixels,
            &(hd_vk_as){.name = "timeline", .pin = HD_PIN_TRANSFER, .cost_us = 10});
}

#define CULLS(f, culled)                                                                                               \
    {(f)->constants, HD_UNIFORM_READ_COMPUTE}, {(f)->statics, HD_STORAGE_READ_COMPUTE},                                \
        {(f)->movers, HD_STORAGE_READ_COMPUTE}, {(f)->chunks, HD_STORAGE_READ_COMPUTE},                                \
        {(culled).list, HD_STORAGE_WRITE_COMPUTE}, {(culled).draws, HD_STORAGE_WRITE_COMPUTE}
#define DRAWS(f, culled)                                                                                               \
    {(f)->constants, HD_UNIFORM_READ}, {(f)->statics, HD_STORAGE_READ_GRAPHICS},                                       \
        {(f)->movers, HD_STORAGE_READ_GRAPHICS}, {(f)->vertices, HD_VERTEX_READ}, {(f)->indices, HD_INDEX_READ},       \
        {(culled).list, HD_VERTEX_READ}, {(culled).draws, HD_INDIRECT_READ}

/* --cpu-draws: culling on the GPU leaves the CPU nothing to record; this is the other way. */
static void declare_cpu_draws(hd_graph *g, struct frame *f)
{
    add_pass(g, f, &(hd_pass_desc){
        .name = "draws of workers", .type = HD_PASS_GFX, .cost_us = 900, .record = draw_on_workers, .user = f,
        .splits = f->parts,
        .uses = HD_USES({f->depth, HD_DEPTH_WRITE}, {f->index, HD_COLOR_WRITE}, {f->facing, HD_COLOR_WRITE},
                        {f->constants, HD_UNIFORM_READ}, {f->statics, HD_STORAGE_READ_GRAPHICS}, {f->movers,
                            HD_STORAGE_READ_GRAPHICS},
                        {f->vertices, HD_VERTEX_READ}, {f->indices, HD_INDEX_READ}, {f->identity, HD_VERTEX_READ}),
    });
}

/* What was seen in the last frame is drawn early. A pyramid of its depth then hides what stands behind; what is left
 * and was not drawn yet is drawn late. */
static void declare_gpu_draws(hd_graph *g, struct frame *f)
{
    static const char *const levels[PYRAMID_LEVELS] = {"pyramid 0", "pyramid 1", "pyramid 2", "pyramid 3", "pyramid 4",
        "pyramid 5", "pyramid 6", "pyramid 7"};
    add_pass(g, f, &(hd_pass_desc){
        .name = "early cull", .type = HD_PASS_COMPUTE, .pin = HD_PIN_GFX, .cost_us = 28, .record = cull_early,
        .user = f,
        .uses = HD_USES(CULLS(f, f->early), {f->seen_before, HD_STORAGE_READ_COMPUTE}),
    });
    add_pass(g, f, &(hd_pass_desc){
        .name = "early draw", .type = HD_PASS_GFX, .cost_us = 700, .record = draw_early, .user = f,
        .uses = HD_USES({f->depth, HD_DEPTH_WRITE}, {f->index, HD_COLOR_WRITE}, {f->facing, HD_COLOR_WRITE}, DRAWS(f,
        f->early)),
    });
    for (uint32_t i = 0; i < f->view.pyramid[2]; i++) {
        hd_range level = kit_mip(i);
        hd_use from = {f->depth, HD_SAMPLED_COMPUTE};
        if (i > 0)
            from = (hd_use){f->pyramid, HD_SAMPLED_COMPUTE, .range = kit_mip(i - 1)};
        add_pass(g, f, &(hd_pass_desc){
            .name = levels[i], .type = HD_PASS_COMPUTE, .pin = HD_PIN_GFX, .cost_us = i ? 4.5f : 14,
            .record = build_pyramid, .user = &f->pyramid_steps[i],
            .uses = HD_USES({f->constants, HD_UNIFORM_READ_COMPUTE}, from,
                            {f->pyramid, HD_STORAGE_WRITE_COMPUTE, .range = level}),
        });
    }
    add_pass(g, f, &(hd_pass_desc){
        .name = "late cull", .type = HD_PASS_COMPUTE, .pin = HD_PIN_GFX, .cost_us = 34, .record = cull_late, .user = f,
        .uses = HD_USES(CULLS(f, f->late), {f->seen_before, HD_STORAGE_READ_COMPUTE},
                        {f->seen, HD_STORAGE_WRITE_COMPUTE}, {f->pyramid, HD_SAMPLED_COMPUTE}),
    });
    add_pass(g, f, &(hd_pass_desc){
        .name = "late draw", .type = HD_PASS_GFX, .cost_us = 40, .record = draw_late, .user = f,
        .uses = HD_USES({f->depth, HD_DEPTH_RW}, {f->index, HD_COLOR_RW}, {f->facing, HD_COLOR_RW}, DRAWS(f, f->late)),
    });
}

void declare_geometry(hd_graph *g, struct frame *f)
{
    if (f->city->options.cpu_draws)
        declare_cpu_draws(g, f);
    else
        declare_gpu_draws(g, f);
    /* Drawing left which instance each pixel shows; what that is made of is found out once a pixel. */
    add_pass(g, f, &(hd_pass_desc){
        .name = "ripples", .type = HD_PASS_COMPUTE, .pin = HD_PIN_GFX, .cost_us = 10, .record = make_ripples,
        .user = f,
        .uses = HD_USES({f->constants, HD_UNIFORM_READ_COMPUTE}, {f->ripples, HD_STORAGE_WRITE_COMPUTE}),
    });
    add_pass(g, f, &(hd_pass_desc){
        .name = "materials", .type = HD_PASS_COMPUTE, .pin = HD_PIN_GFX, .cost_us = 150, .record = fill_materials,
        .user = f,
        .uses = HD_USES({f->constants, HD_UNIFORM_READ_COMPUTE}, {f->statics, HD_STORAGE_READ_COMPUTE},
                        {f->movers, HD_STORAGE_READ_COMPUTE}, {f->depth, HD_SAMPLED_COMPUTE},
                        {f->index, HD_SAMPLED_COMPUTE}, {f->facing, HD_SAMPLED_COMPUTE},
                        {f->page, HD_SAMPLED_COMPUTE}, {f->ripples, HD_SAMPLED_COMPUTE},
                        {f->albedo, HD_STORAGE_WRITE_COMPUTE}, {f->normal, HD_STORAGE_WRITE_COMPUTE},
                        {f->emission, HD_STORAGE_WRITE_COMPUTE}, {f->motion, HD_STORAGE_WRITE_COMPUTE}),
    });
    add_pass(g, f, &(hd_pass_desc){
        .name = "decals", .type = HD_PASS_GFX, .cost_us = 75, .record = draw_decals, .user = f,
        .uses = HD_USES({f->albedo, HD_COLOR_RW}, {f->depth, HD_SAMPLED_GRAPHICS}, {f->constants, HD_UNIFORM_READ},
                        {f->decals, HD_STORAGE_READ_GRAPHICS}),
    });
}

void declare_shadows(hd_graph *g, struct frame *f)
{
    static const char *const culls[CASCADES] = {"cull cascade 0", "cull cascade 1", "cull cascade 2", "cull cascade 3"};
    static const char *const draws[CASCADES] = {"draw cascade 0", "draw cascade 1", "draw cascade 2", "draw cascade 3"};
    for (uint32_t i = 0; i < CASCADES; i++) {
        hd_range layer = {.layer_base = i, .layer_count = 1};
        add_pass(g, f, &(hd_pass_desc){
            .name = culls[i], .type = HD_PASS_COMPUTE, .cost_us = 25,
            .record = cull_cascade, .user = &f->cascade_steps[i],
            .uses = HD_USES(CULLS(f, f->cascade[i])),
        });
        add_pass(g, f, &(hd_pass_desc){
            .name = draws[i], .type = HD_PASS_GFX, .cost_us = 400,
            .record = draw_cascade, .user = &f->cascade_steps[i],
            .uses = HD_USES({f->cascades, HD_DEPTH_WRITE, .range = layer}, DRAWS(f, f->cascade[i])),
        });
    }
    add_pass(g, f, &(hd_pass_desc){
        .name = "cull lamps", .type = HD_PASS_COMPUTE, .cost_us = 27, .record = cull_lamps, .user = f,
        .uses = HD_USES(CULLS(f, f->lamp)),
    });
    add_pass(g, f, &(hd_pass_desc){
        .name = "draw lamps", .type = HD_PASS_GFX, .cost_us = 200, .record = draw_lamps, .user = f,
        .uses = HD_USES({f->lamp_map, HD_DEPTH_WRITE}, DRAWS(f, f->lamp)),
    });
}
