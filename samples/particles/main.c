#include "kit.h"
#include "maths.h"

#include <stdio.h>
#include <stdlib.h>

#include "bloom_comp.h"
#include "expose_comp.h"
#include "particle_frag.h"
#include "particle_vert.h"
#include "simulate_comp.h"
#include "tonemap_comp.h"

/* particles: a strange attractor. The state of the particles is a buffer with a history. The simulation reads the state
 * of the last frame and writes this frame's; graphics draws the state of the last frame. Both only read the history, so
 * nothing orders the one behind the other: where the device has a compute queue they run side by side. */

enum { BLOOM_LEVELS = 6, PARTICLE_BYTES = 32 };

static struct {
    uint32_t count; /* of particles */
} wishes;

static const struct kit_option options_of_scene[] = {
    {"particles", "N", KIT_NUMBER, &wishes.count, 256, 16000000, "how many (1000000 on a discrete GPU, else 100000)"},
    {0}};
static const struct kit_scene scene = {.name = "particles",
                                       .about =
                                           "A strange attractor of a million particles, simulated on async compute.",
                                       .frames = 60,
                                       .width = 960,
                                       .height = 540,
                                       .options = options_of_scene};

enum { SIMULATE, DRAW, EXPOSE, BLOOM, TONEMAP, PROGRAM_COUNT };

static const VkVertexInputBindingDescription particle_buffer = {0, PARTICLE_BYTES, VK_VERTEX_INPUT_RATE_INSTANCE};
static const VkVertexInputAttributeDescription particle_members[] = {{0, 0, VK_FORMAT_R32G32B32A32_SFLOAT, 0},
                                                                     {1, 0, VK_FORMAT_R32G32B32A32_SFLOAT, 16}};
static const VkPipelineVertexInputStateCreateInfo particle_input = {
    VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO, NULL, 0, 1, &particle_buffer, 2, particle_members};
static const struct kit_program_desc programs[PROGRAM_COUNT] = {
    [SIMULATE] = {"bb", .compute = KIT_CODE(simulate_comp)},
    [DRAW] = {"", .vertex = KIT_CODE(particle_vert), .fragment = KIT_CODE(particle_frag), .input = &particle_input,
              .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP, .colors = {VK_FORMAT_R16G16B16A16_SFLOAT},
              .blend = KIT_ADD},
    [EXPOSE] = {"nni", .compute = KIT_CODE(expose_comp)},
    [BLOOM] = {"li", .compute = KIT_CODE(bloom_comp)},
    [TONEMAP] = {"nli", .compute = KIT_CODE(tonemap_comp)},
};

struct particles;
struct level {
    const struct frame *frame;
    uint32_t mip;
};

/* What the callbacks of one frame need. */
struct frame {
    struct particles *all;
    uint32_t number, width, height;
    float seconds;
    hd_resource state, last_state, light, exposed, last_exposed, bloom, picture;
    struct level levels[BLOOM_LEVELS];
};

struct particles {
    struct kit kit;
    struct kit_program programs[PROGRAM_COUNT];
    struct frame frames[KIT_SLOTS];
    uint32_t count;
};

#define bind(f, recorder, id, ...) kit_bind(&(f)->all->kit, recorder, &(f)->all->programs[id], __VA_ARGS__)

/* ---- what passes record ---- */

static void simulate(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    const struct {
        uint32_t count, frame;
        float seconds, step_seconds;
    } push = {f->all->count, f->number, f->seconds, 1.0f / 30.0f};
    bind(f, recorder, SIMULATE, {f->last_state}, {f->state});
    kit_push(recorder, &f->all->programs[SIMULATE], &push, sizeof push);
    vkCmdDispatch(hd_vk_commands(recorder), (f->all->count + 255) / 256, 1, 1);
}

/* It circles the attractor's axis of symmetry, which is up. */
static struct kit_camera camera_at(float seconds)
{
    const float turn = 0.9f + 0.06f * seconds;
    vec3s axis = glms_vec3_normalize(v3(1, 1, 1)), side = glms_vec3_normalize(glms_vec3_cross(axis, v3(0, 1, 0)));
    vec3s around =
        glms_vec3_add(glms_vec3_scale(side, cosf(turn)), glms_vec3_scale(glms_vec3_cross(axis, side), sinf(turn)));
    vec3s middle = v3(-3.8f, -3.8f, -4.1f);
    vec3s away = glms_vec3_add(glms_vec3_scale(around, 17.36f), glms_vec3_scale(axis, 21.84f));
    return (struct kit_camera){glms_vec3_add(middle, away), middle, axis, 38.0f, 0.1f, 100.0f};
}

