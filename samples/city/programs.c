#include "city.h"

#include "bloom_down_comp.h"
#include "bloom_up_comp.h"
#include "clusters_comp.h"
#include "compose_comp.h"
#include "cull_cascade_comp.h"
#include "cull_early_comp.h"
#include "cull_lamps_comp.h"
#include "cull_late_comp.h"
#include "decal_frag.h"
#include "decal_vert.h"
#include "drops_frag.h"
#include "drops_vert.h"
#include "exposure_comp.h"
#include "fog_inject_comp.h"
#include "fog_integrate_comp.h"
#include "full_vert.h"
#include "geometry_frag.h"
#include "geometry_vert.h"
#include "histogram_comp.h"
#include "hologram_frag.h"
#include "hologram_vert.h"
#include "light_comp.h"
#include "materials_comp.h"
#include "motion_around_comp.h"
#include "motion_blur_comp.h"
#include "motion_tiles_comp.h"
#include "occlusion_blur_comp.h"
#include "occlusion_comp.h"
#include "overlay_comp.h"
#include "pyramid_comp.h"
#include "pyramid_first_comp.h"
#include "rain_comp.h"
#include "reflect_blur_comp.h"
#include "reflect_comp.h"
#include "reflect_time_comp.h"
#include "ripples_comp.h"
#include "shadow_vert.h"
#include "sky_frag.h"
#include "sky_light_comp.h"
#include "sky_table_comp.h"
#include "steam_frag.h"
#include "steam_vert.h"
#include "tonemap_comp.h"
#include "upscale_comp.h"
#include "view_depth_comp.h"
#include "view_lights_comp.h"
#include "view_normals_comp.h"

/* A vertex has a place and a normal; an instance is the index that culling left in a list. */
static const VkVertexInputBindingDescription buffers[] = {{0, sizeof(struct mesh_vertex), VK_VERTEX_INPUT_RATE_VERTEX},
                                                          {1, sizeof(uint32_t), VK_VERTEX_INPUT_RATE_INSTANCE}};
static const VkVertexInputAttributeDescription attributes[] = {{0, 0, VK_FORMAT_R32G32B32_SFLOAT, 0},
                                                               {2, 1, VK_FORMAT_R32_UINT, 0},
                                                               {1, 0, VK_FORMAT_R32G32B32_SFLOAT, sizeof(vec3s)}};
static const VkVertexInputAttributeDescription knot_attributes[] = {{0, 0, VK_FORMAT_R32G32B32_SFLOAT, 0},
                                                                    {1, 0, VK_FORMAT_R32G32B32_SFLOAT, sizeof(vec3s)}};
#define INPUT(buffer_count, attribute_array, attribute_count)                                                          \
    {                                                                                                                  \
        VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO, NULL, 0, buffer_count, buffers, attribute_count,    \
            attribute_array                                                                                            \
    }
static const VkPipelineVertexInputStateCreateInfo whole = INPUT(2, attributes, 3), places = INPUT(2, attributes, 2),
                                                  knot = INPUT(1, knot_attributes, 2);

#define SCENE_COLOR                                                                                                    \
    {                                                                                                                  \
        VK_FORMAT_R16G16B16A16_SFLOAT                                                                                  \
    }
