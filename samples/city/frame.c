#include "frame.h"

#include <string.h>

/* The frame, as heddle is told of it. Resources are declared here, by one thread; passes in frame_geometry.c and
 * frame_light.c, in five lists that workers fill side by side. Lists join in the order of their numbers, so the frame
 * is the same with any number of workers. heddle finds out what depends on what, which queue runs what, where barriers
 * stand and which images share memory. Nothing here touches Vulkan; the callbacks in passes_*.c record the commands. */

void add_pass(hd_graph *list, const struct frame *f, const hd_pass_desc *desc)
{
    const struct pass_times *costs = f->city->costs;
    hd_pass_desc priced = *desc;
    for (uint32_t i = 0; costs && i < costs->count; i++) {
        if (strcmp(costs->names[i], desc->name) == 0)
            priced.cost_us = (float)costs->us[i];
    }
    hd_graph_pass(list, &priced);
}

static hd_resource image(struct frame *f, const char *name, uint32_t divisor, VkFormat format)
{
    return kit_image_with(&f->city->kit, &(hd_image_desc){.name = name,
                                                          .width = (f->width + divisor - 1) / divisor,
                                                          .height = (f->height + divisor - 1) / divisor,
                                                          .format = format});
}

static hd_resource sized(struct frame *f, const char *name, uint32_t width, uint32_t height, uint32_t mips,
                         VkFormat format)
{
    return kit_image_with(
        &f->city->kit,
        &(hd_image_desc){.name = name, .width = width, .height = height, .mips = mips, .format = format});
}

static hd_resource volume(struct frame *f, const char *name)
{
    return hd_graph_image(f->city->kit.graph, &(hd_image_desc){.name = name,
                                                               .width = f->view.volume[0],
                                                               .height = f->view.volume[1],
                                                               .depth = f->view.volume[2],
                                                               .format = VK_FORMAT_R16G16B16A16_SFLOAT});
}

static struct culled culled(struct frame *f, const char *list, const char *draws)
{
    const struct scene *scene = &f->city->scene;
    return (struct culled){
        kit_buffer(&f->city->kit, list, (uint64_t)scene->instance_count * sizeof(uint32_t)),
        kit_buffer(&f->city->kit, draws, (uint64_t)scene->chunk_count * sizeof(VkDrawIndexedIndirectCommand))};
}

static void declare_buffers(struct frame *f)
{
    struct city *city = f->city;
    struct kit *kit = &city->kit;
    hd_graph *g = kit->graph;
    static const char *const lists[CASCADES] = {"list of cascade 0", "list of cascade 1", "list of cascade 2",
                                                "list of cascade 3"};
    static const char *const draws[CASCADES] = {"draws of cascade 0", "draws of cascade 1", "draws of cascade 2",
                                                "draws of cascade 3"};

    /* What stays from frame to frame: the sample's own buffers. */
    f->vertices = hd_graph_import(g, &city->vertices.import);
    f->indices = hd_graph_import(g, &city->indices.import);
    f->statics = hd_graph_import(g, &city->statics.import);
    f->chunks = hd_graph_import(g, &city->chunks.import);
    f->map = hd_graph_import(g, &city->map.import);
    f->decals = hd_graph_import(g, &city->decals.import);
    f->knot_indices = hd_graph_import(g, &city->knot_indices.import);
    if (city->options.cpu_draws)
        f->identity = hd_graph_import(g, &city->identity.import);

    f->staging = kit_buffer(kit, "frame data", prepared_bytes(city));
    f->constants = kit_buffer(kit, "constants", sizeof(struct constants));
    f->lights = kit_buffer(kit, "lights", sizeof city->prepared.data.frame.lights);
    f->movers = kit_buffer(kit, "movers", city->scene.mover_first[MESH_COUNT] * sizeof(struct instance));
    f->knot = kit_buffer(kit, "knot", KNOT_VERTICES * sizeof(struct mesh_vertex));
    f->masks = kit_buffer(kit, "light masks", 16 * 9 * 24 * 32 * sizeof(uint32_t));
    f->drops = kit_buffer(kit, "drops", (uint64_t)city->drop_count * sizeof(vec4s));
    f->drops_before = hd_graph_history(g, f->drops);
    f->bins = kit_buffer(kit, "histogram", 64 * sizeof(uint32_t));
    f->exposure = kit_buffer(kit, "exposure", sizeof(vec4s));
    f->exposure_before = hd_graph_history(g, f->exposure);

    f->early = culled(f, "early list", "early draws");
    f->late = culled(f, "late list", "late draws");
    f->lamp = culled(f, "list of lamps", "draws of lamps");
    for (int i = 0; i < CASCADES; i++)
        f->cascade[i] = culled(f, lists[i], draws[i]);
    f->seen = kit_buffer(kit, "seen", (uint64_t)city->scene.instance_count * sizeof(uint32_t));
    f->seen_before = hd_graph_history(g, f->seen);
}

