#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 4) uniform writeonly image2D target;
void main()
{
    if (gl_GlobalInvocationID.x < p.width && gl_GlobalInvocationID.y < p.height)
        imageStore(target, ivec2(gl_GlobalInvocationID.xy), p.value);
}
