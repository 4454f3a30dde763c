#version 450
#extension GL_GOOGLE_include_directive : require
// Steam from the sewers: cards that rise, grow and turn.
#include "frame.glsl"
#include "light.glsl"
layout(location = 0) out vec3 out_place;
layout(location = 1) out vec2 out_at;
layout(location = 2) flat out float out_age;
layout(location = 3) flat out float out_turn;
layout(location = 4) flat out vec3 out_light;
layout(set = 0, binding = 1, std430) readonly buffer Lights
{
    Light lights[];
};
layout(set = 0, binding = 2, std430) readonly buffer Masks
{
    uint masks[];
};

vec3 light_at(vec3 p)
{
    vec3 light = vec3(0.05, 0.055, 0.085) + vec3(0.09, 0.055, 0.03);
    vec4 clip = frame.view_projection * vec4(p, 1.0);
    uint at = cluster_at(clamp(clip.xy / max(clip.w, 0.1) * 0.5 + 0.5, 0.0, 0.999), max(clip.w, 0.1));
    for (uint word = 0u; word < MASK_WORDS; word++) {
        for (uint bits = masks[at + word]; bits != 0u; bits &= bits - 1u) {
            Light l = lights[word * 32u + uint(findLSB(bits))];
            vec3 to = l.place.xyz - p;
            float d2 = dot(to, to) + 0.6;
            light += l.color.rgb * falloff(d2, l.place.w) * cone(l, -to * inversesqrt(d2)) * 0.3;
        }
    }
    return light;
}

void main()
{
    const int per_vent = 10;
    int vent = gl_InstanceIndex / per_vent, card = gl_InstanceIndex % per_vent;
    float phase = frame.eye.w * 0.22 + float(card) / float(per_vent) + 3.7 * float(vent), age = fract(phase);
    float h = hash2(ivec2(vent, card), uint(floor(phase)) + 5u);
    vec3 foot = vec3((hash2(ivec2(vent, 1), 8u) - 0.5) * 17.0, 0.0, 14.0 - 27.0 * float(vent) - 9.0
        * hash2(ivec2(vent, 2), 8u));
    vec3 at = foot + vec3(0.9 * age * age + 0.5 * (h - 0.5), 0.3 + 4.2 * age, 0.5 * age);
    float half_size = 0.35 + 1.7 * age;
    vec3 forward = view_ray(vec2(0.5)), right = normalize(cross(forward, vec3(0.0, 1.0, 0.0))), up = cross(right,
        forward);
    vec2 corner = vec2(gl_VertexIndex & 1, gl_VertexIndex >> 1) * 2.0 - 1.0;
    out_place = at + (right * corner.x + up * corner.y) * half_size;
    out_at = corner;
    out_light = light_at(at);
    out_age = age;
    out_turn = 6.28 * h + age;
    gl_Position = frame.view_projection * vec4(out_place, 1.0);
}
