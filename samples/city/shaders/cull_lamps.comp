#version 450
#extension GL_GOOGLE_include_directive : require
// What may cast a shadow from one of the lamps with a tile of the atlas.
#include "frame.glsl"
#include "instance.glsl"
#include "cull.glsl"

void main()
{
    uint index = gl_GlobalInvocationID.x;
    Instance i = instance_at(index);
    float radius = radius_of(i);
    bool near = false;
    for (int k = 0; k < 8; k++)
        near = near || ball_seen(frame.lamps[k], i.place.xyz, radius, false);
    pack(index, radius > 0.0 && radius < 60.0 && i.paint.w < 7.0 && near);
}
