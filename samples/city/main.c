#include "city.h"

#include <stdio.h>
#include <stdlib.h>

/* city: a city at dusk after rain, drawn as a large game draws it. The frame has about 75 passes on three queues and
 * the host; frame.c is where to begin to read. */

static struct city_options wishes;

static const struct kit_option own[] = {
    {"camera", "K", KIT_NUMBER, &wishes.camera, 0, 2, "0: down the avenue, 1: at a crossing, 2: over the roofs (0)"},
    {"instances", "N", KIT_NUMBER, &wishes.instances, 2000, 4000000, "how much is in the city (as --detail says)"},
    {"cpu-draws", NULL, KIT_FLAG, &wishes.cpu_draws, 0, 0, "20 000 draws recorded by all workers, none by the GPU"},
    {"overlay", NULL, KIT_FLAG, &wishes.overlay, 0, 0, "the frame's own queues as a timeline in the picture"},
    {"show", "WHAT", KIT_TEXT, &wishes.show, 0, 0, "depth, lights or normals in place of the picture"},
    {"unaliased", NULL, KIT_FLAG, &wishes.unaliased, 0, 0, "no two resources share memory"},
    {"gains", NULL, KIT_FLAG, &wishes.gains, 0, 0, "what queues, aliasing, workers and so on gain, as a table"},
    {0}};

/* Culling writes draws that start at any instance; occlusion and motion are stored in small formats. */
static const VkPhysicalDeviceFeatures features = {
    .multiDrawIndirect = VK_TRUE, .drawIndirectFirstInstance = VK_TRUE, .shaderStorageImageExtendedFormats = VK_TRUE};

static const struct kit_scene city_scene = {.name = "city",
                                            .about = "A city at dusk after rain.",
                                            .frames = 12,
                                            .width = 960,
                                            .height = 540,
                                            .options = own,
                                            .features = &features};

/* 20 000 instances on a CPU driver, a million on a graphics card; --detail and --instances say otherwise. */
static uint32_t instances_wanted(const struct city *city)
{
    uint32_t detail = city->kit.options.detail;
    if (city->options.cpu_draws)
        return CPU_DRAWS;
    if (city->options.instances)
        return city->options.instances;
    if (!detail)
        detail = city->kit.discrete ? 16 : 1;
    return (uint32_t)(20000.0 * pow(50.0, (double)(detail - 1) / 15.0));
}

static bool load_knot(struct city *city)
{
    uint32_t *indices = malloc(6 * KNOT_ALONG * KNOT_AROUND * sizeof *indices), count = 0;
    for (uint32_t i = 0; indices && i < KNOT_ALONG * KNOT_AROUND; i++) {
        uint32_t a = i / KNOT_AROUND * (KNOT_AROUND + 1) + i % KNOT_AROUND, b = a + KNOT_AROUND + 1;
        const uint32_t quad[6] = {a, b, b + 1, a, b + 1, a + 1};
        for (int k = 0; k < 6; k++)
            indices[count++] = quad[k];
    }
    bool good = indices ? kit_buffer_create(&city->kit, "indices of the knot", count * sizeof *indices,
                                            VK_BUFFER_USAGE_INDEX_BUFFER_BIT, indices, &city->knot_indices)
                        : kit_check(&city->kit, HD_OUT_OF_MEMORY);
    free(indices);
    return good;
}

/* 0, 1, 2, ...: the list of a scene that no culling shortens. */
static bool load_identity(struct city *city)
{
    uint32_t count = city->scene.instance_count, *list = malloc(count * sizeof *list);
    for (uint32_t i = 0; list && i < count; i++)
        list[i] = i;
    bool good = list ? kit_buffer_create(&city->kit, "all instances", count * sizeof *list,
                                         VK_BUFFER_USAGE_VERTEX_BUFFER_BIT, list, &city->identity)
                     : kit_check(&city->kit, HD_OUT_OF_MEMORY);
    free(list);
    return good;
}

static bool load(struct city *city)
{
    struct kit *kit = &city->kit;
    const struct scene *s = &city->scene;
    const VkBufferUsageFlags storage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
    return kit_buffer_create(kit, "vertices", s->store.vertex_count * sizeof(struct mesh_vertex),
                             VK_BUFFER_USAGE_VERTEX_BUFFER_BIT, s->store.vertices, &city->vertices) &&
           kit_buffer_create(kit, "indices", s->store.index_count * sizeof(uint32_t), VK_BUFFER_USAGE_INDEX_BUFFER_BIT,
                             s->store.indices, &city->indices) &&
           kit_buffer_create(kit, "instances", (uint64_t)s->static_count * sizeof(struct instance), storage, s->statics,
                             &city->statics) &&
           kit_buffer_create(kit, "chunks", (uint64_t)s->chunk_count * sizeof(struct chunk), storage, s->chunks,
                             &city->chunks) &&
           kit_buffer_create(kit, "map", MAP_SIZE * MAP_SIZE * sizeof s->map[0], storage, s->map, &city->map) &&
           kit_buffer_create(kit, "decals", sizeof s->decals, storage, s->decals, &city->decals) && load_knot(city) &&
           (!city->options.cpu_draws || load_identity(city));
}

bool city_open(struct city *city, const struct kit_options *options)
{
    if (!kit_open(&city->kit, &city_scene, options))
        return false;
    bool rich = options->detail ? options->detail > 4 : city->kit.discrete;
    city->shadow_size = 1024;
    city->lamp_size = rich ? 512 : 256;
    city->drop_count = rich ? 24000 : 8000;
    if (!scene_create(&city->scene, instances_wanted(city)))
        return kit_check(&city->kit, HD_OUT_OF_MEMORY);
    return load(city) && city_programs(city);
}

int city_close(struct city *city)
{
    struct kit_resource *resources[] = {&city->vertices, &city->indices, &city->statics,  &city->chunks,
                                        &city->map,      &city->decals,  &city->identity, &city->knot_indices};
    if (city->kit.vk)
        hd_vk_wait(city->kit.vk);
    for (uint32_t i = 0; i < PROGRAM_COUNT; i++)
        kit_program_destroy(&city->programs[i]);
    for (uint32_t i = 0; i < sizeof resources / sizeof resources[0]; i++)
        kit_resource_destroy(resources[i]);
    int status = kit_close(&city->kit);
    scene_destroy(&city->scene);
    return status;
}

int main(int argc, char **argv)
{
    struct kit_options options = {.out = "out/city"};
    kit_options_parse(&options, &city_scene, argc, argv);
    struct city *city = calloc(1, sizeof *city);
    if (!city) {
        fputs("city: no memory\n", stderr);
        return 2;
    }
    city->options = wishes;
    int status = 3;
    if (wishes.gains) {
        status = city_gains(city, &options);
        free(city);
        return status;
    }
    bool holds = true;
    if (city_open(city, &options)) {
        for (city_ahead(city); kit_begin(&city->kit); city_ahead(city))
            kit_end(&city->kit, city_frame(city));
        holds = kit_finish(&city->kit);
        if (city->kit.result == HD_OK && !options.bench)
            printf("scene           %u instances in %u chunks, %u lights, exposure %.2f\n", city->scene.instance_count,
                   city->scene.chunk_count, city->scene.lights.count, (double)city->exposure[0]);
    }
    status = city_close(city);
    free(city);
    return status == 0 && !holds ? 3 : status;
}
