#version 450
#extension GL_GOOGLE_include_directive : require
#include "frame.glsl"
#include "light.glsl"
layout(location = 0) in vec3 in_place;
layout(location = 1) in vec2 in_at;
layout(location = 2) flat in float in_age;
layout(location = 3) flat in float in_turn;
layout(set = 0, binding = 1, std430) readonly buffer Lights
{
    Light lights[];
};
layout(set = 0, binding = 2, std430) readonly buffer Masks
{
    uint masks[];
};
layout(set = 0, binding = 3) uniform sampler2D depth_map;
layout(location = 0) out vec4 out_color;

void main()
{
    vec2 q = mat2(cos(in_turn), sin(in_turn), -sin(in_turn), cos(in_turn)) * in_at;
    float r = length(in_at), puff = cloudy(q * 1.6 + in_turn * 5.0);
    float cover = smoothstep(1.0, 0.15, r) * smoothstep(0.25, 0.75, puff) * smoothstep(0.0, 0.12, in_age) * (1.0 - in_age);
    float deep = 1.0 / gl_FragCoord.w, behind = view_depth(texelFetch(depth_map, ivec2(gl_FragCoord.xy), 0).r);
    cover *= clamp((behind - deep) / 0.9, 0.0, 1.0) * clamp((deep - 0.5) / 1.5, 0.0, 1.0) * 0.34;
    if (cover < 0.002)
        discard;
    vec3 light = vec3(0.05, 0.055, 0.085) + vec3(0.09, 0.055, 0.03);
    uint at = cluster_at(gl_FragCoord.xy * frame.size.zw, deep);
    for (uint word = 0u; word < MASK_WORDS; word++) {
        for (uint bits = masks[at + word]; bits != 0u; bits &= bits - 1u) {
            Light l = lights[word * 32u + uint(findLSB(bits))];
            vec3 to = l.place.xyz - in_place;
            float d2 = dot(to, to) + 0.6;
            light += l.color.rgb * falloff(d2, l.place.w) * cone(l, -to * inversesqrt(d2)) * 0.3;
        }
    }
    out_color = vec4(light, cover);
}
