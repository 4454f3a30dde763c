#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_samplerless_texture_functions : require
#include "common.glsl"
layout(set = 0, binding = 3) uniform texture2D source;
void main()
{
    check_texel(texelFetch(source, grid_texel(uint(gl_FragCoord.y) * p.nx + uint(gl_FragCoord.x)), 0));
}
