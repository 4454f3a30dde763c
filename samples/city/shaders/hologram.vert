#version 450
#extension GL_GOOGLE_include_directive : require
// A knot of light above the second crossing; its vertices come from the CPU each frame.
#include "frame.glsl"
layout(location = 0) in vec3 position;
layout(location = 1) in vec3 normal;
layout(location = 0) out vec3 out_place;
layout(location = 1) out vec3 out_normal;

void main()
{
    out_place = position * 1.5 + vec3(0.0, 18.0, -118.0);
    out_normal = normal;
    gl_Position = frame.view_projection * vec4(out_place, 1.0);
}
