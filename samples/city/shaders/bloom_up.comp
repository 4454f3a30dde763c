#version 450
#extension GL_GOOGLE_include_directive : require
#include "frame.glsl"
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 1) uniform sampler2D below;
layout(set = 0, binding = 2, rgba16f) uniform image2D level;

void main()
{
    ivec2 pixel = ivec2(gl_GlobalInvocationID.xy), size = imageSize(level);
    if (any(greaterThanEqual(pixel, size)))
        return;
    vec2 uv = (vec2(pixel) + 0.5) / vec2(size), texel = 1.0 / vec2(textureSize(below, 0));
    vec3 sum = vec3(0.0);
    for (int k = 0; k < 9; k++) {
        vec2 off = vec2(k % 3 - 1, k / 3 - 1);
        sum += textureLod(below, uv + off * texel, 0.0).rgb * (2.0 - abs(off.x)) * (2.0 - abs(off.y)) / 16.0;
    }
    imageStore(level, pixel, vec4(mix(imageLoad(level, pixel).rgb, sum, 0.55), 1.0));
}
