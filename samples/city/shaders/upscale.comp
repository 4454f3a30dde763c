#version 450
#extension GL_GOOGLE_include_directive : require
// From two thirds to the picture's size, over time: this frame's samples lie elsewhere in the pixels each frame, and
// are added to what the frames before made of theirs, moved along and clamped to what stands around the pixel now.
#include "frame.glsl"
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 1) uniform sampler2D scene;
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
    vec2 at = uv * frame.out_size.xy - 0.5, f = fract(at), base = floor(at) + 0.5;
    vec2 w0 = f * (-0.5 + f * (1.0 - 0.5 * f)), w1 = 1.0 + f * f * (1.5 * f - 2.5);
    vec2 w2 = f * (0.5 + f * (2.0 - 1.5 * f)), w3 = f * f * (0.5 * f - 0.5), w12 = w1 + w2;
    vec2 t = frame.out_size.zw, p0 = (base - 1.0) * t, p3 = (base + 2.0) * t, p12 = (base + w2 / w12) * t;
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
    if (any(greaterThanEqual(pixel, ivec2(frame.out_size.xy))))
        return;
    vec2 uv = (vec2(pixel) + 0.5) * frame.out_size.zw;
    vec2 at = (uv + frame.jitter.xy) * frame.size.xy; // where this place lies in the frame's pixels
    ivec2 centre = ivec2(floor(at));
    vec3 sum = vec3(0.0), mean = vec3(0.0), squares = vec3(0.0);
    float weights = 0.0, best = 0.0, nearest = -1.0;
    ivec2 nearest_at = centre;
    for (int k = 0; k < 9; k++) {
        ivec2 there = clamp(centre + ivec2(k % 3 - 1, k / 3 - 1), ivec2(0), last);
        vec3 c = compress(texelFetch(scene, there, 0).rgb);
        vec2 off = (vec2(there) + 0.5 - at) * frame.out_size.xy * frame.size.zw; // in pixels of the picture
        float w = exp(-1.1 * dot(off, off)), depth = texelFetch(depth_map, there, 0).r;
        sum += w * c;
        weights += w;
        best = max(best, w);
        mean += c;
        squares += c * c;
        if (depth > nearest) {
            nearest = depth;
            nearest_at = there;
        }
    }
    vec3 now = sum / max(weights, 1e-4);
    vec2 motion = nearest > 0.0 ? texelFetch(motion_map, nearest_at, 0).rg : sky_motion(uv), from = uv - motion;
    if (frame.planes.z > 0.0 && all(greaterThan(from, vec2(0.0))) && all(lessThan(from, vec2(1.0)))) {
        mean /= 9.0;
        vec3 spread = sqrt(max(squares / 9.0 - mean * mean, vec3(0.0))), old = compress(sharp_history(from)),
            away = old - mean;
        vec3 over = abs(away) / max(1.3 * spread, vec3(1e-4));
        old = mean + away / max(max(over.x, over.y), max(over.z, 1.0));
        now = mix(old, now, clamp(0.13 * best + 0.02, 0.0, 1.0));
    }
    imageStore(resolved, pixel, vec4(expand(now), 1.0));
}
