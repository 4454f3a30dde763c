#version 450
#extension GL_GOOGLE_include_directive : require
// The sky's light on a surface, by the direction that it faces; over pi.
#include "frame.glsl"
#include "sky.glsl"
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 1) uniform sampler2D table;
layout(set = 0, binding = 2, rgba16f) uniform writeonly image2D light;

void main()
{
    ivec2 at = ivec2(gl_GlobalInvocationID.xy), size = imageSize(light);
    if (any(greaterThanEqual(at, size)))
        return;
    vec3 n = sky_direction((vec2(at) + 0.5) / vec2(size)), sum = vec3(0.0);
    const int count = 160;
    for (int i = 0; i < count; i++) { // evenly over the sphere, after Fibonacci
        float y = 1.0 - 2.0 * (float(i) + 0.5) / float(count), r = sqrt(1.0 - y * y), a = 2.39996323 * float(i);
        vec3 d = vec3(r * cos(a), y, r * sin(a));
        sum += max(dot(n, d), 0.0) * textureLod(table, sky_place(d), 0.0).rgb;
    }
    imageStore(light, at, vec4(sum * 4.0 / float(count), 1.0));
}