static void declare_images(struct frame *f)
{
    struct city *city = f->city;
    struct kit *kit = &city->kit;
    hd_graph *g = kit->graph;
    const VkFormat light = VK_FORMAT_R16G16B16A16_SFLOAT;
    f->page = sized(f, "screens", PAGE_WIDTH, PAGE_HEIGHT, 1, VK_FORMAT_R8G8B8A8_UNORM);
    f->sky = sized(f, "sky", SKY_WIDTH, SKY_HEIGHT, 1, light);
    f->sky_light = sized(f, "light of the sky", 32, 32, 1, light);
    f->ripples = sized(f, "ripples", RIPPLES, RIPPLES, 1, VK_FORMAT_R16G16_SFLOAT);
    f->volume = volume(f, "mist");
    f->volume_before = hd_graph_history(g, f->volume);
    f->fog = volume(f, "mist before the eye");
    f->occlusion_noisy = image(f, "noisy occlusion", 2, VK_FORMAT_R8_UNORM);
    f->occlusion_across = image(f, "occlusion across", 2, VK_FORMAT_R8_UNORM);
    f->occlusion = image(f, "occlusion", 2, VK_FORMAT_R8_UNORM);

    f->depth = image(f, "depth", 1, VK_FORMAT_D32_SFLOAT);
    f->index = image(f, "index", 1, VK_FORMAT_R32_UINT);
    f->facing = image(f, "facing", 1, VK_FORMAT_A2B10G10R10_UNORM_PACK32);
    f->albedo = image(f, "albedo", 1, VK_FORMAT_R8G8B8A8_UNORM);
    f->normal = image(f, "normal", 1, light);
    f->emission = image(f, "emission", 1, VK_FORMAT_B10G11R11_UFLOAT_PACK32);
    f->motion = image(f, "motion", 1, VK_FORMAT_R16G16_SFLOAT);
    f->pyramid =
        sized(f, "depth pyramid", f->view.pyramid[0], f->view.pyramid[1], f->view.pyramid[2], VK_FORMAT_R32_SFLOAT);
    f->cascades = hd_graph_image(g, &(hd_image_desc){.name = "cascades",
                                                     .width = city->shadow_size,
                                                     .height = city->shadow_size,
                                                     .layers = CASCADES,
                                                     .format = VK_FORMAT_D32_SFLOAT});
    f->lamp_map = sized(f, "atlas of lamps", 4 * city->lamp_size, 2 * city->lamp_size, 1, VK_FORMAT_D32_SFLOAT);

    f->lit = image(f, "lit", 1, light);
    f->mirrored = image(f, "mirrored", 1, light);
    f->mirrored_steady = image(f, "mirrored, steady", 1, light);
    f->mirrored_before = hd_graph_history(g, f->mirrored_steady);
    f->mirrored_across = image(f, "mirrored, across", 1, light);
    f->mirrored_smooth = image(f, "mirrored, smooth", 1, light);
    f->scene = image(f, "scene", 1, light);
    f->resolved = kit_image(kit, "resolved", 1, light);
    f->history = hd_graph_history(g, f->resolved);
    f->tiles = image(f, "tiles of motion", 16, VK_FORMAT_R16G16_SFLOAT);
    f->around = image(f, "motion around", 16, VK_FORMAT_R16G16_SFLOAT);
    f->blurred = kit_image(kit, "blurred", 1, light);
    f->bloom = sized(f, "bloom", f->bloom_steps[0].width, f->bloom_steps[0].height, BLOOM_LEVELS, light);
    f->picture = kit_image(kit, "picture", 1, VK_FORMAT_R8G8B8A8_UNORM);
    f->view_depth = kit_image(kit, "view of depth", 1, VK_FORMAT_R8G8B8A8_UNORM);
    f->view_lights = kit_image(kit, "view of lights", 1, VK_FORMAT_R8G8B8A8_UNORM);
    f->view_normals = kit_image(kit, "view of normals", 1, VK_FORMAT_R8G8B8A8_UNORM);
    if (city->options.overlay)
        f->sheet = sized(f, "timeline", SHEET_WIDTH, SHEET_HEIGHT, 1, VK_FORMAT_R8G8B8A8_UNORM);
}

static uint32_t power_below(uint32_t n)
{
    uint32_t power = 1;
    while (power * 2 <= n)
        power *= 2;
    return power;
}

