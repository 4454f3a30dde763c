#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_samplerless_texture_functions : require
#include "point.glsl"
layout(set = 0, binding = 3) uniform texture2D source;
uint points() { return p.nx * p.ny; }
void look(uint i) { check_texel(texelFetch(source, grid_texel(i), 0)); }
