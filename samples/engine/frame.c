#include "engine.h"

/* Step 6: the frame. To declare all of it each time is cheap: the same declaration finds its plan again, a changed one
 * (a pass is switched, a window has another size) is compiled anew. Each view is a module: it declares its own part and
 * knows nothing of the others but the resources that it is given. */

#define COLOR VK_FORMAT_R16G16B16A16_SFLOAT
#define DEPTH VK_FORMAT_D32_SFLOAT

/* ---- what all views share ---- */

static void declare_columns(struct frame *f)
{
    hd_graph *g = f->engine->graph;
    uint32_t side = f->engine->side;
    f->columns = hd_graph_buffer(g, &(hd_buffer_desc){.name = "columns", .bytes = (uint64_t)side * side * 16});
    /* What the last frame left in them. */
    f->old_columns = hd_graph_history(g, f->columns);
    hd_graph_pass(g, &(hd_pass_desc){.name = "waves",
                                     .type = HD_PASS_COMPUTE,
                                     .record = record_waves,
                                     .user = f,
                                     .uses = HD_USES({f->constants, HD_UNIFORM_READ_COMPUTE},
                                                     {f->old_columns, HD_STORAGE_READ_COMPUTE},
                                                     {f->columns, HD_STORAGE_WRITE_COMPUTE})});
}

static void declare_shadow(struct frame *f)
{
    hd_graph *g = f->engine->graph;
    f->shadow = hd_graph_image(g, &(hd_image_desc){.name = "shadow",
                                                   .width = SHADOW_SIZE,
                                                   .height = SHADOW_SIZE,
                                                   .format = DEPTH});
    /* Switched off: the map is cleared, which is no shadow, and the columns are not drawn into it. */
    hd_graph_pass(g, &(hd_pass_desc){.name = "shadow",
                                     .type = HD_PASS_GFX,
                                     .record = f->shadows ? record_shadow : NULL,
                                     .user = f,
                                     .uses = HD_USES({f->shadow, HD_DEPTH_WRITE}, {f->constants, HD_UNIFORM_READ},
                                                     {f->columns, HD_VERTEX_READ}, {f->prism, HD_VERTEX_READ})});
}

/* ---- a view ---- */

static hd_resource view_image(struct view_frame *v, const char *name, uint32_t divisor, uint32_t format,
                              uint32_t samples)
{
    return hd_graph_image(v->frame->engine->graph,
                          &(hd_image_desc){.name = name,
                                           .width = (v->width + divisor - 1) / divisor,
                                           .height = (v->height + divisor - 1) / divisor,
                                           .format = format,
                                           .samples = samples});
}

static void declare_scene(struct view_frame *v)
{
    struct frame *f = v->frame;
    v->resolved = view_image(v, "scene", 1, COLOR, 1);
    v->color = f->sampled ? view_image(v, "samples", 1, COLOR, 4) : v->resolved;
    v->depth = view_image(v, "depth", 1, DEPTH, f->sampled ? 4 : 1);
    const hd_use uses[] = {{v->color, HD_COLOR_WRITE, .load = HD_LOAD_DONT_CARE}, /* the sky covers all */
                           {v->depth, HD_DEPTH_WRITE},
                           {f->constants, HD_UNIFORM_READ},
                           {f->columns, HD_VERTEX_READ},
                           {f->prism, HD_VERTEX_READ},
                           {f->texture, HD_SAMPLED_GRAPHICS, .range = f->texture_range},
                           {f->shadow, HD_SAMPLED_GRAPHICS},
                           {v->resolved, HD_RESOLVE_WRITE, .resolve_of = v->color}};
    hd_graph_pass(f->engine->graph, &(hd_pass_desc){.name = "scene",
                                                    .type = HD_PASS_GFX,
                                                    .cost_us = 200.0f,
                                                    .record = record_scene,
                                                    .user = v,
                                                    .uses = uses,
                                                    .use_count = f->sampled ? 8 : 7});
}

/* Light that spreads and fades over several frames. Two views have one each: their histories need keys. */
static void declare_glow(struct view_frame *v)
{
    hd_graph *g = v->frame->engine->graph;
    v->glow = view_image(v, "glow", 4, COLOR, 1);
    v->old_glow = hd_graph_history_with(g, &(hd_history_desc){.of = v->glow, .key = 100 + v->index});
    hd_graph_pass(g, &(hd_pass_desc){.name = "glow",
                                     .type = HD_PASS_COMPUTE,
                                     .record = record_glow,
                                     .user = v,
                                     .uses = HD_USES({v->resolved, HD_SAMPLED_COMPUTE},
                                                     {v->old_glow, HD_SAMPLED_COMPUTE},
                                                     {v->glow, HD_STORAGE_WRITE_COMPUTE})});
}

static void keep_light(const void *data, uint64_t bytes, void *user) /* on the host queue's thread */
{
    (void)bytes;
    *(float *)user = *(const float *)data;
}

/* How bright the picture is, for the exposure of frames to come. */
static void declare_meter(struct view_frame *v)
{
    struct engine *engine = v->frame->engine;
    v->light = hd_graph_buffer(engine->graph, &(hd_buffer_desc){.name = "light", .bytes = 16});
    hd_graph_pass(engine->graph, &(hd_pass_desc){.name = "meter",
                                                 .type = HD_PASS_COMPUTE,
                                                 .record = record_meter,
                                                 .user = v,
                                                 .uses = HD_USES({v->resolved, HD_SAMPLED_COMPUTE},
                                                                 {v->light, HD_STORAGE_WRITE_COMPUTE})});
    hd_vk_readback(engine->vk, engine->graph, v->light, NULL, keep_light,
                   &v->frame->light_read[v->index],
                   &(hd_vk_as){.name = "light"});
}

