#version 450
#extension GL_GOOGLE_include_directive : require
// What each pixel is made of, from the instance that it shows. Albedo as its square root, with 1 - metallic; normal and
// roughness; light of its own; motion in uv from the last frame to this one.
#include "frame.glsl"
#include "instance.glsl"
#include "facade.glsl"
#include "ground.glsl"
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 3) uniform sampler2D depth_map;
layout(set = 0, binding = 4) uniform usampler2D index_map;
layout(set = 0, binding = 5) uniform sampler2D facing_map;
layout(set = 0, binding = 6) uniform sampler2D page;    // what the screens show
layout(set = 0, binding = 7) uniform sampler2D ripples; // slopes of water in the rain, over 4 metres
layout(set = 0, binding = 8, rgba8) uniform writeonly image2D out_albedo;
layout(set = 0, binding = 9, rgba16f) uniform writeonly image2D out_normal;
layout(set = 0, binding = 10, r11f_g11f_b10f) uniform writeonly image2D out_emission;
layout(set = 0, binding = 11, rg16f) uniform writeonly image2D out_motion;

struct Matter {
    vec3 albedo;
    float metallic;
    vec3 normal;
    float roughness;
    vec3 emission;
};

void wall(inout Matter m, uint kind, uint style, uint seed, vec3 p, vec3 ray, float footprint)
{
    if (abs(m.normal.y) > 0.5) { // the roof: wet felt and gravel
        float c = cloudy(p.xz * 0.4);
        m.albedo = vec3(0.07, 0.07, 0.075) * (0.6 + 0.8 * c);
        m.roughness = mix(0.55, 0.05, smoothstep(0.5, 0.6, c));
        return;
    }
    vec3 along = abs(m.normal.x) > 0.5 ? vec3(0.0, 0.0, 1.0) : vec3(1.0, 0.0, 0.0);
    vec3 in_wall = vec3(dot(ray, along), ray.y, -dot(ray, m.normal));
    float u = dot(p, along);
    Wall w = kind == SHOP ? shop_at(u, p.y, in_wall, seed, footprint) : wall_at(u, p.y, in_wall, seed, style,
        footprint);
    m.albedo = w.albedo;
    m.roughness = w.roughness;
    m.metallic = w.metallic;
    m.emission = w.emission;
    m.normal = normalize(along * w.normal.x + vec3(0.0, w.normal.y, 0.0) + m.normal * w.normal.z);
}

void ground(inout Matter m, vec3 p, float footprint)
{
    Ground g = ground_at(p.xz, footprint);
    m.albedo = g.albedo;
    m.roughness = g.roughness;
    float near = clamp(1.0 - footprint * 3.0, 0.0, 1.0);
    vec2 rings = textureLod(ripples, p.xz * 0.25, 0.0).rg * g.water * near;
    vec2 bumps = vec2(noise2(p.xz * 9.0), noise2(p.xz * 9.0 + 31.0)) - 0.5;
    vec2 swell = vec2(noise2(p.xz * 1.1 + 0.3 * frame.eye.w), noise2(p.xz * 1.1 + 17.0 - 0.3 * frame.eye.w)) - 0.5;
    vec2 slope = rings * 0.16 + swell * 0.008 * g.water + bumps * 0.05 * (1.0 - g.water) * near;
    m.normal = normalize(vec3(-slope.x, 1.0, -slope.y));
}