/* Sizes of this frame: rendered at two thirds of the picture's. */
static void measure(struct frame *f)
{
    const struct city *city = f->city;
    const struct kit *kit = &city->kit;
    bool rich = kit->options.detail ? kit->options.detail > 4 : kit->discrete;
    f->width = (kit->width * 2 + 2) / 3;
    f->height = (kit->height * 2 + 2) / 3;
    uint32_t across = power_below(f->width), down = power_below(f->height), levels = 1;
    while (levels < PYRAMID_LEVELS && (across | down) >> levels)
        levels++;
    f->view = (struct scene_view){.frame = kit->number,
                                  .camera = city->options.camera,
                                  .width = f->width,
                                  .height = f->height,
                                  .out_width = kit->width,
                                  .out_height = kit->height,
                                  .volume = {rich ? 160 : 80, rich ? 90 : 45, rich ? 96 : 48},
                                  .pyramid = {across, down, levels},
                                  .detail = {rich ? 48 : 24, rich ? 16 : 9, rich ? 12 : 4},
                                  .shadow_size = city->shadow_size};
    for (uint32_t i = 0; i < levels; i++)
        f->pyramid_steps[i] = (struct step){f, i, across >> i ? across >> i : 1, down >> i ? down >> i : 1};
    for (uint32_t i = 0; i < CASCADES; i++)
        f->cascade_steps[i] = (struct step){f, i, city->shadow_size, city->shadow_size};
    for (uint32_t i = 0; i < BLOOM_LEVELS; i++) {
        uint32_t width = (kit->width + 1) / 2 >> i, height = (kit->height + 1) / 2 >> i;
        f->bloom_steps[i] = (struct step){f, i, width ? width : 1, height ? height : 1};
    }
    f->parts = hd_jobs_worker_count(kit->jobs);
}

static const declare_fn parts[] = {declare_geometry, declare_shadows, declare_async, declare_light, declare_picture};
enum { PARTS = sizeof parts / sizeof parts[0] };

static void declare_part(uint32_t begin, uint32_t end, uint32_t worker, void *user)
{
    struct frame *f = user;
    (void)worker;
    for (uint32_t i = begin; i < end; i++)
        parts[i](hd_graph_list(f->city->kit.graph, i), f);
}

/* --unaliased: a last pass reads every image and buffer, so that all live until then and none takes over bytes. */
static void hold_all(struct frame *f)
{
    const hd_resource images[] = {f->page,
                                  f->sky,
                                  f->sky_light,
                                  f->ripples,
                                  f->fog,
                                  f->occlusion_noisy,
                                  f->occlusion_across,
                                  f->occlusion,
                                  f->depth,
                                  f->index,
                                  f->facing,
                                  f->albedo,
                                  f->normal,
                                  f->emission,
                                  f->motion,
                                  f->pyramid,
                                  f->cascades,
                                  f->lamp_map,
                                  f->lit,
                                  f->mirrored,
                                  f->mirrored_across,
                                  f->mirrored_smooth,
                                  f->scene,
                                  f->tiles,
                                  f->around,
                                  f->blurred,
                                  f->bloom};
    hd_resource buffers[2 * (CASCADES + 3) + 4] = {f->masks, f->knot, f->lights, f->movers};
    const struct culled *c[CASCADES + 3] = {&f->early, &f->late, &f->lamp};
    hd_use uses[64];
    uint32_t count = 0, buffer_count = 4;
    for (int i = 0; i < CASCADES; i++)
        c[3 + i] = &f->cascade[i];
    for (int i = 0; i < CASCADES + 3; i++) {
        if (f->city->options.cpu_draws && i < 2)
            continue; /* no pass writes them */
        buffers[buffer_count++] = c[i]->list;
        buffers[buffer_count++] = c[i]->draws;
    }
    for (uint32_t i = 0; i < sizeof images / sizeof images[0]; i++) {
        if (!f->city->options.cpu_draws || images[i].id != f->pyramid.id)
            uses[count++] = (hd_use){images[i], HD_SAMPLED_COMPUTE};
    }
    for (uint32_t i = 0; i < buffer_count; i++)
        uses[count++] = (hd_use){buffers[i], HD_STORAGE_READ_COMPUTE};
    hd_graph_pass(
        f->city->kit.graph,
        &(hd_pass_desc){
            .name = "hold all", .type = HD_PASS_COMPUTE, .root = true, .cost_us = 1, .uses = uses, .use_count = count});
}

void city_ahead(struct city *city)
{
    struct frame *f = &city->frames[city->kit.number % KIT_SLOTS];
    f->city = city;
    measure(f);
    city_prepare(city, &f->view);
}

hd_resource city_frame(struct city *city)
{
    struct kit *kit = &city->kit;
    struct frame *f = &city->frames[kit->slot];
    f->city = city;
    measure(f);
    city_prepare(city, &f->view);
    declare_buffers(f);
    declare_images(f);
    if (city->options.overlay)
        timeline_draw(city, f->sheet_pixels);
    declare_uploads(kit->graph, f);
    hd_jobs_parallel_for(kit->jobs, PARTS, 1, declare_part, f);
    hd_graph_join(kit->graph);
    if (city->options.unaliased)
        hold_all(f);
    switch (city->options.show ? city->options.show[0] : 'p') {
    case 'd':
        return f->view_depth;
    case 'l':
        return f->view_lights;
    case 'n':
        return f->view_normals;
    default:
        return f->picture;
    }
}
