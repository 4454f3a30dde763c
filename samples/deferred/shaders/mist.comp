#version 450
#extension GL_GOOGLE_include_directive : require
// Sunlight in the mist, at half the size: a few steps along the view ray through the shadow map.
#include "frame.glsl"
#include "light.glsl"
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 1) uniform sampler2D depth_map;
layout(set = 0, binding = 2) uniform sampler2DShadow sun_map;
layout(set = 0, binding = 3, rgba16f) uniform writeonly image2D mist;

float density(float y)
{
    return 0.0011 + 0.0100 * exp(-0.40 * max(y, 0.0));
}

void main()
{
    ivec2 cell = ivec2(gl_GlobalInvocationID.xy);
    if (any(greaterThanEqual(cell, imageSize(mist))))
        return;
    ivec2 pixel = min(cell * 2, ivec2(frame.size.xy) - 1);
    vec2 uv = (vec2(pixel) + 0.5) * frame.size.zw;
    vec3 eye = frame.eye.xyz, ray = view_ray(uv), p = world_place(uv, max(texelFetch(depth_map, pixel, 0).r, 1e-5));
    float reach = min(length(p - eye), 42.0), toward = dot(ray, frame.sun.xyz);
    // Henyey and Greenstein's phase function: mist throws most of the light on ahead.
    const float g = 0.72;
    float phase = (1.0 - g * g) / pow(1.0 + g * g - 2.0 * g * toward, 1.5) * 0.25;
    int steps = 18 * int(frame.detail.x);
    float jitter = pixel_noise(vec2(cell)), open = 1.0;
    vec3 sum = vec3(0.0);
    for (int i = 0; i < steps; i++) {
        float a = float(i) / float(steps), b = float(i + 1) / float(steps), t = mix(a, b, jitter);
        float at = reach * t * (0.35 + 0.65 * t), width = reach * (b * (0.35 + 0.65 * b) - a * (0.35 + 0.65 * a));
        vec3 q = eye + ray * at, s = sun_map_place(q);
        float lit = texture(sun_map, vec3(s.xy, s.z + 0.0008));
        float gone = 1.0 - exp(-density(q.y) * width);
        sum += open * gone * (frame.sun_color.rgb * 1.25 * phase * lit + vec3(0.04, 0.045, 0.075));
        open *= 1.0 - gone;
    }
    imageStore(mist, cell, vec4(sum, open));
}
