#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
layout(location = 0) in uint word;
void main()
{
    check_word(word);
    gl_Position = vec4(0.0);
    gl_PointSize = 1.0;
}
