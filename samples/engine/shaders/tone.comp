#version 460
#extension GL_GOOGLE_include_directive : require
/* Light to picture. */
#include "common.glsl"

layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 1) uniform sampler2D scene;
layout(set = 0, binding = 2) uniform sampler2D glow;
layout(set = 0, binding = 3, rgba8) writeonly uniform image2D picture;
layout(push_constant) uniform push_block { uint view; float glow_strength; };

vec3 film(vec3 x) /* Narkowicz's fit of the ACES curve */
{
    return clamp(x * (2.51 * x + 0.03) / (x * (2.43 * x + 0.59) + 0.14), 0.0, 1.0);
}

void main()
{
    ivec2 size = imageSize(picture), at = ivec2(gl_GlobalInvocationID.xy);
    if (any(greaterThanEqual(at, size)))
        return;
    vec2 uv = (vec2(at) + 0.5) / vec2(size), middle = uv - 0.5;
    vec3 light = texelFetch(scene, at, 0).rgb + texture(glow, uv).rgb * glow_strength * 0.55;
    light *= c.exposure[view] * (1.0 - 0.9 * dot(middle, middle));
    vec3 shown = film(light);
    shown = mix(shown * 12.92, 1.055 * pow(shown, vec3(1.0 / 2.4)) - 0.055, step(0.0031308, shown));
    float grain = fract(52.9829189 * fract(dot(vec2(at), vec2(0.06711056, 0.00583715))));
    imageStore(picture, at, vec4(shown + (grain - 0.5) / 255.0, 1.0));
}