static void draw(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    struct kit_camera camera = camera_at(f->seconds);
    const float width = (float)f->width, height = (float)f->height;
    const struct {
        mat4s view_projection;
        float size[4], lens[4];
    } push = {
        .view_projection = kit_camera_matrix(&camera, f->width, f->height, 0),
        /* the energy of one particle: as bright for any number and size */
        .size = {width, height, 0.21f * width * height / (float)f->all->count, 0.5f * height / kit_camera_tan(&camera)},
        .lens = {25.5f, 0.16f}};
    VkCommandBuffer commands = hd_vk_commands(recorder);
    kit_bind_args(&f->all->kit, recorder, &f->all->programs[DRAW], NULL, 0);
    kit_push(recorder, &f->all->programs[DRAW], &push, sizeof push);
    vkCmdBindVertexBuffers(commands, 0, 1, (VkBuffer[]){hd_vk_buffer(recorder, f->last_state)}, (VkDeviceSize[]){0});
    vkCmdDraw(commands, 4, f->all->count, 0, 0);
}

static void expose(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    const float keep = 0.84f;
    bind(f, recorder, EXPOSE, {f->light}, {f->last_exposed}, {f->exposed});
    kit_push(recorder, &f->all->programs[EXPOSE], &keep, sizeof keep);
    kit_dispatch(recorder, f->width, f->height, 8);
}

static void bloom(hd_recorder *recorder, const struct level *level, struct kit_arg from, uint32_t up)
{
    const struct frame *f = level->frame;
    const struct {
        uint32_t up;
        float scale;
    } push = {up, up ? 0.85f : 1.0f};
    bind(f, recorder, BLOOM, from, {f->bloom, kit_mip(level->mip)});
    kit_push(recorder, &f->all->programs[BLOOM], &push, sizeof push);
    kit_dispatch(recorder, (f->width + 1) / 2 >> level->mip, (f->height + 1) / 2 >> level->mip, 8);
}

static void bloom_down(hd_recorder *recorder, void *user)
{
    const struct level *level = user;
    struct kit_arg above = {level->frame->exposed};
    if (level->mip > 0)
        above = (struct kit_arg){level->frame->bloom, kit_mip(level->mip - 1)};
    bloom(recorder, level, above, 0);
}

static void bloom_up(hd_recorder *recorder, void *user)
{
    const struct level *level = user;
    bloom(recorder, level, (struct kit_arg){level->frame->bloom, kit_mip(level->mip + 1)}, 1);
}

static void tonemap(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    const float push[] = {0.6f, 0.035f};
    bind(f, recorder, TONEMAP, {f->exposed}, {f->bloom, kit_mip(0)}, {f->picture});
    kit_push(recorder, &f->all->programs[TONEMAP], push, sizeof push);
    kit_dispatch(recorder, f->width, f->height, 8);
}

/* ---- the frame ---- */

/* clang-format off */
static void declare_bloom(struct kit *kit, struct frame *f)
{
    static const char *const down[] = {"bloom down 0", "bloom down 1", "bloom down 2", "bloom down 3", "bloom down 4",
        "bloom down 5"};
    static const char *const up[] = {"bloom up 0", "bloom up 1", "bloom up 2", "bloom up 3", "bloom up 4"};
    for (uint32_t i = 0; i < BLOOM_LEVELS; i++) {
        hd_use from = {f->exposed, HD_SAMPLED_COMPUTE};
        if (i > 0)
            from = (hd_use){f->bloom, HD_SAMPLED_COMPUTE, .range = kit_mip(i - 1)};
        f->levels[i] = (struct level){f, i};
        kit_pass(kit, &(hd_pass_desc){
            .name = down[i], .type = HD_PASS_COMPUTE, .cost_us = 10, .record = bloom_down, .user = &f->levels[i],
            .uses = HD_USES(from, {f->bloom, HD_STORAGE_WRITE_COMPUTE, .range = kit_mip(i)}),
        });
    }
    for (uint32_t i = BLOOM_LEVELS - 1; i-- > 0;)
        kit_pass(kit, &(hd_pass_desc){
            .name = up[i], .type = HD_PASS_COMPUTE, .cost_us = 10, .record = bloom_up, .user = &f->levels[i],
            .uses = HD_USES({f->bloom, HD_SAMPLED_COMPUTE, .range = kit_mip(i + 1)},
                            {f->bloom, HD_STORAGE_RW_COMPUTE, .range = kit_mip(i)}),
        });
}

