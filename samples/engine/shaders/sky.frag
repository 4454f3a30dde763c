#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(push_constant) uniform push_block { uint view; };
layout(location = 0) in vec2 place;
layout(location = 0) out vec4 color;

void main()
{
    vec4 far = c.inverse_view_projection[view] * vec4(place, 0.02, 1.0);
    vec3 direction = normalize(far.xyz / far.w - c.eye[view].xyz);
    vec3 sky = sky_color(direction);
    /* Stars, where the sky is dark. */
    vec3 cell = floor(direction * 220.0);
    uint seed = hash(uint(cell.x + 512.0) + 1031u * uint(cell.y + 512.0) + 65537u * uint(cell.z + 512.0));
    sky += (seed & 1023u) == 0u ? smoothstep(0.25, 0.7, direction.y) * float(seed >> 24) / 255.0 : 0.0;
    color = vec4(c.eye[view].w > 0.0 ? sky : vec3(0.030, 0.034, 0.050), 1.0);
}
