#version 450
#extension GL_GOOGLE_include_directive : require
// A view of the depth, for --show depth; unless it is shown no pass reads it, and heddle culls it.
#include "frame.glsl"
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 1) uniform sampler2D depth_map;
layout(set = 0, binding = 2, rgba8) uniform writeonly image2D view;

void main()
{
    ivec2 pixel = ivec2(gl_GlobalInvocationID.xy);
    if (any(greaterThanEqual(pixel, imageSize(view))))
        return;
    vec2 uv = (vec2(pixel) + 0.5) / vec2(imageSize(view));
    float d = view_depth(textureLod(depth_map, uv, 0.0).r);
    imageStore(view, pixel, vec4(vec3(1.0 - log2(1.0 + d) / 12.0), 1.0));
}
