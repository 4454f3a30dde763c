#version 450
#extension GL_GOOGLE_include_directive : require
#include "frame.glsl"
#include "instance.glsl"
layout(location = 0) in vec3 position;
layout(location = 1) in vec3 normal;
layout(location = 2) in uint index;
layout(location = 0) out vec3 out_normal;
layout(location = 1) flat out uint out_index;

void main()
{
    Instance i = instance_at(index);
    out_normal = turned(normal / max(i.size.xyz, vec3(1e-3)), i.place.w);
    out_index = index;
    gl_Position = frame.view_projection * vec4(i.place.xyz + turned(position * i.size.xyz, i.place.w), 1.0);
}
