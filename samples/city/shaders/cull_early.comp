#version 450
#extension GL_GOOGLE_include_directive : require
// Early culling: what was seen in the frame before, and stands before the eye now.
#include "frame.glsl"
#include "instance.glsl"
#include "cull.glsl"
layout(set = 0, binding = 6, std430) readonly buffer Before
{
    uint before[];
};

void main()
{
    uint index = gl_GlobalInvocationID.x;
    Instance i = instance_at(index);
    float radius = radius_of(i);
    pack(index, radius > 0.0 && before[index] != 0u && ball_seen(frame.view_projection, i.place.xyz, radius, true));
}
