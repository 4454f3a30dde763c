#version 450
#extension GL_GOOGLE_include_directive : require
// Lamps, sun and sky on what the G-buffer holds. What is mirrored comes later.
#include "frame.glsl"
#include "light.glsl"
#include "sky.glsl"
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 1, std430) readonly buffer Lights
{
    Light lights[];
};
layout(set = 0, binding = 2, std430) readonly buffer Masks
{
    uint masks[];
};
layout(set = 0, binding = 3) uniform sampler2D depth_map;
layout(set = 0, binding = 4) uniform sampler2D albedo_map;
layout(set = 0, binding = 5) uniform sampler2D normal_map;
layout(set = 0, binding = 6) uniform sampler2D emission_map;
layout(set = 0, binding = 7) uniform sampler2D occlusion_map;
layout(set = 0, binding = 8) uniform sampler2DArrayShadow cascade_map;
layout(set = 0, binding = 9) uniform sampler2DShadow lamp_map;
layout(set = 0, binding = 10) uniform sampler2D sky_light;
layout(set = 0, binding = 11, std430) readonly buffer Map
{
    vec2 map[];
};
layout(set = 0, binding = 12, rgba16f) uniform writeonly image2D lit;

#include "map.glsl"

float sun_shadow(vec3 p, vec3 n, float deep, vec2 pixel)
{
    int k = deep < frame.cascade_end.x ? 0 : deep < frame.cascade_end.y ? 1 : deep < frame.cascade_end.z ? 2 : 3;
    if (deep > frame.cascade_end.w)
        return 1.0;
    float texel = 2.0 / (length(vec3(frame.cascades[k][0][0], frame.cascades[k][1][0], frame.cascades[k][2][0]))
        * float(textureSize(cascade_map, 0).x));
    vec4 s = frame.cascades[k] * vec4(p + n * texel * 1.6, 1.0);
    float turn = pixel_noise(pixel), sum = 0.0;
    int taps = int(frame.detail.z);
    for (int i = 0; i < taps; i++) {
        vec2 at = s.xy * 0.5 + 0.5 + disc_point(i, taps, turn) * 1.8 / vec2(textureSize(cascade_map, 0).xy);
        sum += texture(cascade_map, vec4(at, float(k), s.z + 0.0004));
    }
    return sum / float(taps);
}

vec3 lamps(uint at, vec3 p, vec3 n, vec3 v, vec3 albedo, vec3 f0, float roughness)
{
    vec3 sum = vec3(0.0);
    for (uint word = 0u; word < MASK_WORDS; word++) {
        for (uint bits = masks[at + word]; bits != 0u; bits &= bits - 1u) {
            Light l = lights[word * 32u + uint(findLSB(bits))];
            vec3 to = l.place.xyz - p;
            float d2 = dot(to, to);
            if (d2 >= l.place.w * l.place.w)
                continue;
            to *= inversesqrt(d2 + 1e-6);
            float part = falloff(d2, l.place.w) * cone(l, -to);
            if (l.color.w >= 0.0 && part > 0.0) {
                vec4 s = lamp_place(int(l.color.w), p + n * 0.06);
                part *= s.w > 0.0 ? textureLod(lamp_map, vec3(s.xy, s.z + 0.0012), 0.0) : 1.0;
            }
            if (part > 0.0)
                sum += shade(n, v, to, albedo, f0, roughness) * l.color.rgb * part;
        }
    }
    return sum;
}

void main()
{
    ivec2 pixel = ivec2(gl_GlobalInvocationID.xy);
    if (any(greaterThanEqual(pixel, ivec2(frame.size.xy))))
        return;
    float depth = texelFetch(depth_map, pixel, 0).r;
    if (depth <= 0.0) {
        imageStore(lit, pixel, vec4(0.0));
        return;
    }
    vec2 uv = (vec2(pixel) + 0.5) * frame.size.zw;
    vec4 a = texelFetch(albedo_map, pixel, 0), g = texelFetch(normal_map, pixel, 0);
    vec3 base = a.rgb * a.rgb, p = world_place(uv, depth), n = normalize(g.xyz), v = normalize(frame.eye.xyz - p);
    float metallic = 1.0 - a.a, roughness = g.w, deep = view_depth(depth);
    vec3 f0 = mix(vec3(0.04), base, metallic), albedo = base * (1.0 - metallic);
    float occluded = textureLod(occlusion_map, uv, 0.0).r, open = openness(p + n * 0.5);
    vec3 sum = texelFetch(emission_map, pixel, 0).rgb;
    if (dot(n, frame.sun.xyz) > 0.0)
        sum += shade(n, v, frame.sun.xyz, albedo, f0, max(roughness, 0.15)) * frame.sun_color.rgb * sun_shadow(p, n,
            deep, vec2(pixel));
    sum += lamps(cluster_at(uv, deep), p, n, v, albedo, f0, max(roughness, 0.09)) * (0.35 + 0.65 * occluded);
    vec3 sky = textureLod(sky_light, sky_place(n), 0.0).rgb * open;
    // thrown back by all the rest
    vec3 streets = vec3(0.115, 0.066, 0.034) * exp(-max(p.y, 0.0) / 10.0) * (0.75 - 0.25 * n.y);
    sum += albedo * (sky + streets) * occluded;
    imageStore(lit, pixel, vec4(min(sum, vec3(60.0)), 1.0));
}