// Tubes of glass: strokes on a lattice that read as letters, a frame around them.
void neon(inout Matter m, uint style, uint seed, vec4 paint, vec3 local, vec3 size, vec3 n, float footprint)
{
    vec2 at = abs(n.x) > 0.5 ? vec2(local.z * size.z, local.y * size.y) : vec2(local.x * size.x, local.y * size.y);
    vec2 extent = abs(n.x) > 0.5 ? size.zy : size.xy;
    m.albedo = vec3(0.012);
    m.roughness = 0.3;
    if (min(extent.x, extent.y) < 0.5) // the thin sides
        return;
    vec2 p = at + 0.5 * extent;
    float unit = style == 0u ? extent.x : extent.y;
    vec2 cell = style == 0u ? vec2(0.0, floor(p.y / unit)) : vec2(floor(p.x / unit), 0.0);
    vec2 q = p / unit - cell;
    bool whole = style == 0u ? (cell.y + 1.0) * unit < extent.y + 0.02 : (cell.x + 1.0) * unit < extent.x + 0.02;
    uint bits = mix_bits(seed * 31u + uint(cell.x) * 7u + uint(cell.y) * 13u);
    float d = 1.0;
    for (int k = 0; k < 3; k++) {
        float line = 0.22 + 0.28 * float(k);
        float from = (bits >> (k * 4)) % 3u == 0u ? 0.5 : 0.2, to = (bits >> (k * 4 + 2)) % 3u == 0u ? 0.5 : 0.8;
        if ((bits >> k & 1u) != 0u || k == 1)
            d = min(d, length(vec2(q.x - clamp(q.x, from, to), q.y - line)));
        if ((bits >> (k + 5) & 1u) != 0u || k == 0)
            d = min(d, length(vec2(q.x - line, q.y - clamp(q.y, from, max(to, from + 0.3)))));
    }
    d = whole ? d * unit : 1.0;
    vec2 edge = 0.5 * extent - abs(at);
    d = min(d, abs(min(edge.x, edge.y) - 0.07));
    float flicker = hash2(ivec2(int(seed), int(frame.eye.w * 9.0)), 3u) < 0.03 && seed % 5u == 0u ? 0.25 : 1.0;
    float wide = 0.028 + 0.6 * footprint;
    float tube = exp(-d * d / (wide * wide)) * min(1.0, 0.05 / wide + 0.25);
    vec3 glow = paint.rgb * (0.055 + 0.22 * exp(-d * 9.0));
    m.emission = (mix(paint.rgb, vec3(1.0), 0.22) * tube * 1.9 + glow) * paint.w * flicker;
}

void car(inout Matter m, uint style, vec3 p, vec3 local, vec3 n)
{
    bool bus = (style & 2u) != 0u, lit = (style & 1u) != 0u;
    m.roughness = 0.07 + 0.10 * noise2(p.xz * 60.0 + p.y * 40.0); // paint under beads of rain
    bool pane = bus ? local.y > -0.16 && local.y < 0.30 && abs(n.y) < 0.5
                    : local.y > 0.09 && local.y < 0.44 && n.y < 0.90 && local.z > -0.205 && local.z < 0.375;
    float post = bus ? abs(fract(local.z * 7.0) - 0.5) : min(abs(local.z - 0.085), abs(local.z - 0.30)) * 16.0;
    vec2 wheel = vec2((abs(local.z + 0.005) - 0.3125) * 4.4, (local.y + 0.38) * 1.24);
    bool low = local.y < -0.40 || (!bus && length(wheel) < 0.40 && abs(local.x) > 0.3);
    bool seam = !bus && abs(local.x) > 0.4 && local.y > -0.36 && min(abs(local.z - 0.085),
        abs(local.z + 0.17)) < 0.0022;
    if (low || seam) {
        m.albedo = vec3(0.012);
        m.roughness = 0.6;
    } else if (pane && (bus ? post < 0.46 : post > 0.13 || abs(n.x) < 0.5)) {
        m.albedo = vec3(0.01);
        m.roughness = 0.04;
        if (bus) {
            float seats = 0.35 + 0.65 * hash2(ivec2(floor(local.yz * vec2(5.0, 14.0))), 9u);
            m.emission = vec3(1.0, 0.78, 0.48) * (0.25 + 0.8 * seats * smoothstep(-0.25, 0.2, local.y));
        }
    }
    bool front = local.z < -0.462, back = local.z > 0.455;
    float in_lamp = max(abs(abs(local.x) - 0.34) / 0.10, abs(local.y + (bus ? 0.28 : 0.10)) / (bus ? 0.05 : 0.065));
    if (front && in_lamp < 1.0)
        m.emission = lit ? vec3(1.0, 0.86, 0.66) * 36.0 : vec3(0.03);
    else if (front && abs(local.x) < 0.22 && local.y < -0.06 && local.y > -0.22) {
        m.albedo = vec3(0.01); // the grille
        m.roughness = 0.35;
    }
    if (back && abs(local.x) > 0.20 && abs(local.y - (bus ? -0.22 : 0.0)) < 0.062)
        m.emission = vec3(1.0, 0.03, 0.015) * (lit ? 11.0 : 0.12);
    if ((front || back) && abs(local.x) < 0.13 && abs(local.y + 0.20) < 0.045)
        m.albedo = vec3(0.45); // the plate
}

