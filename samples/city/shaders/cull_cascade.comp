#version 450
#extension GL_GOOGLE_include_directive : require
// What may cast a shadow into one cascade; what is smaller than its texels does not.
#include "frame.glsl"
#include "instance.glsl"
#include "cull.glsl"
layout(push_constant) uniform Push
{
    uint cascade;
};

void main()
{
    mat4 m = frame.cascades[cascade];
    float wide = length(vec3(m[0][0], m[1][0], m[2][0])); // of clip space a metre
    uint stays = 0u, first = own_first(), count = own_count();
    for (uint k = 0u; k < count; k++) {
        Instance i = instance_at(first + k);
        float radius = radius_of(i);
        // The sun stands low: a shadow is as long as its caster's top is high over the sun's slope, and no longer.
        float off = dot(i.place.xz - frame.eye.xz, normalize(frame.sun.xz)), top = i.place.y + radius;
        float reach = max(top, 0.0) * length(frame.sun.xz) / frame.sun.y + frame.cascade_end[cascade] * 1.5 + radius;
        if (off < reach && radius * wide > 0.008 && casts(i) && ball_seen(m, i.place.xyz, radius, false))
            stays |= 1u << k;
    }
    pack(stays);
}
