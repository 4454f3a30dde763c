#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
void main()
{
    gl_Position = vec4(gl_VertexIndex == 1 ? 3.0 : -1.0, gl_VertexIndex == 2 ? 3.0 : -1.0, p.depth, 1.0);
}
