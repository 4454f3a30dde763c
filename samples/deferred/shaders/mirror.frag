#version 450
#extension GL_GOOGLE_include_directive : require
// The court seen in the floor: one forward pass with plain shading, at half the size.
#include "frame.glsl"
#include "noise.glsl"
#include "light.glsl"
layout(location = 0) in vec3 in_place;
layout(location = 1) in vec3 in_normal;
layout(location = 2) in vec4 in_now;
layout(location = 3) in vec4 in_before;
layout(location = 4) flat in vec4 in_paint;
layout(location = 5) flat in vec4 in_matter;
layout(set = 0, binding = 1, std140) uniform Lights
{
    Light lights[128];
};
layout(set = 0, binding = 2) uniform sampler2DShadow sun_map;

layout(location = 0) out vec4 out_color; // alpha: depth

void main()
{
    if (in_place.y < 0.0)
        discard;
    float depth = 1.0 / gl_FragCoord.w;
    if (in_matter.y > 0.0) {
        out_color = vec4(in_paint.rgb * in_matter.y, depth);
        return;
    }
    vec3 n = normalize(in_normal), v = normalize(vec3(frame.eye.x, -frame.eye.y, frame.eye.z) - in_place);
    vec3 albedo = in_paint.rgb * (0.82 + 0.2 * noise3(in_place * 2.1));
    vec3 f0 = mix(vec3(0.04), albedo, in_matter.x), diffuse = albedo * (1.0 - in_matter.x);
    float lit = texture(sun_map, sun_map_place(in_place + 0.03 * n) + vec3(0.0, 0.0, 0.0006));
    vec3 color = shade(n, v, frame.sun.xyz, diffuse, f0, max(in_paint.a, 0.15)) * frame.sun_color.rgb * lit;
    color += diffuse * ambient_light(n) * openness(in_place);
    color += f0 * sky(reflect(-v, n)) * (in_matter.x > 0.5 ? 0.8 : 0.3);
    for (uint i = 0u; i < frame.counts.x; i++) {
        vec3 to = lights[i].place_radius.xyz - in_place;
        float d2 = dot(to, to), r = lights[i].place_radius.w;
        if (d2 < r * r)
            color += shade(n, v, to * inversesqrt(d2), diffuse, f0, max(in_paint.a, 0.3)) * lights[i].color.rgb *
                falloff(d2, r);
    }
    out_color = vec4(min(color, vec3(24.0)), depth);
}
