#version 450
#extension GL_GOOGLE_include_directive : require
// One level down: thirteen taps; the first level weighs bright pixels less, so that none of them flickers.
#include "frame.glsl"
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 1) uniform sampler2D above;
layout(set = 0, binding = 2, rgba16f) uniform writeonly image2D level;
layout(push_constant) uniform Push
{
    uint first;
};

vec3 box(vec2 uv, vec2 a, vec2 texel)
{
    vec3 sum = vec3(0.0);
    float weights = 0.0;
    for (int k = 0; k < 4; k++) {
        vec3 c = textureLod(above, uv + (a + vec2(k & 1, k >> 1) * 2.0 - 1.0) * texel, 0.0).rgb;
        float w = first != 0u ? 1.0 / (1.0 + luminance(c)) : 1.0;
        sum += w * c;
        weights += w;
    }
    return sum / weights;
}

void main()
{
    ivec2 pixel = ivec2(gl_GlobalInvocationID.xy), size = imageSize(level);
    if (any(greaterThanEqual(pixel, size)))
        return;
    vec2 uv = (vec2(pixel) + 0.5) / vec2(size), texel = 1.0 / vec2(textureSize(above, 0));
    vec3 sum = 0.5 * box(uv, vec2(0.0), texel);
    for (int k = 0; k < 4; k++)
        sum += 0.125 * box(uv, vec2(k & 1, k >> 1) * 2.0 - 1.0, texel);
    imageStore(level, pixel, vec4(min(sum, vec3(64.0)), 1.0));
}
