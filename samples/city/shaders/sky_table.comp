#version 450
#extension GL_GOOGLE_include_directive : require
// The sky by direction, for whoever looks at it: once a frame instead of once a pixel.
#include "frame.glsl"
#include "sky.glsl"
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 1, rgba16f) uniform writeonly image2D table;

void main()
{
    ivec2 at = ivec2(gl_GlobalInvocationID.xy), size = imageSize(table);
    if (all(lessThan(at, size)))
        imageStore(table, at, vec4(evening_sky(sky_direction((vec2(at) + 0.5) / vec2(size))), 1.0));
}
