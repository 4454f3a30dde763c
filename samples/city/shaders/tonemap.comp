#version 450
#extension GL_GOOGLE_include_directive : require
// From light to the picture: a little sharpening, bloom, a vignette, a film-like curve over stops of light.
#include "frame.glsl"
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 1) uniform sampler2D blurred;
layout(set = 0, binding = 2) uniform sampler2D bloom;
layout(set = 0, binding = 3, std430) readonly buffer Exposure
{
    vec4 exposure;
};
layout(set = 0, binding = 4, rgba8) uniform writeonly image2D picture;

vec3 compress(vec3 c)
{
    return c / (1.0 + luminance(c));
}

vec3 sharpened(ivec2 pixel)
{
    ivec2 last = ivec2(frame.out_size.xy) - 1;
    vec3 k = compress(texelFetch(blurred, pixel, 0).rgb);
    vec3 around = compress(texelFetch(blurred, min(pixel + ivec2(1, 0), last), 0).rgb) +
                  compress(texelFetch(blurred, max(pixel - ivec2(1, 0), ivec2(0)), 0).rgb) +
                  compress(texelFetch(blurred, min(pixel + ivec2(0, 1), last), 0).rgb) +
                  compress(texelFetch(blurred, max(pixel - ivec2(0, 1), ivec2(0)), 0).rgb);
    k = max(k + 0.35 * (k - 0.25 * around), vec3(0.0));
    return k / max(1.0 - luminance(k), 0.016);
}

// Bright colours move towards white as film does: mixed before the curve, and partly unmixed after it. Eleven stops
// around mid grey, an S between black and white; the result is already encoded for display.
vec3 film(vec3 c)
{
    const mat3 mixed = mat3(0.86, 0.06, 0.05, 0.09, 0.87, 0.09, 0.05, 0.07, 0.86);
    const mat3 unmixed = mat3(1.16, -0.06, -0.05, -0.105, 1.135, -0.085, -0.055, -0.075, 1.135);
    c = log2(max(mixed * c, vec3(1e-6)));
    vec3 t = clamp((c + 7.2) / 10.9, 0.0, 1.0);
    vec3 s = t * t * (3.0 - 2.0 * t);
    s = mix(s, t * t * t * (t * (6.0 * t - 15.0) + 10.0), 0.72);
    return clamp(unmixed * s, 0.0, 1.0);
}

void main()
{
    ivec2 pixel = ivec2(gl_GlobalInvocationID.xy);
    if (any(greaterThanEqual(pixel, ivec2(frame.out_size.xy))))
        return;
    vec2 uv = (vec2(pixel) + 0.5) * frame.out_size.zw;
    vec3 color = sharpened(pixel);
    color = mix(color, textureLod(bloom, uv, 0.0).rgb, 0.13);
    vec2 off = (uv - 0.5) * vec2(1.05, 0.95);
    color *= exposure.x * (1.0 - 0.7 * dot(off, off));
    vec3 shown = film(color);
    float l = luminance(shown); // shadows a little bluer, lights a little warmer
    shown = mix(shown, shown * mix(vec3(0.93, 0.99, 1.10), vec3(1.04, 1.0, 0.95), smoothstep(0.05, 0.7, l)), 0.7);
    float dither = fract(52.9829189 * fract(dot(vec2(pixel), vec2(0.06711056, 0.00583715)))) - 0.5;
    imageStore(picture, pixel, vec4(shown + dither / 255.0, 1.0));
}
