#version 460
#extension GL_GOOGLE_include_directive : require
/* Light to picture: edges are smoothed along themselves, then the film. */
#include "common.glsl"

layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 1) uniform sampler2D light;
layout(set = 0, binding = 2, rgba8) writeonly uniform image2D picture;

vec3 film(vec3 x) /* Narkowicz's fit of the ACES curve */
{
    return clamp(x * (2.51 * x + 0.03) / (x * (2.43 * x + 0.59) + 0.14), 0.0, 1.0);
}

vec3 shown(vec2 uv)
{
    return sqrt(film(texture(light, uv).rgb * 0.62));
}

float grey(vec3 color)
{
    return dot(color, vec3(0.299, 0.587, 0.114));
}

void main()
{
    ivec2 at = ivec2(gl_GlobalInvocationID.xy), size = imageSize(picture);
    if (any(greaterThanEqual(at, size)))
        return;
    vec2 texel = 1.0 / vec2(size), uv = (vec2(at) + 0.5) * texel;
    vec3 middle = shown(uv);
    float m = grey(middle), a = grey(shown(uv + texel * vec2(-1, -1))), b = grey(shown(uv + texel * vec2(1, -1))),
          d = grey(shown(uv + texel * vec2(-1, 1))), e = grey(shown(uv + texel * vec2(1, 1)));
    float least = min(m, min(min(a, b), min(d, e))), most = max(m, max(max(a, b), max(d, e)));
    if (most - least > max(0.04, most * 0.12)) {
        vec2 along = vec2(-((a + b) - (d + e)), (a + d) - (b + e));
        float scale = 1.0 / (min(abs(along.x), abs(along.y)) + max((a + b + d + e) * 0.03, 0.008));
        along = clamp(along * scale, vec2(-8.0), vec2(8.0)) * texel;
        vec3 near = 0.5 * (shown(uv - along / 6.0) + shown(uv + along / 6.0));
        vec3 far = near * 0.5 + 0.25 * (shown(uv - along * 0.5) + shown(uv + along * 0.5));
        float f = grey(far);
        middle = f < least || f > most ? near : far;
    }
    vec3 linear = middle * middle;
    vec2 off = uv - 0.5;
    linear *= 1.0 - 0.55 * dot(off, off);
    vec3 result = mix(linear * 12.92, 1.055 * pow(max(linear, 1e-5), vec3(1.0 / 2.4)) - 0.055, step(0.0031308, linear));
    float dither = fract(52.9829189 * fract(dot(vec2(at), vec2(0.06711056, 0.00583715))));
    imageStore(picture, at, vec4(result + (dither - 0.5) / 255.0, 1.0));
}
