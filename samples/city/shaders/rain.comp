#version 450
#extension GL_GOOGLE_include_directive : require
// Drops fall, drift with gusts, and begin anew above where they left the box around the eye.
#include "frame.glsl"
layout(local_size_x = 64) in;
layout(set = 0, binding = 1, std430) readonly buffer Before
{
    vec4 before[];
};
layout(set = 0, binding = 2, std430) writeonly buffer Drops
{
    vec4 drops[]; // w: speed
};

void main()
{
    uint i = gl_GlobalInvocationID.x;
    if (i >= uint(drops.length()))
        return;
    const vec3 box = vec3(36.0, 18.0, 36.0);
    vec4 d = before[i];
    if (frame.planes.z == 0.0 || d.w == 0.0) {
        vec3 h = vec3(hash2(ivec2(i, 1), 21u), hash2(ivec2(i, 2), 21u), hash2(ivec2(i, 3), 21u));
        d = vec4(frame.eye.xyz + (h - 0.5) * box, 7.5 + 2.5 * hash2(ivec2(i, 4), 21u));
    }
    float gust = 0.6 + 0.5 * sin(0.7 * frame.eye.w + 0.1 * d.x);
    d.xyz += vec3(0.9 * gust, -d.w, 0.5 * gust) / 30.0;
    vec3 off = d.xyz - frame.eye.xyz;
    d.xyz = frame.eye.xyz + (fract(off / box + 0.5) - 0.5) * box;
    drops[i] = d;
}
