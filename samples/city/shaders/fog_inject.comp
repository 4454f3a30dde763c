#version 450
#extension GL_GOOGLE_include_directive : require
// Light that mist scatters towards the eye, by cell: of lamps through their shadows, of the sky. Mixed with what the
// cell held in the frame before, so that few samples do.
#include "frame.glsl"
#include "light.glsl"
#include "sky.glsl"
#include "volume.glsl"
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 1, std430) readonly buffer Lights
{
    Light lights[];
};
layout(set = 0, binding = 2, std430) readonly buffer Masks
{
    uint masks[];
};
layout(set = 0, binding = 3) uniform sampler2DShadow lamp_map;
layout(set = 0, binding = 4) uniform sampler2D sky_light;
layout(set = 0, binding = 5) uniform sampler3D before;
layout(set = 0, binding = 6, rgba16f) uniform writeonly image3D volume;

void main()
{
    ivec3 cell = ivec3(gl_GlobalInvocationID), size = ivec3(frame.volume.xyz);
    if (any(greaterThanEqual(cell, size)))
        return;
    float jitter = pixel_noise(vec2(cell.xy) + 3.7 * float(cell.z));
    vec2 uv = (vec2(cell.xy) + 0.5) / vec2(size.xy);
    vec3 forward = view_ray(vec2(0.5)), ray = view_ray(uv);
    float deep = fog_distance((float(cell.z) + jitter) / float(size.z));
    vec3 p = frame.eye.xyz + ray * deep / dot(ray, forward);
    float drift = noise2(p.xz * 0.05 + 0.05 * frame.eye.w) * noise2(p.xz * 0.17 + p.y * 0.2 - 0.1 * frame.eye.w);
    float density = 0.0012 * exp(-max(p.y, 0.0) / 60.0) + 0.0034 * exp(-max(p.y, 0.0) / 5.5) * (0.4 + 2.4 * drift);
    vec3 light = textureLod(sky_light, sky_place(vec3(0.0, 1.0, 0.0)), 0.0).rgb * (0.16 + 0.5 * smoothstep(0.0, 50.0,
        p.y));
    float toward = max(dot(ray, frame.sun.xyz), 0.0);
    light += frame.sun_color.rgb * (0.02 + 0.32 * pow(toward, 9.0)) * smoothstep(8.0, 60.0, p.y);
    light += vec3(0.05, 0.030, 0.018) * exp(-max(p.y, 0.0) / 9.0); // of all the windows and lamps together
    uint at = cluster_at(uv, deep);
    for (uint word = 0u; word < MASK_WORDS; word++) {
        for (uint bits = masks[at + word]; bits != 0u; bits &= bits - 1u) {
            Light l = lights[word * 32u + uint(findLSB(bits))];
            vec3 to = l.place.xyz - p;
            float d2 = dot(to, to);
            if (d2 >= l.place.w * l.place.w)
                continue;
            to *= inversesqrt(d2 + 1e-6);
            float part = falloff(d2 + 0.35, l.place.w) * cone(l, -to);
            if (l.color.w >= 0.0 && part > 0.0) {
                vec4 s = lamp_place(int(l.color.w), p);
                part *= s.w > 0.0 ? textureLod(lamp_map, vec3(s.xy, s.z + 0.0005), 0.0) : 1.0;
            }
            const float g = 0.45; // Henyey and Greenstein: rather ahead than back
            float c = dot(ray, to), phase = (1.0 - g * g) / pow(1.0 + g * g - 2.0 * g * c, 1.5) * 0.25;
            light += l.color.rgb * part * phase * 0.75;
        }
    }
    vec4 now = vec4(light * density, density);
    vec4 clip = frame.last_view_projection * vec4(frame.eye.xyz + ray
        * fog_distance((float(cell.z) + 0.5) / float(size.z)) / dot(ray, forward), 1.0);
    vec3 old = vec3(clip.xy / clip.w * 0.5 + 0.5, fog_slice(clip.w));
    if (frame.planes.z > 0.0 && all(greaterThan(old, vec3(0.0))) && all(lessThan(old, vec3(1.0))))
        now = mix(textureLod(before, old, 0.0), now, 0.12);
    imageStore(volume, cell, now);
}
