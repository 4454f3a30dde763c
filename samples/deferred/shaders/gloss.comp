#version 450
#extension GL_GOOGLE_include_directive : require
// Blurs the mirrored court by the floor's roughness and by how far behind the floor the mirrored thing stands.
#include "frame.glsl"
#include "light.glsl"
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 1) uniform sampler2D depth_map;
layout(set = 0, binding = 2) uniform sampler2D normal_map;
layout(set = 0, binding = 3) uniform sampler2D mirrored;
layout(set = 0, binding = 4, rgba16f) uniform writeonly image2D reflected;

void main()
{
    ivec2 cell = ivec2(gl_GlobalInvocationID.xy), size = imageSize(reflected);
    if (any(greaterThanEqual(cell, size)))
        return;
    ivec2 pixel = min(cell * 2, ivec2(frame.size.xy) - 1);
    vec4 normal = texelFetch(normal_map, pixel, 0);
    float depth = texelFetch(depth_map, pixel, 0).r;
    vec2 uv = (vec2(pixel) + 0.5) * frame.size.zw;
    vec3 p = world_place(uv, max(depth, 1e-5));
    if (depth <= 0.0 || abs(p.y) > 0.05 || normal.y < 0.9) {
        imageStore(reflected, cell, vec4(0.0));
        return;
    }
    vec3 ray = view_ray(uv), up = vec3(ray.x, -ray.y, ray.z), beyond = sky(up);
    float floor_depth = view_depth(depth), cone = normal.w * normal.w, turn = pixel_noise(vec2(cell) + 17.0);
    // A ripple turns the mirrored ray: the farther the mirrored thing is behind the surface, the more it moves.
    float straight = texelFetch(mirrored, cell, 0).a, way = straight > 0.0 ? max(1.0 - floor_depth / straight,
        0.0) : 0.8;
    vec2 middle = vec2(cell) + 0.5 + normal.xz * 0.6 * way * frame.planes.w * 0.5;
    float behind = texelFetch(mirrored, clamp(ivec2(middle), ivec2(0), size - 1), 0).a;
    behind = behind > 0.0 ? behind : 60.0;
    const int taps = 10;
    float radius = max(0.4, 0.9 * cone * max(behind - floor_depth, 0.0) / behind * frame.planes.w * 0.5);
    vec3 sum = vec3(0.0);
    for (int i = 0; i < taps; i++) {
        vec2 at = middle + disc_point(i, taps, turn) * radius * vec2(0.55, 1.0);
        vec4 c = texelFetch(mirrored, clamp(ivec2(at), ivec2(0), size - 1), 0);
        sum += c.a > 0.0 ? min(c.rgb, vec3(8.0)) : beyond;
    }
    imageStore(reflected, cell, vec4(sum / float(taps), 1.0));
}
