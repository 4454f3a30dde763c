#version 450
#extension GL_GOOGLE_include_directive : require
#include "frame.glsl"
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 1) uniform sampler2D above;
layout(set = 0, binding = 2, r32f) uniform writeonly image2D level;

void main()
{
    ivec2 cell = ivec2(gl_GlobalInvocationID.xy), last = textureSize(above, 0) - 1;
    if (any(greaterThanEqual(cell, imageSize(level))))
        return;
    ivec2 a = min(cell * 2, last), b = min(cell * 2 + 1, last);
    float far = min(min(texelFetch(above, a, 0).r, texelFetch(above, ivec2(b.x, a.y), 0).r),
        min(texelFetch(above, ivec2(a.x, b.y), 0).r, texelFetch(above, b, 0).r));
    imageStore(level, cell, vec4(far));
}
