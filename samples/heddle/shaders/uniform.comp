#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
layout(local_size_x = 64) in;
layout(set = 0, binding = 2) uniform Data { uvec4 words[1024]; };
void main()
{
    uint i = p.first + gl_GlobalInvocationID.x;
    if (i < p.last)
        check_word(words[i / 4u][i % 4u]);
}
