#version 460
/* What shines, spread a little further each frame, and fading. */
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 0) uniform sampler2D scene;
layout(set = 0, binding = 1) uniform sampler2D old_glow;
layout(set = 0, binding = 2, rgba16f) writeonly uniform image2D glow;

void main()
{
    ivec2 size = imageSize(glow), at = ivec2(gl_GlobalInvocationID.xy);
    if (any(greaterThanEqual(at, size)))
        return;
    vec2 uv = (vec2(at) + 0.5) / vec2(size), texel = 1.0 / vec2(size);
    vec3 bright = vec3(0.0);
    for (int i = 0; i < 4; i++) {
        vec3 here = texture(scene, uv + texel * (vec2(i & 1, i >> 1) - 0.5) * 0.5).rgb;
        bright += min(max(here - 0.9, 0.0), 8.0) * 0.25;
    }
    vec3 old = texture(old_glow, uv).rgb * 0.25;
    for (int i = 0; i < 4; i++) {
        vec2 offset = vec2(i & 1, i >> 1) * 2.0 - 1.0;
        old += texture(old_glow, uv + texel * offset * 2.4).rgb * 0.125;
        old += texture(old_glow, uv + texel * vec2(offset.x + offset.y, offset.y - offset.x) * 1.1).rgb * 0.0625;
    }
    imageStore(glow, at, vec4(bright * 0.2 + old * 0.82, 1.0));
}
