#version 450
#extension GL_GOOGLE_include_directive : require
// The fastest motion of each tile and those around it: it may reach in.
#include "frame.glsl"
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 1) uniform sampler2D tiles;
layout(set = 0, binding = 2, rg16f) uniform writeonly image2D around;

void main()
{
    ivec2 tile = ivec2(gl_GlobalInvocationID.xy), last = imageSize(around) - 1;
    if (any(greaterThan(tile, last)))
        return;
    vec2 most = vec2(0.0);
    for (int k = 0; k < 9; k++) {
        vec2 m = texelFetch(tiles, clamp(tile + ivec2(k % 3 - 1, k / 3 - 1), ivec2(0), last), 0).rg;
        most = dot(m, m) > dot(most, most) ? m : most;
    }
    imageStore(around, tile, vec4(most, 0.0, 0.0));
}
