#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
void main()
{
    seen();
    if (uint(gl_VertexIndex) - p.word >= p.word || uint(gl_InstanceIndex) - p.word >= p.word)
        wrong();
    gl_Position = vec4(0.0);
    gl_PointSize = 1.0;
}
