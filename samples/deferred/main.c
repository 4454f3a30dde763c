#include "app.h"

#include <stdio.h>
#include <stdlib.h>

/* deferred: a court in the evening. This file opens the kit and runs its loop; frame.c declares a frame; passes_*.c
 * record it. */

static const VkPhysicalDeviceFeatures features = {.shaderStorageImageExtendedFormats = VK_TRUE}; /* occlusion: r8 */
static const struct kit_scene scene = {
    .name = "deferred",
    .about = "A court in the evening: shadows, G-buffer, occlusion and light culling as async compute, bloom.",
    .features = &features};

static bool open_app(struct app *app)
{
    struct kit *kit = &app->kit;
    const struct mesh_store *store = &app->scene.store;
    if (kit->options.detail == 0)
        kit->options.detail = kit->discrete ? 16 : 1;
    return scene_create(&app->scene) && programs_create(app) &&
           kit_buffer_create(kit, "vertices", store->vertex_count * sizeof(struct mesh_vertex),
                             VK_BUFFER_USAGE_VERTEX_BUFFER_BIT, store->vertices, &app->vertices) &&
           kit_buffer_create(kit, "indices", store->index_count * sizeof(uint32_t), VK_BUFFER_USAGE_INDEX_BUFFER_BIT,
                             store->indices, &app->indices);
}

static void close_app(struct app *app)
{
    for (int i = 0; i < PROGRAM_COUNT; i++)
        kit_program_destroy(&app->programs[i]);
    kit_resource_destroy(&app->vertices);
    kit_resource_destroy(&app->indices);
    scene_destroy(&app->scene);
}

int main(int argc, char **argv)
{
    struct kit_options options = {0};
    struct app *app = calloc(1, sizeof *app);
    if (!app)
        return 2;
    kit_options_parse(&options, &scene, argc, argv);
    if (kit_open(&app->kit, &scene, &options) && open_app(app)) {
        while (kit_begin(&app->kit))
            kit_end(&app->kit, frame_declare(app));
        if (kit_finish(&app->kit) && !options.bench)
            printf("scene           %u instances, %u lights, %u triangles in %u meshes\n", app->scene.instance_count,
                   app->scene.light_count, app->scene.store.index_count / 3, (unsigned)MESH_COUNT);
    }
    close_app(app);
    int status = kit_close(&app->kit);
    free(app);
    return status;
}
