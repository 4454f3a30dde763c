#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
layout(local_size_x = 64) in;
layout(set = 0, binding = 4, FORMAT) uniform readonly image2D source;
void main()
{
    uint i = gl_GlobalInvocationID.x;
    if (i < p.nx * p.ny)
        check_texel(imageLoad(source, grid_texel(i)));
}
