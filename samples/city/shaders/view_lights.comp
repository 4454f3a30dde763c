#version 450
#extension GL_GOOGLE_include_directive : require
// How many lights reach each pixel, from dark blue to white: --show lights.
#include "frame.glsl"
#include "light.glsl"
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 1, std430) readonly buffer Masks
{
    uint masks[];
};
layout(set = 0, binding = 2) uniform sampler2D depth_map;
layout(set = 0, binding = 3, rgba8) uniform writeonly image2D view;

void main()
{
    ivec2 pixel = ivec2(gl_GlobalInvocationID.xy);
    if (any(greaterThanEqual(pixel, imageSize(view))))
        return;
    vec2 uv = (vec2(pixel) + 0.5) / vec2(imageSize(view));
    uint at = cluster_at(uv, view_depth(textureLod(depth_map, uv, 0.0).r)), count = 0u;
    for (uint word = 0u; word < MASK_WORDS; word++)
        count += uint(bitCount(masks[at + word]));
    float t = float(count) / 48.0;
    imageStore(view, pixel, vec4(clamp(vec3(3.0 * t - 1.0, 3.0 * t - 2.0, 3.0 * t + 0.1), 0.0, 1.0), 1.0));
}
