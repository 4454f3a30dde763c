#version 450
#extension GL_GOOGLE_include_directive : require
#include "frame.glsl"
#include "instance.glsl"
layout(location = 0) in vec3 position;
layout(location = 2) in uint index;
layout(push_constant) uniform Push
{
    uint view; // a cascade, or 4 and a tile of the lamps' atlas
};

void main()
{
    Instance i = instance_at(index);
    vec3 p = i.place.xyz + turned(position * i.size.xyz, i.place.w);
    gl_Position = (view < 4u ? frame.cascades[view] : frame.lamps[view - 4u]) * vec4(p, 1.0);
}
