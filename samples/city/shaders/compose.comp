#version 450
#extension GL_GOOGLE_include_directive : require
// Light, mirrored light and mist together.
#include "frame.glsl"
#include "light.glsl"
#include "volume.glsl"
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 1) uniform sampler2D depth_map;
layout(set = 0, binding = 2) uniform sampler2D albedo_map;
layout(set = 0, binding = 3) uniform sampler2D normal_map;
layout(set = 0, binding = 4) uniform sampler2D occlusion_map;
layout(set = 0, binding = 5) uniform sampler2D lit;
layout(set = 0, binding = 6) uniform sampler2D mirrored;
layout(set = 0, binding = 7) uniform sampler3D fog;
layout(set = 0, binding = 8, rgba16f) uniform writeonly image2D scene;

void main()
{
    ivec2 pixel = ivec2(gl_GlobalInvocationID.xy);
    if (any(greaterThanEqual(pixel, ivec2(frame.size.xy))))
        return;
    vec2 uv = (vec2(pixel) + 0.5) * frame.size.zw;
    float depth = texelFetch(depth_map, pixel, 0).r, deep = depth > 0.0 ? view_depth(depth) : 4000.0;
    vec3 color = texelFetch(lit, pixel, 0).rgb;
    if (depth > 0.0) {
        vec4 a = texelFetch(albedo_map, pixel, 0), g = texelFetch(normal_map, pixel, 0);
        vec3 v = normalize(frame.eye.xyz - world_place(uv, depth)), base = a.rgb * a.rgb;
        vec3 f0 = mix(vec3(0.04), base, 1.0 - a.a);
        float nv = max(dot(normalize(g.xyz), v), 1e-3);
        vec3 f = f0 + (max(vec3(1.0 - g.w), f0) - f0) * fresnel_power(nv);
        color += texelFetch(mirrored, pixel, 0).rgb * f * mix(1.0, textureLod(occlusion_map, uv, 0.0).r, 0.5);
    }
    vec4 mist = textureLod(fog, vec3(uv, fog_slice(deep) - 0.5 / float(frame.volume.z)), 0.0);
    imageStore(scene, pixel, vec4(color * mist.a + mist.rgb, 1.0));
}