static hd_resource declare(struct particles *all)
{
    struct kit *kit = &all->kit;
    struct frame *f = &all->frames[kit->slot];
    *f = (struct frame){.all = all, .number = kit->number, .width = kit->width, .height = kit->height,
                        .seconds = kit->seconds};
    f->state = kit_buffer(kit, "state", (uint64_t)all->count * PARTICLE_BYTES);
    f->last_state = hd_graph_history(kit->graph, f->state);
    f->light = kit_image(kit, "light", 1, VK_FORMAT_R16G16B16A16_SFLOAT);
    f->exposed = kit_image(kit, "exposed", 1, VK_FORMAT_R16G16B16A16_SFLOAT);
    f->last_exposed = hd_graph_history(kit->graph, f->exposed);
    f->bloom = kit_image_with(kit, &(hd_image_desc){.name = "bloom", .width = (kit->width + 1) / 2,
        .height = (kit->height + 1) / 2, .format = VK_FORMAT_R16G16B16A16_SFLOAT, .mips = BLOOM_LEVELS});
    f->picture = kit_image(kit, "picture", 1, VK_FORMAT_R8G8B8A8_UNORM);

    kit_pass(kit, &(hd_pass_desc){
        .name = "simulate", .type = HD_PASS_COMPUTE, .pin = HD_PIN_COMPUTE, .cost_us = 300,
        .record = simulate, .user = f,
        .uses = HD_USES({f->last_state, HD_STORAGE_READ_COMPUTE}, {f->state, HD_STORAGE_WRITE_COMPUTE}),
    });
    kit_pass(kit, &(hd_pass_desc){
        .name = "draw", .type = HD_PASS_GFX, .cost_us = 500, .record = draw, .user = f,
        .uses = HD_USES({f->last_state, HD_VERTEX_READ}, {f->light, HD_COLOR_WRITE}),
    });
    kit_pass(kit, &(hd_pass_desc){
        .name = "expose", .type = HD_PASS_COMPUTE, .cost_us = 40, .record = expose, .user = f,
        .uses = HD_USES({f->light, HD_SAMPLED_COMPUTE}, {f->last_exposed, HD_SAMPLED_COMPUTE},
                        {f->exposed, HD_STORAGE_WRITE_COMPUTE}),
    });
    declare_bloom(kit, f);
    kit_pass(kit, &(hd_pass_desc){
        .name = "tonemap", .type = HD_PASS_COMPUTE, .root = true, .cost_us = 40, .record = tonemap, .user = f,
        .uses = HD_USES({f->exposed, HD_SAMPLED_COMPUTE}, {f->bloom, HD_SAMPLED_COMPUTE, .range = kit_mip(0)},
                        {f->picture, HD_STORAGE_WRITE_COMPUTE}),
    });
    return f->picture;
}
/* clang-format on */

static bool open_scene(struct particles *all)
{
    all->count = wishes.count ? wishes.count : all->kit.discrete ? 1000000 : 100000;
    for (int i = 0; i < PROGRAM_COUNT; i++) {
        if (!kit_program_create(&all->kit, &programs[i], &all->programs[i]))
            return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    struct kit_options options = {0};
    struct particles *all = calloc(1, sizeof *all);
    if (!all)
        return 2;
    kit_options_parse(&options, &scene, argc, argv);
    if (kit_open(&all->kit, &scene, &options) && open_scene(all)) {
        while (kit_begin(&all->kit))
            kit_end(&all->kit, declare(all));
        if (kit_finish(&all->kit) && !options.bench) {
            printf("particles       %u\n", all->count);
            kit_print_timeline(&all->kit, 0);
        }
    }
    for (int i = 0; i < PROGRAM_COUNT; i++)
        kit_program_destroy(&all->programs[i]);
    int status = kit_close(&all->kit);
    free(all);
    return status;
}
