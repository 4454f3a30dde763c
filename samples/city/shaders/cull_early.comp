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
    uint stays = 0u, first = own_first(), count = own_count();
    for (uint k = 0u; k < count; k++) {
        Instance i = instance_at(first + k);
        if (before[first + k] != 0u && ball_seen(frame.view_projection, i.place.xyz, radius_of(i), true))
            stays |= 1u << k;
    }
    pack(stays);
}
