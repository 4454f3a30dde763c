#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
layout(local_size_x = 64) in;
layout(set = 0, binding = 1) writeonly buffer Data { uint words[]; };
void main()
{
    for (uint i = p.first + gl_GlobalInvocationID.x; i < p.last; i += gl_NumWorkGroups.x * 64u)
        words[i] = p.word;
}
