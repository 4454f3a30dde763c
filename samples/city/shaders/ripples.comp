#version 450
#extension GL_GOOGLE_include_directive : require
// Rings of rain on water, as slopes; repeats every 4 metres.
#include "frame.glsl"
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 1, rg16f) uniform writeonly image2D ripples;

void main()
{
    ivec2 at = ivec2(gl_GlobalInvocationID.xy), size = imageSize(ripples);
    if (any(greaterThanEqual(at, size)))
        return;
    const int cells = 14;
    vec2 p = (vec2(at) + 0.5) / vec2(size) * float(cells);
    vec2 slope = vec2(0.0);
    for (int k = 0; k < 9; k++) {
        ivec2 cell = ivec2(floor(p)) + ivec2(k % 3, k / 3) - 1, home = (cell + cells) % cells;
        float phase = frame.eye.w * 0.9 + 7.0 * hash2(home, 11u), age = fract(phase);
        uint turn = uint(floor(phase)) + 13u;
        vec2 centre = vec2(cell) + 0.25 + 0.5 * vec2(hash2(home, turn), hash2(home, turn + 77u));
        if (hash2(home, turn + 31u) > 0.45)
            continue;
        vec2 off = p - centre;
        float r = length(off), front = r - 0.85 * age;
        float wave = cos(front * 34.0) * exp(-front * front * 90.0) * (1.0 - age) * (1.0 - age);
        slope += off / max(r, 0.02) * wave;
    }
    imageStore(ripples, at, vec4(slope, 0.0, 0.0));
}
