#version 460
/* One triangle over all, as far away as can be: depth is reversed. */
layout(location = 0) out vec2 place;
void main()
{
    place = vec2(gl_VertexIndex & 1, gl_VertexIndex >> 1) * 4.0 - 1.0;
    gl_Position = vec4(place, 0.0, 1.0);
}
