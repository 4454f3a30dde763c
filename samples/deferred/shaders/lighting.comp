#version 450
#extension GL_GOOGLE_include_directive : require
// Sun, lanterns, sky and reflections on what the G-buffer holds; the sky where it holds nothing; mist over all.
#include "frame.glsl"
#include "light.glsl"
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 1, std140) uniform Lights
{
    Light lights[128];
};
layout(set = 0, binding = 2, std430) readonly buffer Masks
{
    uvec4 masks[];
};
layout(set = 0, binding = 3) uniform sampler2D depth_map;
layout(set = 0, binding = 4) uniform sampler2D albedo_map;
layout(set = 0, binding = 5) uniform sampler2D normal_map;
layout(set = 0, binding = 6) uniform sampler2D occlusion_map;
layout(set = 0, binding = 7) uniform sampler2DShadow sun_map;
layout(set = 0, binding = 8) uniform sampler2D reflected_map;
layout(set = 0, binding = 9) uniform sampler2D mist_map;
layout(set = 0, binding = 10, rgba16f) uniform writeonly image2D lit;

#include "noise.glsl"
#include "court.glsl"

float sun_shadow(vec3 p, vec3 n, vec2 pixel)
{
    float nl = max(dot(n, frame.sun.xyz), 0.0);
    vec3 s = sun_map_place(p + n * (0.025 + 0.035 * (1.0 - nl)));
    float turn = pixel_noise(pixel), sum = 0.0;
    int taps = 7 * int(frame.detail.x);
    vec2 spread = 2.4 * frame.sun.w * vec2(0.66, 1.0);
    for (int i = 0; i < taps; i++)
        sum += texture(sun_map, vec3(s.xy + disc_point(i, taps, turn) * spread, s.z + 0.0005));
    return sum / float(taps);
}

vec3 lanterns(uvec4 mask, vec3 p, vec3 n, vec3 v, vec3 albedo, vec3 f0, float roughness)
{
    vec3 sum = vec3(0.0);
    for (uint word = 0u; word < 4u; word++) {
        for (uint bits = mask[word]; bits != 0u; bits &= bits - 1u) {
            Light light = lights[word * 32u + uint(findLSB(bits))];
            vec3 to = light.place_radius.xyz - p;
            float d2 = dot(to, to), radius = light.place_radius.w;
            if (d2 < radius * radius) {
                vec3 part = shade(n, v, to * inversesqrt(d2 + 1e-6), albedo, f0, roughness);
                sum += min(part, vec3(9.0)) * light.color.rgb * falloff(d2, radius);
            }
        }
    }
    return sum;
}

vec3 evening_sky(vec3 d)
{
    vec3 color = sky(d);
    if (d.y > 0.01) { // thin clouds on a plane high above
        vec3 q = vec3(d.xz / (d.y + 0.12) * vec2(0.9, 1.7), 0.3);
        float cover = smoothstep(0.46, 0.82, cloudy(q * 1.6 + 0.6 * cloudy(q * 0.8))) * smoothstep(0.01, 0.18, d.y);
        float toward = max(dot(d, frame.sun.xyz), 0.0);
        color = mix(color, vec3(0.95, 0.62, 0.48) + vec3(0.9, 0.45, 0.2) * toward * toward, 0.55 * cover);
    }
    return color;
}

vec3 shade_pixel(ivec2 pixel, vec2 uv, float depth)
{
    vec4 a = texelFetch(albedo_map, pixel, 0), g = texelFetch(normal_map, pixel, 0);
    vec3 color = a.rgb * a.rgb;
    if (g.w > 1.0) // it glows
        return color * (g.w - 1.0);
    vec3 p = world_place(uv, depth), n = normalize(g.xyz), v = normalize(frame.eye.xyz - p);
    vec3 f0 = mix(vec3(0.04), color, a.a), albedo = color * (1.0 - a.a);
    float open = textureLod(occlusion_map, uv, 0.0).r, nv = max(dot(n, v), 1e-3);
    vec3 sum = vec3(0.0);
    if (dot(n, frame.sun.xyz) > 0.0)
        sum += shade(n, v, frame.sun.xyz, albedo, f0, max(g.w, 0.08)) * frame.sun_color.rgb *
            sun_shadow(p, n, vec2(pixel));
    uint tile = uint(pixel.y / 16) * frame.counts.z + uint(pixel.x / 16);
    sum += lanterns(masks[tile], p, n, v, albedo, f0, max(g.w, 0.12)) * (0.4 + 0.6 * open);
    float sky_part = openness(p);
    sum += albedo * ambient_light(n) * open * sky_part;
    vec3 f = f0 + (max(vec3(1.0 - g.w), f0) - f0) * fresnel_power(nv);
    if (abs(p.y) < 0.05 && n.y > 0.9 && abs(p.x) < 9.0)
        sum += textureLod(reflected_map, uv, 0.0).rgb * f * (0.5 + 0.5 * open);
    else if (g.w < 0.5)
        sum += court(p, reflect(-v, n), g.w) * f * mix(1.0, open, 0.6) * mix(1.0, sky_part, 0.7);
    else
        sum += ambient_light(reflect(-v, n)) * f * open * sky_part;
    return sum;
}

void main()
{
    ivec2 pixel = ivec2(gl_GlobalInvocationID.xy);
    if (any(greaterThanEqual(pixel, ivec2(frame.size.xy))))
        return;
    vec2 uv = (vec2(pixel) + 0.5) * frame.size.zw;
    float depth = texelFetch(depth_map, pixel, 0).r;
    vec3 color = depth > 0.0 ? shade_pixel(pixel, uv, depth) : evening_sky(view_ray(uv));
    vec2 half_texel = frame.size.zw;
    vec4 mist = vec4(0.0); // four linear taps: the mist is made at half the size, and noisy
    for (int i = 0; i < 4; i++)
        mist += 0.25 * textureLod(mist_map, uv + half_texel * vec2(2 * (i & 1) - 1, 2 * (i >> 1) - 1), 0.0);
    color = color * mist.a + mist.rgb;
    imageStore(lit, pixel, vec4(min(color, vec3(60.0)), 1.0));
}
