#version 450
#extension GL_GOOGLE_include_directive : require
// Half a frame of exposure along the fastest motion around (after McGuire): what moves as fast, or stands in front,
// counts.
#include "frame.glsl"
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 1) uniform sampler2D resolved;
layout(set = 0, binding = 2) uniform sampler2D depth_map;
layout(set = 0, binding = 3) uniform sampler2D motion_map;
layout(set = 0, binding = 4) uniform sampler2D around;
layout(set = 0, binding = 5, rgba16f) uniform writeonly image2D blurred;

void main()
{
    ivec2 pixel = ivec2(gl_GlobalInvocationID.xy);
    if (any(greaterThanEqual(pixel, ivec2(frame.out_size.xy))))
        return;
    vec2 uv = (vec2(pixel) + 0.5) * frame.out_size.zw;
    vec3 middle = texelFetch(resolved, pixel, 0).rgb;
    vec2 most = texelFetch(around, ivec2(uv * frame.size.xy) / 16, 0).rg * 0.5;
    float reach = length(most * frame.out_size.xy);
    if (reach < 0.7) {
        imageStore(blurred, pixel, vec4(middle, 1.0));
        return;
    }
    float deep = view_depth(textureLod(depth_map, uv, 0.0).r), noise = pixel_noise(vec2(pixel)) - 0.5;
    vec3 sum = middle;
    float weights = 1.0;
    for (int k = 0; k < 8; k++) {
        vec2 off = most * ((float(k) + 0.5 + noise) / 8.0 - 0.5) * 2.0 * 0.5, at = clamp(uv + off, vec2(0.0),
            vec2(1.0));
        float there = view_depth(textureLod(depth_map, at, 0.0).r);
        float own = length(textureLod(motion_map, at, 0.0).rg * 0.5 * frame.out_size.xy);
        float covers = clamp(own - length(off * frame.out_size.xy) + 1.0, 0.0, 1.0);
        float w = covers * (there < deep + 0.5 ? 1.0 : 0.35);
        sum += w * textureLod(resolved, at, 0.0).rgb;
        weights += w;
    }
    imageStore(blurred, pixel, vec4(sum / weights, 1.0));
}
