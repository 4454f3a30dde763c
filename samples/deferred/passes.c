#include "app.h"

#include <stddef.h>
#include <string.h>

/* What passes record: upload and drawing (one draw a mesh, all its instances at once), light, picture. */

#define bind(frame, recorder, id, ...) kit_bind(&(frame)->app->kit, recorder, &(frame)->app->programs[id], __VA_ARGS__)

void write_frame_data(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    memcpy(hd_vk_mapped(recorder, f->staging), &f->data, sizeof f->data);
}

void upload_frame_data(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    VkCommandBuffer commands = hd_vk_commands(recorder);
    VkBuffer staging = hd_vk_buffer(recorder, f->staging);
    const struct {
        hd_resource to;
        size_t from, bytes;
    } copies[] = {{f->constants, offsetof(struct frame_data, constants), sizeof f->data.constants},
                  {f->lights, offsetof(struct frame_data, lights), sizeof f->data.lights},
                  {f->instances, offsetof(struct frame_data, instances), sizeof f->data.instances}};
    for (size_t i = 0; i < sizeof copies / sizeof copies[0]; i++)
        vkCmdCopyBuffer(commands, staging, hd_vk_buffer(recorder, copies[i].to), 1,
                        &(VkBufferCopy){copies[i].from, 0, copies[i].bytes});
}

static void draw_meshes(hd_recorder *recorder, const struct frame *f, uint32_t first_mesh)
{
    const struct scene *scene = &f->app->scene;
    VkCommandBuffer commands = hd_vk_commands(recorder);
    VkBuffer buffers[2] = {hd_vk_buffer(recorder, f->vertices), hd_vk_buffer(recorder, f->instances)};
    vkCmdBindVertexBuffers(commands, 0, 2, buffers, (const VkDeviceSize[]){0, 0});
    vkCmdBindIndexBuffer(commands, hd_vk_buffer(recorder, f->indices), 0, VK_INDEX_TYPE_UINT32);
    for (uint32_t mesh = first_mesh; mesh < MESH_COUNT; mesh++) {
        uint32_t first = scene->first_instance[mesh], count = scene->first_instance[mesh + 1] - first;
        vkCmdDrawIndexed(commands, scene->meshes[mesh].index_count, count, scene->meshes[mesh].first_index, 0, first);
    }
}

void draw_shadow_map(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    bind(f, recorder, PROGRAM_SHADOW, {f->constants});
    draw_meshes(recorder, f, MESH_BOX);
}

void draw_depth(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    bind(f, recorder, PROGRAM_DEPTH, {f->constants});
    draw_meshes(recorder, f, MESH_GROUND);
}

void draw_gbuffer(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    bind(f, recorder, PROGRAM_GBUFFER, {f->constants});
    draw_meshes(recorder, f, MESH_GROUND);
}

void draw_mirror(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    bind(f, recorder, PROGRAM_MIRROR, {f->constants}, {f->lights}, {f->sun_map});
    draw_meshes(recorder, f, MESH_BOX);
}

/* Compute passes between geometry and picture. */

static void dispatch_half(hd_recorder *recorder, const struct frame *f)
{
    kit_dispatch(recorder, (f->width + 1) / 2, (f->height + 1) / 2, 8);
}

void cull_lights(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    bind(f, recorder, PROGRAM_CULL, {f->constants}, {f->lights}, {f->depth}, {f->light_masks});
    kit_dispatch(recorder, f->width, f->height, TILE);
}

void trace_occlusion(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    bind(f, recorder, PROGRAM_OCCLUSION, {f->constants}, {f->depth}, {f->normal}, {f->occlusion_noisy});
    dispatch_half(recorder, f);
}

void blur_occlusion(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    bind(f, recorder, PROGRAM_OCCLUSION_BLUR, {f->constants}, {f->depth}, {f->occlusion_noisy}, {f->occlusion});
    dispatch_half(recorder, f);
}

void march_mist(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    bind(f, recorder, PROGRAM_MIST, {f->constants}, {f->depth}, {f->sun_map}, {f->mist});
    dispatch_half(recorder, f);
}

void blur_mirror(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    bind(f, recorder, PROGRAM_GLOSS, {f->constants}, {f->depth}, {f->normal}, {f->mirror_color}, {f->reflected});
    dispatch_half(recorder, f);
}

void light_scene(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    bind(f, recorder, PROGRAM_LIGHTING, {f->constants}, {f->lights}, {f->light_masks}, {f->depth}, {f->albedo},
         {f->normal}, {f->occlusion}, {f->sun_map}, {f->reflected}, {f->mist}, {f->lit});
    kit_dispatch(recorder, f->width, f->height, 8);
}

void accumulate(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    bind(f, recorder, PROGRAM_TEMPORAL, {f->constants}, {f->lit}, {f->depth}, {f->motion}, {f->history}, {f->resolved});
    kit_dispatch(recorder, f->width, f->height, 8);
}

/* From light to the picture. */

void bloom_down(hd_recorder *recorder, void *user)
{
    const struct bloom_level *level = user;
    const struct frame *f = level->frame;
    uint32_t first = level->mip == 0;
    struct kit_arg above = {f->resolved};
    if (!first)
        above = (struct kit_arg){f->bloom, kit_mip(level->mip - 1)};
    bind(f, recorder, PROGRAM_BLOOM_DOWN, {f->constants}, above, {f->bloom, kit_mip(level->mip)});
    kit_push(recorder, &f->app->programs[PROGRAM_BLOOM_DOWN], &first, sizeof first);
    kit_dispatch(recorder, level->width, level->height, 8);
}

void bloom_up(hd_recorder *recorder, void *user)
{
    const struct bloom_level *level = user;
    const struct frame *f = level->frame;
    bind(f, recorder, PROGRAM_BLOOM_UP, {f->constants}, {f->bloom, kit_mip(level->mip + 1)},
         {f->bloom, kit_mip(level->mip)});
    kit_dispatch(recorder, level->width, level->height, 8);
}

void tonemap(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    bind(f, recorder, PROGRAM_TONEMAP, {f->constants}, {f->resolved}, {f->bloom, kit_mip(0)}, {f->picture});
    kit_dispatch(recorder, f->width, f->height, 8);
}
