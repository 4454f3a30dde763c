#version 450
// A small triangle at the place that the draw names.
layout(push_constant) uniform Push
{
    vec4 place;
} push;

void main()
{
    vec2 at = vec2((gl_VertexIndex << 1) & 2, gl_VertexIndex & 2);
    gl_Position = vec4(push.place.xy + at * push.place.z, push.place.w, 1.0);
}
