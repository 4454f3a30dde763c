#include "app.h"

#include <stddef.h>
#include <string.h>

/* Upload and drawing. One draw a mesh, all its instances at once. */

void write_frame_data(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    memcpy(hd_vk_mapped(recorder, f->staging), &f->data, sizeof f->data);
}

void upload_frame_data(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    struct gpu *gpu = &f->app->gpu;
    VkCommandBuffer commands = hd_vk_commands(recorder);
    VkBuffer staging = hd_vk_buffer(recorder, f->staging);
    const struct {
        hd_resource to;
        size_t from, bytes;
    } copies[] = {{f->constants, offsetof(struct frame_data, constants), sizeof f->data.constants},
                  {f->lights, offsetof(struct frame_data, lights), sizeof f->data.lights},
                  {f->instances, offsetof(struct frame_data, instances), sizeof f->data.instances}};
    for (size_t i = 0; i < sizeof copies / sizeof copies[0]; i++)
        gpu->CmdCopyBuffer(commands, staging, hd_vk_buffer(recorder, copies[i].to), 1,
                           &(VkBufferCopy){copies[i].from, 0, copies[i].bytes});
}

static void draw_meshes(hd_recorder *recorder, const struct frame *f, uint32_t first_mesh)
{
    struct gpu *gpu = &f->app->gpu;
    const struct scene *scene = &f->app->scene;
    VkCommandBuffer commands = hd_vk_commands(recorder);
    VkBuffer buffers[2] = {hd_vk_buffer(recorder, f->vertices), hd_vk_buffer(recorder, f->instances)};
    gpu->CmdBindVertexBuffers(commands, 0, 2, buffers, (const VkDeviceSize[]){0, 0});
    gpu->CmdBindIndexBuffer(commands, hd_vk_buffer(recorder, f->indices), 0, VK_INDEX_TYPE_UINT32);
    for (uint32_t mesh = first_mesh; mesh < MESH_COUNT; mesh++) {
        uint32_t first = scene->first_instance[mesh], count = scene->first_instance[mesh + 1] - first;
        gpu->CmdDrawIndexed(commands, scene->meshes[mesh].index_count, count, scene->meshes[mesh].first_index, 0,
                            first);
    }
}

void draw_shadow_map(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    if (gpu_bind(&f->app->gpu, recorder, PROGRAM_SHADOW, GPU_ARGS({f->constants})))
        draw_meshes(recorder, f, MESH_BOX);
}

void draw_depth(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    if (gpu_bind(&f->app->gpu, recorder, PROGRAM_DEPTH, GPU_ARGS({f->constants})))
        draw_meshes(recorder, f, MESH_GROUND);
}

void draw_gbuffer(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    if (gpu_bind(&f->app->gpu, recorder, PROGRAM_GBUFFER, GPU_ARGS({f->constants})))
        draw_meshes(recorder, f, MESH_GROUND);
}

void draw_mirror(hd_recorder *recorder, void *user)
{
    const struct frame *f = user;
    if (gpu_bind(&f->app->gpu, recorder, PROGRAM_MIRROR, GPU_ARGS({f->constants}, {f->lights}, {f->sun_map})))
        draw_meshes(recorder, f, MESH_BOX);
}
