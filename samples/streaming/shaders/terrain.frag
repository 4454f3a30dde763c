#version 460
#extension GL_GOOGLE_include_directive : require
/* Rock, meadows, forest, snow, by height and slope; light from the sun, as far as the tile says that it arrives, and
 * from the sky. */
#include "common.glsl"

layout(set = 0, binding = 1) uniform sampler2D tile;
layout(location = 0) in vec3 world;
layout(location = 1) in vec2 uv;
layout(location = 0) out vec4 color;

const float TEXELS = 128.0;

void main()
{
    vec4 here = texture(tile, (uv * (TEXELS - 1.0) + 0.5) / TEXELS);
    vec3 n = vec3(here.x * 2.0 - 1.0, 0.0, here.y * 2.0 - 1.0);
    n.y = sqrt(max(1.0 - dot(n.xz, n.xz), 0.02));
    float away = distance(world, c.eye.xyz), light = here.z, open = here.w;

    /* Detail that no tile has: bumps of all sizes that a pixel can show, larger ones where it is steep. */
    float patches = noise(world.xz * 0.0041) * 0.6 + noise(world.xz * 0.013) * 0.4;
    float grain = 0.0, weight = 0.5, frequency = 0.019;
    vec2 bumps = vec2(0.0);
    for (int i = 0; i < 4; i++) {
        float seen = clamp(1.6 - away * frequency * 0.0026, 0.0, 1.0);
        vec2 p = world.xz * frequency + float(i) * 17.0;
        float here = noise(p);
        grain += weight * mix(0.5, here, seen);
        bumps += vec2(here - noise(p + vec2(0.35, 0.0)), here - noise(p + vec2(0.0, 0.35))) * seen;
        weight *= 0.5;
        frequency *= 2.7;
    }
    grain = clamp((grain / 0.9375 - 0.5) * 1.5 + 0.5, 0.0, 1.0);
    float steep = 1.0 - n.y;
    n = normalize(n + vec3(bumps.x, 0.0, bumps.y) * (0.30 + 1.5 * steep));

    float strata = noise(vec2(world.y * 0.045 + patches * 7.0, world.x * 0.004 + patches * 3.0));
    vec3 rock = mix(vec3(0.098, 0.092, 0.088), vec3(0.225, 0.205, 0.185), strata * 0.45 + grain * 0.55);
    vec3 meadow = mix(vec3(0.085, 0.095, 0.028), vec3(0.19, 0.155, 0.045), patches);
    vec3 forest = vec3(0.024, 0.037, 0.014) * (0.15 + 1.7 * grain * grain * 1.4);
    float trees = smoothstep(0.42, 0.60, patches + 0.34 * (grain - 0.5)) * smoothstep(0.62, 0.82, n.y) *
                  smoothstep(430.0, 250.0, world.y) * smoothstep(6.0, 22.0, world.y);
    vec3 ground = mix(meadow, forest, trees);
    ground = mix(ground, vec3(0.17, 0.145, 0.12), smoothstep(330.0, 560.0, world.y + 160.0 * (patches - 0.5)));
    ground = mix(vec3(0.165, 0.15, 0.12), ground, smoothstep(1.0, 6.0, world.y + 6.0 * (grain - 0.5)));
    vec3 albedo = mix(rock, ground, smoothstep(0.66, 0.82, n.y + 0.14 * (grain - 0.5)));
    float snow = smoothstep(420.0, 560.0, world.y + 200.0 * (patches - 0.5) + 150.0 * (grain - 0.5) + 90.0 * n.x);
    snow *= smoothstep(0.50, 0.68, n.y + 0.10 * (grain - 0.5));
    albedo = mix(albedo, vec3(0.66, 0.69, 0.74), snow);

    float toward = max(dot(n, c.sun.xyz), 0.0);
    toward = mix(toward, toward * 0.85 + 0.15, snow); /* snow spreads light */
    vec3 sum = albedo * SUN * toward * light * 0.42;
    float sky = (0.55 + 0.45 * n.y) * clamp(open, 0.25, 1.0);
    sum += albedo * vec3(0.36, 0.50, 0.88) * sky * 0.68;
    /* Light that slopes opposite have thrown back. */
    vec3 back = normalize(vec3(-c.sun.x, 0.15, -c.sun.z));
    sum += albedo * SUN * 0.035 * max(dot(n, back) * 0.5 + 0.5, 0.0) * (1.0 - 0.5 * open);
    color = vec4(sum, 1.0);
}
