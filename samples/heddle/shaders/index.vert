#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
void main()
{
    check_word(uint(gl_VertexIndex));
    gl_Position = vec4(0.0);
    gl_PointSize = 1.0;
}
