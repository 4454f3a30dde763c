#version 460
#extension GL_GOOGLE_include_directive : require
#include "point.glsl"
layout(set = 0, binding = 4) uniform writeonly image2D target;
uint points() { return p.width * p.height; }
void look(uint i) { imageStore(target, ivec2(i % p.width, i / p.width), p.value); }
