#version 450
#extension GL_GOOGLE_include_directive : require
// Antialiasing over time: last frame's result, moved along and clamped to what stands around the pixel now.
#include "frame.glsl"
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 1) uniform sampler2D lit;
layout(set = 0, binding = 2) uniform sampler2D depth_map;
layout(set = 0, binding = 3) uniform sampler2D motion_map;
layout(set = 0, binding = 4) uniform sampler2D history;
layout(set = 0, binding = 5, rgba16f) uniform writeonly image2D resolved;

// Bright pixels count less, or they would flicker; undone at the end.
vec3 compress(vec3 c)
{
    return c / (1.0 + luminance(c));
}

vec3 expand(vec3 c)
{
    return c / max(1.0 - luminance(c), 1e-3);
}

// A bicubic look-up (Catmull and Rom) that leaves out the four corners: sharper than a linear one.
vec3 sharp_history(vec2 uv)
{
    vec2 at = uv * frame.size.xy - 0.5, f = fract(at), base = floor(at) + 0.5;
    vec2 w0 = f * (-0.5 + f * (1.0 - 0.5 * f)), w1 = 1.0 + f * f * (1.5 * f - 2.5);
    vec2 w2 = f * (0.5 + f * (2.0 - 1.5 * f)), w3 = f * f * (0.5 * f - 0.5), w12 = w1 + w2;
    vec2 p0 = (base - 1.0) * frame.size.zw, p3 = (base + 2.0) * frame.size.zw, p12 = (base + w2 / w12) * frame.size.zw;
    vec4 sum = vec4(textureLod(history, vec2(p12.x, p12.y), 0.0).rgb, 1.0) * w12.x * w12.y;
    sum += vec4(textureLod(history, vec2(p12.x, p0.y), 0.0).rgb, 1.0) * w12.x * w0.y;
    sum += vec4(textureLod(history, vec2(p12.x, p3.y), 0.0).rgb, 1.0) * w12.x * w3.y;
    sum += vec4(textureLod(history, vec2(p0.x, p12.y), 0.0).rgb, 1.0) * w0.x * w12.y;
    sum += vec4(textureLod(history, vec2(p3.x, p12.y), 0.0).rgb, 1.0) * w3.x * w12.y;
    return max(sum.rgb / sum.a, vec3(0.0));
}

vec2 sky_motion(vec2 uv)
{
    vec3 far = frame.eye.xyz + view_ray(uv) * 1000.0;
    vec4 now = frame.clean_view_projection * vec4(far, 1.0), before = frame.last_view_projection * vec4(far, 1.0);
    return 0.5 * (now.xy / now.w - before.xy / before.w);
}

void main()
{
    ivec2 pixel = ivec2(gl_GlobalInvocationID.xy), last = ivec2(frame.size.xy) - 1;
    if (any(greaterThan(pixel, last)))
        return;
    vec2 uv = (vec2(pixel) + 0.5) * frame.size.zw;
    vec3 middle = vec3(0.0), sum = vec3(0.0), squares = vec3(0.0);
    float nearest = -1.0;
    ivec2 nearest_at = pixel;
    for (int y = -1; y <= 1; y++) {
        for (int x = -1; x <= 1; x++) {
            ivec2 at = clamp(pixel + ivec2(x, y), ivec2(0), last);
            vec3 c = compress(texelFetch(lit, at, 0).rgb);
            float depth = texelFetch(depth_map, at, 0).r;
            sum += c;
            squares += c * c;
            if (x == 0 && y == 0)
                middle = c;
            if (depth > nearest) {
                nearest = depth;
                nearest_at = at;
            }
        }
    }
    vec2 motion = nearest > 0.0 ? texelFetch(motion_map, nearest_at, 0).rg : sky_motion(uv);
    vec2 from = uv - motion;
    vec3 result = middle;
    if (frame.planes.z > 0.0 && all(greaterThan(from, vec2(0.0))) && all(lessThan(from, vec2(1.0)))) {
        vec3 mean = sum / 9.0, spread = sqrt(max(squares / 9.0 - mean * mean, vec3(0.0)));
        vec3 old = compress(sharp_history(from)), away = old - mean;
        vec3 over = abs(away) / max(1.25 * spread, vec3(1e-4));
        float most = max(max(over.x, over.y), max(over.z, 1.0));
        old = mean + away / most;
        result = mix(middle, old, frame.planes.z);
    }
    imageStore(resolved, pixel, vec4(expand(result), 1.0));
}
