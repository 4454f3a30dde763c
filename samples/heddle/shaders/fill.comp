#version 460
#extension GL_GOOGLE_include_directive : require
#include "point.glsl"
layout(set = 0, binding = 1) writeonly buffer Data { uint words[]; };
uint points() { return p.last - p.first; }
void look(uint i) { words[p.first + i] = p.word; }
