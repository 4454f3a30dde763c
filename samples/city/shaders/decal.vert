#version 450
#extension GL_GOOGLE_include_directive : require
#include "frame.glsl"
struct Decal {
    vec4 place; // w: yaw
    vec4 size;  // half of it; w: kind
};
layout(set = 0, binding = 1, std430) readonly buffer Decals
{
    Decal decals[];
};
layout(location = 0) flat out vec4 out_place;
layout(location = 1) flat out vec4 out_size;

void main()
{
    const uint corners[36] = uint[36](4u, 5u, 7u, 4u, 7u, 6u, 1u, 0u, 2u, 1u, 2u, 3u, 5u, 1u, 3u, 5u, 3u, 7u, 0u, 4u,
        6u, 0u, 6u, 2u, 6u, 7u, 3u, 6u, 3u, 2u, 0u, 1u, 5u, 0u, 5u, 4u);
    uint k = corners[gl_VertexIndex];
    Decal d = decals[gl_InstanceIndex];
    vec3 p = (vec3(k & 1u, (k >> 1) & 1u, k >> 2) * 2.0 - 1.0) * d.size.xyz;
    float c = cos(d.place.w), s = sin(d.place.w);
    out_place = d.place;
    out_size = d.size;
    gl_Position = frame.view_projection * vec4(d.place.xyz + vec3(c * p.x + s * p.z, p.y, -s * p.x + c * p.z), 1.0);
}
