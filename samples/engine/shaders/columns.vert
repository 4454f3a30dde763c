#version 460
#extension GL_GOOGLE_include_directive : require
/* A column of basalt: one prism an instance, lifted by its cell. The sun's view has no fragment shader. */
#include "common.glsl"

layout(push_constant) uniform push_block { uint view; };

layout(location = 0) in vec3 position;
layout(location = 1) in vec3 normal;
layout(location = 2) in vec4 cell; /* of the instance: waves.comp */

layout(location = 0) out vec3 world;
layout(location = 1) out vec3 world_normal;
layout(location = 2) out vec4 about; /* top of the column, its wave, top of the neighbours, distance from the middle */
layout(location = 3) flat out uint id;

void main()
{
    vec2 place = cell_place(gl_InstanceIndex);
    float away = cell_distance(place);
    id = hash(gl_InstanceIndex + 17u);
    about = vec4(cell.z, cell.x, cell.w, away);
    world = vec3(place.x, cell.z, place.y) + position * vec3(1.0, 1.0 + smoothstep(0.75, 1.0, away), 1.0);
    world_normal = normal;
    mat4 matrix = view < 2 ? c.view_projection[min(view, 1u)] : c.sun_matrix;
    /* What lies outside of the disc shrinks to a point. */
    gl_Position = away > 1.0 ? vec4(2.0, 2.0, 0.0, 1.0) : matrix * vec4(world, 1.0);
}