void screen(inout Matter m, uint style, float strength, vec3 local, vec3 size, vec3 n, float footprint)
{
    vec2 at = vec2(abs(n.x) > 0.5 ? -local.z * sign(n.x) : local.x * sign(n.z), -local.y) + 0.5;
    vec2 uv = style == 4u ? vec2(0.5 + at.x * 0.5, at.y) : vec2(at.x * 0.5, at.y);
    vec3 shown = textureLod(page, uv, 0.0).rgb;
    shown *= shown;
    vec2 dots = abs(fract(at * vec2(96.0, 54.0)) - 0.5);
    float blur = clamp(footprint / max(size.y, 0.5) * 90.0, 0.0, 1.0);
    m.emission = shown * strength * mix(smoothstep(0.5, 0.25, max(dots.x, dots.y)) * 1.5, 1.0, blur);
    m.albedo = vec3(0.01);
    m.roughness = 0.2;
}

// Walls, ground and signs are boxes: their faces look along the axes exactly.
vec3 straight(vec3 n)
{
    vec3 a = abs(n);
    return a.x > max(a.y, a.z) ? vec3(sign(n.x), 0.0, 0.0) : a.y > a.z ? vec3(0.0, sign(n.y), 0.0)
        : vec3(0.0, 0.0, sign(n.z));
}

void fill(inout Matter m, Instance i, vec3 p, vec3 n, vec3 local)
{
    uint bits = floatBitsToUint(i.size.w), kind = bits & 15u, style = bits >> 4 & 15u, seed = bits >> 8;
    vec3 ray = normalize(p - frame.eye.xyz);
    float far = length(p - frame.eye.xyz) / frame.planes.w, footprint = far / max(abs(dot(n, ray)), 0.25);
    if (kind == FACADE || kind == SHOP) {
        m.normal = straight(n);
        wall(m, kind, style, seed, p, ray, footprint);
    } else if (kind == GROUND)
        ground(m, p, far);
    else if (kind == NEON)
        neon(m, style, seed, i.paint, local, i.size.xyz, straight(n), footprint);
    else if (kind == GLOW) {
        m.emission = i.paint.rgb * i.paint.w;
        m.roughness = 0.4;
    } else if (kind == CAR)
        car(m, style, p, local, n);
    else if (kind == SCREEN)
        screen(m, style, i.paint.w, local, i.size.xyz, straight(n), footprint);
    else if (kind == CLOTH && style == 1u) { // leaves
        m.albedo *= 0.5 + 1.2 * noise2(p.xy * 7.0 + p.z * 5.0);
        m.normal = normalize(n + 0.6 * (vec3(noise2(p.xy * 11.0), noise2(p.yz * 11.0), noise2(p.zx * 11.0)) - 0.5));
        m.roughness = 0.45;
    } else { // stone, metal, plaster: a little uneven, wet from above
        float c = cloudy(p.xz * 1.7 + p.y * 1.3);
        m.albedo *= 0.75 + 0.5 * c;
        if (n.y > 0.6)
            m.roughness = mix(m.roughness, 0.10, 0.8);
    }
}

void main()
{
    ivec2 pixel = ivec2(gl_GlobalInvocationID.xy);
    if (any(greaterThanEqual(pixel, ivec2(frame.size.xy))))
        return;
    float depth = texelFetch(depth_map, pixel, 0).r;
    if (depth <= 0.0) {
        imageStore(out_albedo, pixel, vec4(0.0));
        imageStore(out_normal, pixel, vec4(0.0, 1.0, 0.0, 1.0));
        imageStore(out_emission, pixel, vec4(0.0));
        imageStore(out_motion, pixel, vec4(0.0));
        return;
    }
    Instance i = instance_at(texelFetch(index_map, pixel, 0).r);
    vec3 p = world_place((vec2(pixel) + 0.5) * frame.size.zw, depth);
    vec3 n = normalize(texelFetch(facing_map, pixel, 0).xyz * 2.0 - 1.0);
    vec3 local = turned(p - i.place.xyz, -i.place.w) / max(i.size.xyz, vec3(1e-3));
    Matter m = Matter(i.paint.rgb, 0.0, n, i.paint.w, vec3(0.0));
    fill(m, i, p, n, local);
    imageStore(out_albedo, pixel, vec4(sqrt(clamp(m.albedo, 0.0, 1.0)), 1.0 - m.metallic));
    imageStore(out_normal, pixel, vec4(m.normal, clamp(m.roughness, 0.02, 1.0)));
    imageStore(out_emission, pixel, vec4(min(m.emission, vec3(60.0)), 1.0));
    vec4 now = frame.clean_view_projection * vec4(p, 1.0);
    vec3 before = i.last_place.xyz + turned(local * i.size.xyz, i.last_place.w);
    vec4 old = frame.last_view_projection * vec4(before, 1.0);
    imageStore(out_motion, pixel, vec4(0.5 * (now.xy / now.w - old.xy / old.w), 0.0, 0.0));
}
