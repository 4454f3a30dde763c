#version 450
#extension GL_GOOGLE_include_directive : require
// The pyramid's first level: the farthest depth of the pixels that a texel covers, in part or as a whole.
#include "frame.glsl"
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 1) uniform sampler2D depth_map;
layout(set = 0, binding = 2, r32f) uniform writeonly image2D level;

void main()
{
    ivec2 cell = ivec2(gl_GlobalInvocationID.xy), size = ivec2(frame.pyramid.xy), last = ivec2(frame.size.xy) - 1;
    if (any(greaterThanEqual(cell, size)))
        return;
    ivec2 a = cell * (last + 1) / size, b = min(((cell + 1) * (last + 1) + size - 1) / size - 1, last);
    float far = 1.0;
    for (int y = a.y; y <= b.y; y++) {
        for (int x = a.x; x <= b.x; x++)
            far = min(far, texelFetch(depth_map, ivec2(x, y), 0).r);
    }
    imageStore(level, cell, vec4(far));
}
