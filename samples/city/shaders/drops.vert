#version 450
#extension GL_GOOGLE_include_directive : require
// Rain as streaks: a drop during the time that the shutter is open.
#include "frame.glsl"
layout(set = 0, binding = 1, std430) readonly buffer Drops
{
    vec4 drops[];
};
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
    if (at.y < 0.02)
        gl_Position = vec4(0.0, 0.0, -1.0, 1.0);
}