#define COMPUTE(name, letters)                                                                                         \
    {                                                                                                                  \
        .bindings = letters, .compute = KIT_CODE(name##_comp)                                                          \
    }

static const struct kit_program_desc programs[PROGRAM_COUNT] = {
    [PROGRAM_CULL_EARLY] = COMPUTE(cull_early, "ubbbbbb"),
    [PROGRAM_CULL_LATE] = COMPUTE(cull_late, "ubbbbbbbn"),
    [PROGRAM_CULL_CASCADE] = COMPUTE(cull_cascade, "ubbbbb"),
    [PROGRAM_CULL_LAMPS] = COMPUTE(cull_lamps, "ubbbbb"),
    [PROGRAM_GEOMETRY] = {"ubb", .vertex = KIT_CODE(geometry_vert), .fragment = KIT_CODE(geometry_frag),
                          .colors = {VK_FORMAT_R32_UINT, VK_FORMAT_A2B10G10R10_UNORM_PACK32}, .input = &whole,
                          .depth = VK_FORMAT_D32_SFLOAT, .compare = VK_COMPARE_OP_GREATER,
                          .cull = VK_CULL_MODE_BACK_BIT},
    [PROGRAM_MATERIALS] = COMPUTE(materials, "ubbnnnrriiii"),
    [PROGRAM_SHADOW] = {"ubb", .vertex = KIT_CODE(shadow_vert), .input = &places, .depth = VK_FORMAT_D32_SFLOAT,
                        .compare = VK_COMPARE_OP_GREATER, .slope_bias = -1.5f}, /* away from the light */
    [PROGRAM_PYRAMID_FIRST] = COMPUTE(pyramid_first, "uni"),
    [PROGRAM_PYRAMID] = COMPUTE(pyramid, "uni"),
    [PROGRAM_DECAL] = {"ubn", .vertex = KIT_CODE(decal_vert), .fragment = KIT_CODE(decal_frag),
                       .colors = {VK_FORMAT_R8G8B8A8_UNORM}, .blend = KIT_ALPHA, .cull = VK_CULL_MODE_FRONT_BIT},
    [PROGRAM_SKY_TABLE] = COMPUTE(sky_table, "ui"),
    [PROGRAM_SKY_LIGHT] = COMPUTE(sky_light, "uli"),
    [PROGRAM_RIPPLES] = COMPUTE(ripples, "ui"),
    [PROGRAM_RAIN] = COMPUTE(rain, "ubb"),
    [PROGRAM_CLUSTERS] = COMPUTE(clusters, "ubb"),
    [PROGRAM_FOG_INJECT] = COMPUTE(fog_inject, "ubbslli"),
    [PROGRAM_FOG_INTEGRATE] = COMPUTE(fog_integrate, "uni"),
    [PROGRAM_OCCLUSION] = COMPUTE(occlusion, "unni"),
    [PROGRAM_OCCLUSION_BLUR] = COMPUTE(occlusion_blur, "unni"),
    [PROGRAM_LIGHT] = COMPUTE(light, "ubbnnnnlsslbi"),
    [PROGRAM_SKY] = {"ul", .vertex = KIT_CODE(full_vert), .fragment = KIT_CODE(sky_frag), .colors = SCENE_COLOR,
                     .depth = VK_FORMAT_D32_SFLOAT, .keep_depth = true},
    [PROGRAM_REFLECT] = COMPUTE(reflect, "unnlllbi"),
    [PROGRAM_REFLECT_TIME] = COMPUTE(reflect_time, "unnnli"),
    [PROGRAM_REFLECT_BLUR] = COMPUTE(reflect_blur, "unnni"),
    [PROGRAM_COMPOSE] = COMPUTE(compose, "unnnlnnli"),
    [PROGRAM_STEAM] = {"ubbd", .vertex = KIT_CODE(steam_vert), .fragment = KIT_CODE(steam_frag), .colors = SCENE_COLOR,
                       .blend = KIT_ALPHA, .depth = VK_FORMAT_D32_SFLOAT, .keep_depth = true,
                       .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP},
    [PROGRAM_HOLOGRAM] = {"u", .vertex = KIT_CODE(hologram_vert), .fragment = KIT_CODE(hologram_frag),
                          .colors = SCENE_COLOR, .input = &knot, .blend = KIT_ADD, .depth = VK_FORMAT_D32_SFLOAT,
                          .keep_depth = true},
    [PROGRAM_DROPS] = {"ubl", .vertex = KIT_CODE(drops_vert), .fragment = KIT_CODE(drops_frag), .colors = SCENE_COLOR,
                       .blend = KIT_ADD, .depth = VK_FORMAT_D32_SFLOAT, .keep_depth = true,
                       .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP},
    [PROGRAM_UPSCALE] = COMPUTE(upscale, "unnnli"),
    [PROGRAM_MOTION_TILES] = COMPUTE(motion_tiles, "uni"),
    [PROGRAM_MOTION_AROUND] = COMPUTE(motion_around, "uni"),
    [PROGRAM_MOTION_BLUR] = COMPUTE(motion_blur, "ulnnni"),
    [PROGRAM_BLOOM_DOWN] = COMPUTE(bloom_down, "uli"),
    [PROGRAM_BLOOM_UP] = COMPUTE(bloom_up, "uli"),
    [PROGRAM_HISTOGRAM] = COMPUTE(histogram, "unb"),
    [PROGRAM_EXPOSURE] = COMPUTE(exposure, "ubbb"),
    [PROGRAM_TONEMAP] = COMPUTE(tonemap, "unlbi"),
    [PROGRAM_OVERLAY] = COMPUTE(overlay, "uni"),
    [PROGRAM_VIEW_DEPTH] = COMPUTE(view_depth, "uni"),
    [PROGRAM_VIEW_LIGHTS] = COMPUTE(view_lights, "ubni"),
    [PROGRAM_VIEW_NORMALS] = COMPUTE(view_normals, "ni"),
};

static void create(uint32_t begin, uint32_t end, uint32_t worker, void *user)
{
    struct city *city = user;
    (void)worker;
    for (uint32_t i = begin; i < end; i++)
        kit_program_create(&city->kit, &programs[i], &city->programs[i]);
}

bool city_programs(struct city *city)
{
    hd_jobs_parallel_for(city->kit.jobs, PROGRAM_COUNT, 1, create, city);
    return city->kit.result == HD_OK;
}
