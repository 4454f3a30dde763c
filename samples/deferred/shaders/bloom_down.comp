#version 450
// One step down the chain: a soft 4 x 4 box of the level above.
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 1) uniform sampler2D above;
layout(set = 0, binding = 2, rgba16f) uniform writeonly image2D level;
layout(push_constant) uniform Push
{
    uint first; // the first step also tames single bright pixels
} push;

vec3 tap(vec2 uv)
{
    vec3 c = textureLod(above, uv, 0.0).rgb;
    return push.first != 0u ? c / (1.0 + 0.08 * max(c.r, max(c.g, c.b))) : c;
}

void main()
{
    ivec2 cell = ivec2(gl_GlobalInvocationID.xy), size = imageSize(level);
    if (any(greaterThanEqual(cell, size)))
        return;
    vec2 uv = (vec2(cell) + 0.5) / vec2(size), texel = 1.0 / vec2(textureSize(above, 0));
    vec3 sum = tap(uv + texel * vec2(-1.0, -1.0)) + tap(uv + texel * vec2(1.0, -1.0)) + tap(uv +
        texel * vec2(-1.0, 1.0)) +
               tap(uv + texel * vec2(1.0, 1.0));
    imageStore(level, cell, vec4(0.25 * sum, 1.0));
}
