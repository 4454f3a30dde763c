#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(set = 0, binding = 1) uniform sampler2DArray stone;
layout(set = 0, binding = 2) uniform sampler2DShadow shadow_map;
layout(push_constant) uniform push_block { uint view; };

layout(location = 0) in vec3 world;
layout(location = 1) in vec3 world_normal;
layout(location = 2) in vec4 about;
layout(location = 3) flat in uint id;
layout(location = 0) out vec4 color;

float lit_by_sun(vec3 normal)
{
    vec3 place = (c.sun_matrix * vec4(world + normal * 0.06, 1.0)).xyz;
    vec2 uv = place.xy * 0.5 + 0.5, texel = 1.0 / vec2(textureSize(shadow_map, 0));
    float sum = 0.0;
    for (int i = 0; i < 4; i++)
        sum += texture(shadow_map, vec3(uv + texel * (vec2(i & 1, i >> 1) * 1.5 - 0.75), place.z + 0.001));
    return c.shadows > 0.0 ? sum * 0.25 : 1.0;
}

void main()
{
    vec3 n = normalize(world_normal);
    vec3 to_eye = c.eye[view].w > 0.0 ? c.eye[view].xyz - world : vec3(0.0, 1.0, 0.0);
    float distance_to_eye = length(to_eye);
    vec3 v = to_eye / distance_to_eye;
    float layer = float(id >> 8 & 3u);
    vec2 uv = n.y > 0.5 ? world.xz * 0.21 : vec2(atan(n.x, n.z) * 0.5 + float(id & 15u), world.y * 0.21);
    vec4 stone_here = texture(stone, vec3(uv, layer)) /* the view begins with the finest mip that has come */;
    float tint = float(id >> 12 & 255u) / 255.0;
    vec3 albedo = mix(vec3(0.030, 0.038, 0.050), vec3(0.105, 0.085, 0.080), tint * tint) * (0.25 + 1.5 * stone_here.r);
    albedo = mix(albedo, vec3(0.50, 0.27, 0.09), stone_here.b * 0.6);
    float rough = clamp(stone_here.g * 0.75, 0.12, 1.0);

    /* How deep between its neighbours this point lies. */
    float depth = about.z - world.y, open = exp2(-1.2 * max(depth + 0.15, 0.0)) * (n.y > 0.5 ? 1.0 : 0.8);
    float light = lit_by_sun(n) * max(dot(n, c.sun.xyz), 0.0);
    vec3 h = normalize(v + c.sun.xyz);
    float a2 = rough * rough * rough * rough, nh = max(dot(n, h), 0.0), d = nh * nh * (a2 - 1.0) + 1.0;
    float fresnel = 0.04 + 0.96 * pow(1.0 - max(dot(v, h), 0.0), 5.0);
    float shine = min(a2 / (3.14159 * d * d), 30.0) * fresnel * 0.25;
    vec3 sum = (albedo + shine) * light * SUN_COLOR * c.sun.w;

    vec3 ambient = mix(vec3(0.16, 0.12, 0.12), vec3(0.24, 0.32, 0.50), n.y * 0.5 + 0.5);
    sum += albedo * ambient * open * 1.3;
    vec3 mirrored = reflect(-v, n);
    float grazing = 0.03 + 0.6 * pow(1.0 - max(dot(n, v), 0.0), 5.0);
    sum += sky_color(vec3(mirrored.x, abs(mirrored.y), mirrored.z)) * grazing * (1.0 - rough) * open;

    /* Embers below: they light the walls, and more so where a wave has lifted a column out of its place. */
    float heat = 0.12 + 2.4 * smoothstep(0.15, 1.3, about.y) + 0.10 * smoothstep(0.5, 0.9, about.w);
    float ember = exp2(-2.3 * max(1.25 - depth, 0.0)) * (n.y > 0.5 ? 0.0 : 1.0);
    sum += vec3(1.0, 0.23, 0.05) * ember * heat * 4.5;
    /* Veins glow on what a wave has lifted. */
    sum += vec3(1.0, 0.45, 0.12) * stone_here.b * smoothstep(0.25, 1.0, about.y) * 7.0;

    float fog = c.eye[view].w > 0.0 ? 1.0 - exp2(-distance_to_eye * 0.010 * exp2(-0.10 * world.y)) : 0.0;
    color = vec4(mix(sum, sky_color(normalize(vec3(-v.x, max(-v.y, 0.02), -v.z))) * 0.75, clamp(fog, 0.0, 0.92)), 1.0);
}
