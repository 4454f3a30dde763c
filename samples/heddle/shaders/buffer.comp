#version 460
#extension GL_GOOGLE_include_directive : require
#include "point.glsl"
layout(set = 0, binding = 1) readonly buffer Data { uint words[]; };
uint points() { return grid_words(); }
void look(uint i) { check_word(words[grid_word(i)]); }
