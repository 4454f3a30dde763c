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
    uint index = gl_GlobalInvocationID.x;
    Instance i = instance_at(index);
    float radius = radius_of(i);
    mat4 m = frame.cascades[cascade];
    float wide = length(vec3(m[0][0], m[1][0], m[2][0])); // of clip space a metre
    bool large = radius * wide > 0.0022;
    pack(index, radius > 0.0 && large && i.paint.w < 7.0 && ball_seen(m, i.place.xyz, radius, false));
}
