#version 450
#extension GL_GOOGLE_include_directive : require
#include "frame.glsl"
#include "light.glsl"
layout(location = 0) in vec3 in_at;
layout(set = 0, binding = 2) uniform sampler3D fog;
#include "volume.glsl"
layout(location = 0) out vec4 out_color;

void main()
{
    // A drop throws on what light comes past it: the mist around knows how much that is.
    vec2 uv = gl_FragCoord.xy * frame.size.zw;
    vec4 near = textureLod(fog, vec3(uv, fog_slice(1.0 / gl_FragCoord.w)), 0.0);
    float shape = (1.0 - in_at.x * in_at.x) * (1.0 - in_at.y * in_at.y) * in_at.z;
    out_color = vec4((vec3(0.10, 0.11, 0.15) + 2.2 * near.rgb / max(1.0 - near.a, 0.02)) * 0.55 * shape, 0.0);
}
