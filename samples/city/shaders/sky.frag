#version 450
#extension GL_GOOGLE_include_directive : require
#include "frame.glsl"
#include "sky.glsl"
layout(set = 0, binding = 1) uniform sampler2D table;
layout(location = 0) out vec4 out_color;

void main()
{
    vec3 d = view_ray(gl_FragCoord.xy * frame.size.zw), color = textureLod(table, sky_place(d), 0.0).rgb;
    vec2 at = floor(sky_place(d) * vec2(1400.0, 700.0));
    float star = hash2(ivec2(at), 99u);
    if (star > 0.9985)
        color += vec3(0.25, 0.27, 0.32) * smoothstep(0.25, 0.7, d.y) * (star - 0.9985) * 600.0 * smoothstep(0.30,
            0.12, luminance(color));
    out_color = vec4(color, 1.0);
}
