#version 460
layout(location = 0) in vec3 color;
layout(location = 1) in vec3 along;
layout(location = 2) in float radius;
layout(location = 0) out vec4 light;

void main()
{
    /* Distance to the segment: a capsule with a soft edge. */
    vec2 off = vec2(max(abs(along.x) - along.z, 0.0), along.y);
    float inside = 1.0 - smoothstep(radius - 0.7, radius + 0.7, length(off));
    light = vec4(color * inside, inside);
}
