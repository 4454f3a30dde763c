#version 450
#extension GL_GOOGLE_include_directive : require
// How many texels of the second bloom level are how bright: 64 steps of a third of a stop.
#include "frame.glsl"
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 1) uniform sampler2D level;
layout(set = 0, binding = 2, std430) buffer Bins
{
    uint bins[64];
};

shared uint own[64]; // of this group

void main()
{
    ivec2 pixel = ivec2(gl_GlobalInvocationID.xy);
    uint lane = gl_LocalInvocationIndex;
    own[lane] = 0u;
    barrier();
    if (all(lessThan(pixel, textureSize(level, 0)))) {
        float stops = log2(max(luminance(texelFetch(level, pixel, 0).rgb), 1e-5));
        atomicAdd(own[uint(clamp((stops + 14.0) * 3.0, 0.0, 63.0))], 1u);
    }
    barrier();
    if (own[lane] != 0u)
        atomicAdd(bins[lane], own[lane]);
}
