#version 450
#extension GL_GOOGLE_include_directive : require
// The exposure follows the middle of the histogram, slowly and not far.
#include "frame.glsl"
layout(local_size_x = 1) in;
layout(set = 0, binding = 1, std430) readonly buffer Bins
{
    uint bins[64];
};
layout(set = 0, binding = 2, std430) readonly buffer Before
{
    vec4 before;
};
layout(set = 0, binding = 3, std430) writeonly buffer Exposure
{
    vec4 exposure; // factor, mean stops, darkest and brightest stop
};

void main()
{
    float all = 0.0, seen = 0.0, sum = 0.0, count = 0.0, low = -14.0, high = -14.0;
    for (int i = 0; i < 64; i++)
        all += float(bins[i]);
    for (int i = 0; i < 64; i++) {
        float stops = (float(i) + 0.5) / 3.0 - 14.0, n = float(bins[i]);
        float from = clamp(seen, 0.35 * all, 0.90 * all), to = clamp(seen + n, 0.35 * all, 0.90 * all);
        sum += stops * (to - from);
        count += to - from;
        low = seen < 0.01 * all ? stops : low;
        high = seen < 0.99 * all ? stops : high;
        seen += n;
    }
    float mean = sum / max(count, 1.0), wanted = clamp(exp2(-2.6 - mean), 0.65, 2.6);
    float factor = frame.planes.z > 0.0 && before.x > 0.0 ? mix(before.x, wanted, 0.06) : wanted;
    exposure = vec4(factor, mean, low, high);
}
