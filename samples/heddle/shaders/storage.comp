#version 460
#extension GL_GOOGLE_include_directive : require
#include "point.glsl"
layout(set = 0, binding = 4, FORMAT) uniform readonly image2D source;
uint points() { return p.nx * p.ny; }
void look(uint i) { check_texel(imageLoad(source, grid_texel(i))); }
