#version 450
#extension GL_GOOGLE_include_directive : require
#include "frame.glsl"
layout(location = 0) in vec3 in_place;
layout(location = 1) in vec2 in_at;
layout(location = 2) flat in float in_age;
layout(location = 3) flat in float in_turn;
layout(location = 4) flat in vec3 in_light;
layout(set = 0, binding = 3) uniform sampler2D depth_map;
layout(location = 0) out vec4 out_color;

void main()
{
    vec2 q = mat2(cos(in_turn), sin(in_turn), -sin(in_turn), cos(in_turn)) * in_at;
    float r = length(in_at), puff = cloudy(q * 1.6 + in_turn * 5.0);
    float cover = smoothstep(1.0, 0.15, r) * smoothstep(0.25, 0.75, puff) * smoothstep(0.0, 0.12, in_age)
        * (1.0 - in_age);
    float deep = 1.0 / gl_FragCoord.w, behind = view_depth(texelFetch(depth_map, ivec2(gl_FragCoord.xy), 0).r);
    cover *= clamp((behind - deep) / 0.9, 0.0, 1.0) * clamp((deep - 0.5) / 1.5, 0.0, 1.0) * 0.34;
    if (cover < 0.002)
        discard;
    out_color = vec4(in_light, cover);
}
