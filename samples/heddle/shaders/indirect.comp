#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
layout(local_size_x = 1) in;
void main()
{
    if (any(notEqual(gl_NumWorkGroups, uvec3(p.word))))
        wrong();
    if (gl_GlobalInvocationID == uvec3(0))
        seen();
}