static void declare_view(struct frame *f, uint32_t index)
{
    struct engine *engine = f->engine;
    struct window *window = &engine->windows[index];
    struct view_frame *v = &f->views[index];
    *v = (struct view_frame){.frame = f, .index = index, .width = window->width, .height = window->height};
    declare_scene(v);
    if (f->glow)
        declare_glow(v);
    declare_meter(v);
    v->picture = view_image(v, "picture", 1, VK_FORMAT_R8G8B8A8_UNORM, 1);
    hd_graph_pass(engine->graph, &(hd_pass_desc){.name = "tone",
                                                 .type = HD_PASS_COMPUTE,
                                                 .record = record_tone,
                                                 .user = v,
                                                 .uses = HD_USES({f->constants, HD_UNIFORM_READ_COMPUTE},
                                                                 {v->resolved, HD_SAMPLED_COMPUTE},
                                                                 {f->glow ? v->glow : v->resolved, HD_SAMPLED_COMPUTE},
                                                                 {v->picture, HD_STORAGE_WRITE_COMPUTE})});
    window_show(engine, window, v->picture);
}

/* ---- cameras ---- */

static void place_cameras(struct frame *f)
{
    struct constants *c = &f->data;
    const struct window *orbit = &f->engine->windows[0], *map = &f->engine->windows[1];
    float half = 0.5f * (float)f->engine->side * 0.9f, t = c->time * 0.11f + 0.6f;
    vec3s eye = v3(half * 0.92f * sinf(t), half * 0.36f, half * 0.92f * cosf(t));
    mat4s view = glms_lookat(eye, v3(0, -half * 0.06f, 0), v3(0, 1, 0));
    float tan_x = 0.62f, tan_y = tan_x * (float)orbit->height / (float)orbit->width;
    c->view_projection[0] = glms_mat4_mul(kit_perspective(tan_x, tan_y, 0.5f, 400.0f), view);
    c->eye[0] = (vec4s){{eye.x, eye.y, eye.z, 1}};

    eye = v3(0, 80, 0.01f);
    view = glms_lookat(eye, v3(0, 0, 0), v3(0, 0, -1));
    float span = half * 0.8f;
    c->view_projection[1] =
        glms_mat4_mul(kit_orthographic(span * (float)map->width / (float)map->height, span, 1.0f, 160.0f), view);
    c->eye[1] = (vec4s){{eye.x, eye.y, eye.z, 0}};
    for (uint32_t i = 0; i < VIEWS; i++)
        c->inverse[i] = glms_mat4_inv(c->view_projection[i]);

    vec3s sun = glms_vec3_normalize(v3(-0.72f, 0.42f, -0.55f));
    view = glms_lookat(glms_vec3_scale(sun, half * 2.0f), v3(0, 0, 0), v3(0, 1, 0));
    c->sun_matrix = glms_mat4_mul(kit_orthographic(half * 1.15f, half * 1.15f, 1.0f, half * 4.0f), view);
    c->sun = (vec4s){{sun.x, sun.y, sun.z, 5.0f}};
}

/* before: what the last frame in this slot has read back. It has finished. */
static void fill_constants(struct frame *f, const float before[VIEWS])
{
    struct engine *engine = f->engine;
    f->data.time = (float)f->number / 30.0f;
    f->data.side = engine->side;
    f->data.shadows = f->shadows;
    f->data.waves = f->waves;
    place_cameras(f);
    for (uint32_t i = 0; i < VIEWS; i++) {
        float wanted = before[i] > 0.0f ? 0.14f / before[i] : 1.0f;
        wanted = fminf(fmaxf(wanted, 0.3f), 4.0f);
        engine->exposure[i] += (wanted - engine->exposure[i]) * 0.08f;
        f->data.exposure[i] = engine->exposure[i];
    }
}

void frame_declare(struct engine *engine, struct frame *f, uint32_t number)
{
    hd_graph *g = engine->graph;
    const float light[VIEWS] = {f->light_read[0], f->light_read[1]};
    *f = (struct frame){.engine = engine,
                        .number = number,
                        .waves = engine->waves,
                        .shadows = engine->shadows,
                        .glow = engine->glow,
                        .sampled = engine->sampled};
    hd_graph_begin(g);
    streaming_declare(engine, f);
    fill_constants(f, light);
    f->constants = hd_graph_buffer(g, &(hd_buffer_desc){.name = "constants", .bytes = sizeof f->data});
    hd_vk_upload(engine->vk, g, f->constants, NULL, &f->data, sizeof f->data,
                 &(hd_vk_as){.name = "constants"});
    f->prism = hd_graph_import(g, &engine->prism.import);
    if (number == 0)
        hd_vk_upload(engine->vk, g, f->prism, NULL, engine->prism_data, engine->prism.import.bytes,
                     &(hd_vk_as){.name = "prism"});
    declare_columns(f);
    declare_shadow(f);
    for (uint32_t i = 0; i < VIEWS; i++)
        declare_view(f, i);
}
