#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_samplerless_texture_functions : require
#include "common.glsl"
layout(local_size_x = 64) in;
layout(set = 0, binding = 3) uniform texture2D source;
void main()
{
    uint i = gl_GlobalInvocationID.x;
    if (i < p.nx * p.ny)
        check_texel(texelFetch(source, grid_texel(i), 0));
}
