#version 450
#extension GL_GOOGLE_include_directive : require
// Mixes the mirrored light with that of the frame before, clamped to what stands around the pixel now.
#include "frame.glsl"
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 1) uniform sampler2D mirrored;
layout(set = 0, binding = 2) uniform sampler2D motion_map;
layout(set = 0, binding = 3) uniform sampler2D normal_map;
layout(set = 0, binding = 4) uniform sampler2D before;
layout(set = 0, binding = 5, rgba16f) uniform writeonly image2D steady;

void main()
{
    ivec2 pixel = ivec2(gl_GlobalInvocationID.xy), last = ivec2(frame.size.xy) - 1;
    if (any(greaterThan(pixel, last)))
        return;
    vec4 now = texelFetch(mirrored, pixel, 0), sum = vec4(0.0), squares = vec4(0.0);
    for (int k = 0; k < 9; k++) {
        vec4 c = texelFetch(mirrored, clamp(pixel + 2 * ivec2(k % 3 - 1, k / 3 - 1), ivec2(0), last), 0);
        sum += c;
        squares += c * c;
    }
    vec4 mean = sum / 9.0, spread = sqrt(max(squares / 9.0 - mean * mean, vec4(0.0)));
    vec2 from = (vec2(pixel) + 0.5) * frame.size.zw - texelFetch(motion_map, pixel, 0).rg;
    float roughness = texelFetch(normal_map, pixel, 0).w;
    if (frame.planes.z > 0.0 && all(greaterThan(from, vec2(0.0))) && all(lessThan(from, vec2(1.0)))) {
        vec4 old = clamp(textureLod(before, from, 0.0), mean - 1.2 * spread, mean + 1.2 * spread);
        now = mix(old, now, roughness < 0.04 ? 0.35 : 0.12);
    }
    imageStore(steady, pixel, now);
}
