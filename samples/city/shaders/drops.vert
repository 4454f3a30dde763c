#version 450
#extension GL_GOOGLE_include_directive : require
// Rain as streaks: a drop during the time that the shutter is open.
#include "frame.glsl"
#include "volume.glsl"
layout(set = 0, binding = 1, std430) readonly buffer Drops
{
    vec4 drops[];
};
layout(set = 0, binding = 2) uniform sampler3D fog;
layout(location = 1) flat out vec3 out_light;
layout(location = 0) out vec3 out_at; // across, along; how much of a pixel it covers

void main()
{
    vec4 d = drops[gl_InstanceIndex];
    vec3 fall = vec3(0.9, -d.w, 0.5) * 0.022;
    float along = float(gl_VertexIndex >> 1), across = float(gl_VertexIndex & 1) * 2.0 - 1.0;
    vec3 at = d.xyz + fall * along;
    vec3 to_eye = normalize(frame.eye.xyz - d.xyz), side = normalize(cross(fall, to_eye));
    float far = length(frame.eye.xyz - d.xyz), wide = max(0.0022, 0.55 * far / frame.planes.w);
    out_at = vec3(across, along * 2.0 - 1.0, 0.0022 / wide * smoothstep(0.6, 2.0, far));
    gl_Position = frame.view_projection * vec4(at + side * across * wide, 1.0);
    // A drop throws on what light comes past it: the mist around knows how much that is.
    vec4 clip = frame.view_projection * vec4(d.xyz, 1.0);
    vec4 near = textureLod(fog, vec3(clip.xy / max(clip.w, 0.1) * 0.5 + 0.5, fog_slice(clip.w)), 0.0);
    out_light = (vec3(0.10, 0.11, 0.15) + 2.2 * near.rgb / max(1.0 - near.a, 0.02)) * 0.55;
    if (at.y < 0.02)
        gl_Position = vec4(0.0, 0.0, -1.0, 1.0);
}
