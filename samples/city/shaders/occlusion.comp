#version 450
#extension GL_GOOGLE_include_directive : require
// Ambient occlusion at half the size: how far the depth buffer's neighbours rise over the tangent plane.
#include "frame.glsl"
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 1) uniform sampler2D depth_map;
layout(set = 0, binding = 2) uniform sampler2D normal_map;
layout(set = 0, binding = 3, r8) uniform writeonly image2D occlusion;

void main()
{
    ivec2 cell = ivec2(gl_GlobalInvocationID.xy);
    if (any(greaterThanEqual(cell, imageSize(occlusion))))
        return;
    ivec2 pixel = min(cell * 2, ivec2(frame.size.xy) - 1);
    float depth = texelFetch(depth_map, pixel, 0).r;
    if (depth <= 0.0) {
        imageStore(occlusion, cell, vec4(1.0));
        return;
    }
    vec2 uv = (vec2(pixel) + 0.5) * frame.size.zw;
    vec3 p = world_place(uv, depth), n = texelFetch(normal_map, pixel, 0).xyz;
    float deep = view_depth(depth), reach = 1.2 + 0.02 * deep;
    int taps = int(frame.detail.y);
    float pixels = clamp(reach * frame.planes.w / deep, 4.0, 110.0), turn = pixel_noise(vec2(cell)), sum = 0.0;
    for (int i = 0; i < taps; i++) {
        ivec2 at = pixel + ivec2(disc_point(i, taps, turn) * pixels);
        at = clamp(at, ivec2(0), ivec2(frame.size.xy) - 1);
        vec3 to = world_place((vec2(at) + 0.5) * frame.size.zw, texelFetch(depth_map, at, 0).r) - p;
        float d2 = dot(to, to), near = clamp(1.0 - d2 / (reach * reach), 0.0, 1.0);
        sum += near * max(dot(to, n) - 0.015 - 0.002 * deep, 0.0) * inversesqrt(d2 + 0.003);
    }
    float open = clamp(1.0 - 2.3 * sum / float(taps), 0.0, 1.0);
    imageStore(occlusion, cell, vec4(open));
}
