#version 460
#extension GL_GOOGLE_include_directive : require
#include "point.glsl"
layout(set = 0, binding = 2) uniform Data { uvec4 words[1024]; };
uint points() { return p.last - p.first; }
void look(uint i) { check_word(words[(p.first + i) / 4u][(p.first + i) % 4u]); }
