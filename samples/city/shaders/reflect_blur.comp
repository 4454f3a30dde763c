#version 450
#extension GL_GOOGLE_include_directive : require
// One direction of a blur as wide as the surface is rough and what it mirrors is far; not over edges.
#include "frame.glsl"
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 1) uniform sampler2D depth_map;
layout(set = 0, binding = 2) uniform sampler2D normal_map;
layout(set = 0, binding = 3) uniform sampler2D noisy;
layout(set = 0, binding = 4, rgba16f) uniform writeonly image2D blurred;
layout(push_constant) uniform Push
{
    ivec2 way;
};

void main()
{
    ivec2 pixel = ivec2(gl_GlobalInvocationID.xy), last = ivec2(frame.size.xy) - 1;
    if (any(greaterThan(pixel, last)))
        return;
    vec4 middle = texelFetch(noisy, pixel, 0), g = texelFetch(normal_map, pixel, 0);
    float deep = view_depth(texelFetch(depth_map, pixel, 0).r);
    float wide = g.w * g.w * min(middle.w, 30.0) / (min(middle.w, 30.0) + deep) * frame.planes.w * (way.y != 0 ? 1.1
        : 0.40);
    wide = clamp(wide, 0.0, 7.0 * frame.size.y / 480.0);
    if (wide < 0.4 || g.w > 0.55) {
        imageStore(blurred, pixel, middle);
        return;
    }
    vec4 sum = vec4(0.0);
    float weights = 0.0;
    for (int k = -4; k <= 4; k++) {
        ivec2 at = pixel + ivec2(round(vec2(way) * wide * float(k) * 0.5));
        if (any(lessThan(at, ivec2(0))) || any(greaterThan(at, last)))
            continue;
        vec4 there = texelFetch(normal_map, at, 0), c = texelFetch(noisy, at, 0);
        float d = view_depth(texelFetch(depth_map, at, 0).r);
        float w = exp(-float(k * k) * 0.14) * pow(max(dot(g.xyz, there.xyz), 0.0), 12.0);
        w *= max(0.0, 1.0 - 3.0 * abs(d - deep) / deep) * max(0.0, 1.0 - 5.0 * abs(there.w - g.w));
        w /= 1.0 + luminance(c.rgb); // single bright rays would sparkle
        sum += w * c;
        weights += w;
    }
    imageStore(blurred, pixel, weights > 0.0 ? sum / weights : middle);
}
