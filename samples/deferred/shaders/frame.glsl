// What every shader shares: the frame's constants (struct constants in scene.h), depth and noise.
layout(set = 0, binding = 0, std140) uniform Frame
{
    mat4 view_projection;
    mat4 clean_view_projection;
    mat4 last_view_projection;
    mat4 inverse_view_projection;
    mat4 mirror_view_projection;
    mat4 sun_view_projection;
    vec4 eye;
    vec4 sun;
    vec4 sun_color;
    vec4 size;
    vec4 planes;
    uvec4 counts;
    uvec4 detail;
} frame;

const float SURFACE_STONE = 1.0, SURFACE_FLOOR = 2.0, SURFACE_WATER = 3.0, SURFACE_WALL = 4.0, SURFACE_LEAVES = 5.0;

#include "view.glsl"
