#version 450
#extension GL_GOOGLE_include_directive : require
#include "frame.glsl"
layout(location = 0) in vec3 in_place;
layout(location = 1) in vec3 in_normal;
layout(location = 0) out vec4 out_color;

void main()
{
    vec3 v = normalize(frame.eye.xyz - in_place);
    float rim = 1.0 - abs(dot(normalize(in_normal), v));
    float lines = 0.65 + 0.35 * sin(in_place.y * 24.0 + frame.eye.w * 6.0);
    float blend = 0.5 + 0.5 * sin(in_place.x * 0.7 + in_place.y * 0.5);
    vec3 color = mix(vec3(0.05, 0.55, 1.0), vec3(1.0, 0.12, 0.75), blend);
    out_color = vec4(color * (0.12 + 1.7 * rim * rim) * lines * 1.2, 0.0);
}
