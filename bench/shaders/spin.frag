#version 450
// The same arithmetic as spin.comp, for every pixel.
layout(push_constant) uniform Push
{
    uint steps;
} push;
layout(location = 0) out vec4 color;

void main()
{
    uint x = uint(gl_FragCoord.x) * 747796405u + uint(gl_FragCoord.y) * 277803737u;
    for (uint i = 0u; i < push.steps; i++)
        x = x * 1664525u + 1013904223u ^ (x >> 13);
    color = vec4(float(x & 255u) / 255.0);
}
