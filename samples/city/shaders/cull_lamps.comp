#version 450
#extension GL_GOOGLE_include_directive : require
// What may cast a shadow from one of the lamps with a tile of the atlas.
#include "frame.glsl"
#include "instance.glsl"
#include "cull.glsl"

void main()
{
    uint stays = 0u, first = own_first(), count = own_count();
    for (uint k = 0u; k < count; k++) {
        Instance i = instance_at(first + k);
        float radius = radius_of(i);
        bool near = false;
        for (int tile = 0; tile < 8; tile++)
            near = near || ball_seen(frame.lamps[tile], i.place.xyz, radius, false);
        if (near && radius > 0.12 && radius < 60.0 && casts(i))
            stays |= 1u << k;
    }
    pack(stays);
}
