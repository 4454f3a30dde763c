#version 460
#extension GL_GOOGLE_include_directive : require
/* A tile of the land. Its vertices have the height of their own and that of the surface of twice the spacing: a tile
 * goes over into the latter where a coarser one begins, and comes out of it when it is new. */
#include "common.glsl"

layout(push_constant) uniform push_block
{
    vec2 corner;
    float tile_size, since; /* frames */
};
layout(location = 0) in vec2 heights;
layout(location = 0) out vec3 world;
layout(location = 1) out vec2 uv;

const int QUADS = 32, GRID = QUADS + 3;

void main()
{
    ivec2 cell = clamp(ivec2(gl_VertexIndex % GRID, gl_VertexIndex / GRID) - 1, 0, QUADS);
    uv = vec2(cell) / float(QUADS);
    world.xz = corner + uv * tile_size;
    world.y = heights.x;
    float far = clamp((distance(world, c.eye.xyz) / tile_size - 1.9) / 0.6, 0.0, 1.0);
    world.y = mix(heights.x, heights.y, max(far, 1.0 - clamp(since / 12.0, 0.0, 1.0)));
    gl_Position = c.view_projection * vec4(world, 1.0);
}
