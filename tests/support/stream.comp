#version 450
/* Copies words: reads one buffer, writes the other. */
layout(local_size_x = 1) in;
layout(std430, binding = 0) readonly buffer From { uint from[]; };
layout(std430, binding = 1) writeonly buffer To { uint to[]; };

void main()
{
    to[gl_GlobalInvocationID.x] = from[gl_GlobalInvocationID.x];
}
