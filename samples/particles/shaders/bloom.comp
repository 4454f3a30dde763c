#version 460
/* Down: thirteen taps into half the size. Up: nine taps, added to what the level has. */
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 0) uniform sampler2D from;
layout(set = 0, binding = 1, rgba16f) uniform image2D to;
layout(push_constant) uniform Push { uint up; float scale; };

vec3 tap(vec2 uv, vec2 texel, float x, float y)
{
    return textureLod(from, uv + texel * vec2(x, y), 0.0).rgb;
}

void main()
{
    ivec2 at = ivec2(gl_GlobalInvocationID.xy), size = imageSize(to);
    if (any(greaterThanEqual(at, size)))
        return;
    vec2 uv = (vec2(at) + 0.5) / vec2(size), texel = 1.0 / vec2(textureSize(from, 0));
    vec3 sum = vec3(0.0);
    if (up == 0u) {
        sum += 0.125 * tap(uv, texel, 0.0, 0.0);
        sum += 0.125 * (tap(uv, texel, -1.0, -1.0) + tap(uv, texel, 1.0, -1.0) + tap(uv, texel, -1.0, 1.0) +
                        tap(uv, texel, 1.0, 1.0));
        sum += 0.0625 * (tap(uv, texel, -2.0, 0.0) + tap(uv, texel, 2.0, 0.0) + tap(uv, texel, 0.0, -2.0) +
                         tap(uv, texel, 0.0, 2.0));
        sum += 0.03125 * (tap(uv, texel, -2.0, -2.0) + tap(uv, texel, 2.0, -2.0) + tap(uv, texel, -2.0, 2.0) +
                          tap(uv, texel, 2.0, 2.0));
        sum *= scale;
    } else {
        sum += 0.25 * tap(uv, texel, 0.0, 0.0);
        sum += 0.125 * (tap(uv, texel, -1.0, 0.0) + tap(uv, texel, 1.0, 0.0) + tap(uv, texel, 0.0, -1.0) +
                        tap(uv, texel, 0.0, 1.0));
        sum += 0.0625 * (tap(uv, texel, -1.0, -1.0) + tap(uv, texel, 1.0, -1.0) + tap(uv, texel, -1.0, 1.0) +
                         tap(uv, texel, 1.0, 1.0));
        sum = sum * scale + imageLoad(to, at).rgb;
    }
    imageStore(to, at, vec4(sum, 1.0));
}
