#version 450
#extension GL_GOOGLE_include_directive : require
// The fastest motion of each tile of 16 x 16 pixels.
#include "frame.glsl"
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 1) uniform sampler2D motion_map;
layout(set = 0, binding = 2, rg16f) uniform writeonly image2D tiles;

void main()
{
    ivec2 tile = ivec2(gl_GlobalInvocationID.xy), last = ivec2(frame.size.xy) - 1;
    if (any(greaterThanEqual(tile, imageSize(tiles))))
        return;
    vec2 most = vec2(0.0);
    for (int k = 0; k < 64; k++) {
        vec2 m = texelFetch(motion_map, min(tile * 16 + 2 * ivec2(k & 7, k >> 3), last), 0).rg;
        most = dot(m, m) > dot(most, most) ? m : most;
    }
    imageStore(tiles, tile, vec4(most, 0.0, 0.0));
}
