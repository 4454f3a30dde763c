#include "app.h"

#include "bloom_down_comp.h"
#include "bloom_up_comp.h"
#include "cull_comp.h"
#include "depth_vert.h"
#include "gbuffer_frag.h"
#include "geometry_vert.h"
#include "gloss_comp.h"
#include "lighting_comp.h"
#include "mirror_frag.h"
#include "mist_comp.h"
#include "occlusion_blur_comp.h"
#include "occlusion_comp.h"
#include "temporal_comp.h"
#include "tonemap_comp.h"

/* Locations 0 and 1 step with the vertex, 2 to 9 with the instance (struct instance is eight vec4); depth passes read
 * neither normals nor what lies behind the instance's place. */
#define INSTANCE(row)                                                                                                  \
    {                                                                                                                  \
        2 + row, 1, VK_FORMAT_R32G32B32A32_SFLOAT, row * sizeof(vec4s)                                                 \
    }
static const VkVertexInputAttributeDescription attributes[] = {{0, 0, VK_FORMAT_R32G32B32_SFLOAT, 0},
                                                               {1, 0, VK_FORMAT_R32G32B32_SFLOAT, sizeof(vec3s)},
                                                               INSTANCE(0),
                                                               INSTANCE(1),
                                                               INSTANCE(2),
                                                               INSTANCE(3),
                                                               INSTANCE(4),
                                                               INSTANCE(5),
                                                               INSTANCE(6),
                                                               INSTANCE(7)};
static const VkVertexInputBindingDescription buffers[] = {{0, sizeof(struct mesh_vertex), VK_VERTEX_INPUT_RATE_VERTEX},
                                                          {1, sizeof(struct instance), VK_VERTEX_INPUT_RATE_INSTANCE}};
static const VkPipelineVertexInputStateCreateInfo places = {
    VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO, NULL, 0, 2, buffers, 5, attributes};
static const VkPipelineVertexInputStateCreateInfo whole = {
    VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO, NULL, 0, 2, buffers, 10, attributes};

/* A constant of the vertex shaders: whose view it is. */
static const int32_t eye = 0, sun = 1, mirror = 2;

static const struct kit_program_desc programs[PROGRAM_COUNT] = {
    [PROGRAM_SHADOW] = {"u", .vertex = KIT_CODE(depth_vert), .input = &places, .depth = VK_FORMAT_D32_SFLOAT,
                        .compare = VK_COMPARE_OP_GREATER, .cull = VK_CULL_MODE_BACK_BIT,
                        .slope_bias = -1.5f, /* away from the sun: depth is reversed */
                        .constants = &sun, .constant_count = 1},
    [PROGRAM_DEPTH] = {"u", .vertex = KIT_CODE(depth_vert), .input = &places, .depth = VK_FORMAT_D32_SFLOAT,
                       .compare = VK_COMPARE_OP_GREATER, .cull = VK_CULL_MODE_BACK_BIT, .constants = &eye,
                       .constant_count = 1},
    [PROGRAM_GBUFFER] = {"u", .vertex = KIT_CODE(geometry_vert), .fragment = KIT_CODE(gbuffer_frag), .input = &whole,
                         .depth = VK_FORMAT_D32_SFLOAT, .compare = VK_COMPARE_OP_EQUAL, .keep_depth = true,
                         .cull = VK_CULL_MODE_BACK_BIT, .constants = &eye, .constant_count = 1,
                         .colors = {VK_FORMAT_R8G8B8A8_UNORM, VK_FORMAT_R16G16B16A16_SFLOAT, VK_FORMAT_R16G16_SFLOAT}},
    [PROGRAM_MIRROR] = {"uus", .vertex = KIT_CODE(geometry_vert), .fragment = KIT_CODE(mirror_frag), .input = &whole,
                        .depth = VK_FORMAT_D32_SFLOAT, .compare = VK_COMPARE_OP_GREATER, .cull = VK_CULL_MODE_BACK_BIT,
                        .front = VK_FRONT_FACE_CLOCKWISE, .constants = &mirror, .constant_count = 1,
                        .colors = {VK_FORMAT_R16G16B16A16_SFLOAT}},
    [PROGRAM_OCCLUSION] = {"unni", .compute = KIT_CODE(occlusion_comp)},
    [PROGRAM_OCCLUSION_BLUR] = {"unni", .compute = KIT_CODE(occlusion_blur_comp)},
    [PROGRAM_CULL] = {"uunb", .compute = KIT_CODE(cull_comp)},
    [PROGRAM_MIST] = {"unsi", .compute = KIT_CODE(mist_comp)},
    [PROGRAM_GLOSS] = {"unnni", .compute = KIT_CODE(gloss_comp)},
    [PROGRAM_LIGHTING] = {"uubnnnlslli", .compute = KIT_CODE(lighting_comp)},
    [PROGRAM_TEMPORAL] = {"unnnli", .compute = KIT_CODE(temporal_comp)},
    [PROGRAM_BLOOM_DOWN] = {"uli", .compute = KIT_CODE(bloom_down_comp)},
    [PROGRAM_BLOOM_UP] = {"uli", .compute = KIT_CODE(bloom_up_comp)},
    [PROGRAM_TONEMAP] = {"unli", .compute = KIT_CODE(tonemap_comp)},
};

bool programs_create(struct app *app)
{
    for (int i = 0; i < PROGRAM_COUNT; i++) {
        if (!kit_program_create(&app->kit, &programs[i], &app->programs[i]))
            return false;
    }
    return true;
}
