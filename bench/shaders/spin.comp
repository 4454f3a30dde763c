#version 450
// Arithmetic that takes as long as it is told to; every thread leaves a number.
layout(local_size_x = 64) in;
layout(push_constant) uniform Push
{
    uint steps;
} push;
layout(set = 0, binding = 0) buffer Out
{
    uint words[];
} result;

void main()
{
    uint x = gl_GlobalInvocationID.x * 747796405u + 2891336453u;
    for (uint i = 0u; i < push.steps; i++)
        x = x * 1664525u + 1013904223u ^ (x >> 13);
    result.words[gl_GlobalInvocationID.x] = x;
}
