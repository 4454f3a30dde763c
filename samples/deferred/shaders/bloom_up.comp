#version 450
// One step up the chain: the smaller level, widened by a tent, joins this one.
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 1) uniform sampler2D below;
layout(set = 0, binding = 2, rgba16f) uniform image2D level;

void main()
{
    ivec2 cell = ivec2(gl_GlobalInvocationID.xy), size = imageSize(level);
    if (any(greaterThanEqual(cell, size)))
        return;
    vec2 uv = (vec2(cell) + 0.5) / vec2(size), texel = 0.75 / vec2(textureSize(below, 0));
    vec3 sum = textureLod(below, uv, 0.0).rgb * 2.0;
    sum += textureLod(below, uv + texel * vec2(-1.0, -1.0), 0.0).rgb + textureLod(below, uv +
        texel * vec2(1.0, -1.0), 0.0).rgb;
    sum += textureLod(below, uv + texel * vec2(-1.0, 1.0), 0.0).rgb + textureLod(below, uv +
        texel * vec2(1.0, 1.0), 0.0).rgb;
    imageStore(level, cell, vec4(mix(imageLoad(level, cell).rgb, sum / 6.0, 0.58), 1.0));
}
