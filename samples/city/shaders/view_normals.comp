#version 450
#extension GL_GOOGLE_include_directive : require
// Normals and roughness: --show normals.
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 0) uniform sampler2D normal_map;
layout(set = 0, binding = 1, rgba8) uniform writeonly image2D view;

void main()
{
    ivec2 pixel = ivec2(gl_GlobalInvocationID.xy);
    if (any(greaterThanEqual(pixel, imageSize(view))))
        return;
    vec4 g = textureLod(normal_map, (vec2(pixel) + 0.5) / vec2(imageSize(view)), 0.0);
    imageStore(view, pixel, vec4((g.xyz * 0.5 + 0.5) * (0.4 + 0.6 * g.w), 1.0));
}
