#version 450
#extension GL_GOOGLE_include_directive : require
// A triangle over the whole picture, as far away as can be.
void main()
{
    gl_Position = vec4(vec2(gl_VertexIndex & 1, gl_VertexIndex >> 1) * 4.0 - 1.0, 0.0, 1.0);
}
