#include "app.h"

#include <string.h>

/* The meshes go to the device through a graph as well: the smallest one there is. */

struct load {
    struct app *app;
    hd_resource staging, vertices, indices;
    uint64_t vertex_bytes, index_bytes;
};

static void fill_staging(hd_recorder *recorder, void *user)
{
    const struct load *load = user;
    uint8_t *to = hd_vk_mapped(recorder, load->staging);
    memcpy(to, load->app->scene.store.vertices, load->vertex_bytes);
    memcpy(to + load->vertex_bytes, load->app->scene.store.indices, load->index_bytes);
}

static void copy_meshes(hd_recorder *recorder, void *user)
{
    const struct load *load = user;
    struct gpu *gpu = &load->app->gpu;
    VkCommandBuffer commands = hd_vk_commands(recorder);
    VkBuffer staging = hd_vk_buffer(recorder, load->staging);
    gpu->CmdCopyBuffer(commands, staging, hd_vk_buffer(recorder, load->vertices), 1,
                       &(VkBufferCopy){0, 0, load->vertex_bytes});
    gpu->CmdCopyBuffer(commands, staging, hd_vk_buffer(recorder, load->indices), 1,
                       &(VkBufferCopy){load->vertex_bytes, 0, load->index_bytes});
}

/* One line a thought reads better here than one line a field. */
/* clang-format off */
static hd_result run(struct app *app, hd_graph *g, struct load *load)
{
    hd_graph_begin(g);
    load->staging = hd_graph_buffer(g, &(hd_buffer_desc){.name = "staging",
        .bytes = load->vertex_bytes + load->index_bytes});
    load->vertices = hd_graph_import(g, &(hd_import_desc){.name = "vertices", .buffer = app->vertices.buffer,
        .bytes = load->vertex_bytes});
    load->indices = hd_graph_import(g, &(hd_import_desc){.name = "indices", .buffer = app->indices.buffer,
        .bytes = load->index_bytes});
    hd_graph_pass(g, &(hd_pass_desc){
        .name = "fill", .type = HD_PASS_HOST, .record = fill_staging, .user = load,
        .uses = HD_USES({load->staging, HD_HOST_WRITE}),
    });
    hd_graph_pass(g, &(hd_pass_desc){
        .name = "copy", .type = HD_PASS_TRANSFER, .record = copy_meshes, .user = load,
        .uses = HD_USES({load->staging, HD_TRANSFER_SRC}, {load->vertices, HD_TRANSFER_DST},
                        {load->indices, HD_TRANSFER_DST}),
    });
    hd_result result = hd_vk_frame(app->vk, g);
    return result == HD_OK ? hd_vk_wait(app->vk) : result;
}

/* clang-format on */

hd_result load_meshes(struct app *app)
{
    const struct mesh_store *store = &app->scene.store;
    struct load load = {.app = app,
                        .vertex_bytes = store->vertex_count * sizeof(struct vertex),
                        .index_bytes = store->index_count * sizeof(uint32_t)};
    hd_result result =
        gpu_buffer_create(&app->gpu, load.vertex_bytes,
                          VK_BUFFER_USAGE_VERTEX_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT, &app->vertices);
    if (result == HD_OK)
        result = gpu_buffer_create(&app->gpu, load.index_bytes,
                                   VK_BUFFER_USAGE_INDEX_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT, &app->indices);
    hd_graph *graph = NULL;
    if (result == HD_OK)
        result = hd_graph_create(&(hd_graph_desc){.name = "load"}, &graph);
    if (result == HD_OK)
        result = run(app, graph, &load);
    hd_graph_destroy(graph);
    return result;
}
