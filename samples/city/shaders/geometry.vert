#version 450
#extension GL_GOOGLE_include_directive : require
#include "frame.glsl"
#include "instance.glsl"
layout(location = 0) in vec3 position;
layout(location = 1) in vec3 normal;
layout(location = 2) in uint index;

layout(location = 0) out vec3 out_place;
layout(location = 1) out vec3 out_normal;
layout(location = 2) out vec4 out_now;
layout(location = 3) out vec4 out_before;
layout(location = 4) out vec3 out_local; // in the unit box
layout(location = 5) flat out vec4 out_paint;
layout(location = 6) flat out vec4 out_size; // w: matter

void main()
{
    Instance i = instance_at(index);
    out_place = i.place.xyz + turned(position * i.size.xyz, i.place.w);
    vec3 before = i.last_place.xyz + turned(position * i.size.xyz, i.last_place.w);
    out_normal = turned(normal / max(i.size.xyz, vec3(1e-3)), i.place.w);
    out_now = frame.clean_view_projection * vec4(out_place, 1.0);
    out_before = frame.last_view_projection * vec4(before, 1.0);
    out_local = position;
    out_paint = i.paint;
    out_size = i.size;
    gl_Position = frame.view_projection * vec4(out_place, 1.0);
}
