#version 450
// A pass that is over at once: what it costs is to get there.
layout(local_size_x = 64) in;
layout(push_constant) uniform Push
{
    uint salt;
} push;
layout(set = 0, binding = 0) readonly buffer A
{
    uint words[];
} a;
layout(set = 0, binding = 1) readonly buffer B
{
    uint words[];
} b;
layout(set = 0, binding = 2) writeonly buffer Out
{
    uint words[];
} result;

void main()
{
    uint i = gl_GlobalInvocationID.x;
    result.words[i] = (a.words[i] * 1664525u + push.salt) ^ b.words[i];
}
