#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
layout(local_size_x = 64) in;
layout(set = 0, binding = 1) readonly buffer Data { uint words[]; };
void main()
{
    uint i = gl_GlobalInvocationID.x;
    if (i < grid_words())
        check_word(words[grid_word(i)]);
}
