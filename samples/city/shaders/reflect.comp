#version 450
#extension GL_GOOGLE_include_directive : require
// What wet streets, panes and cars mirror: first what the screen shows, then the walls of the map, then the sky.
#include "frame.glsl"
#include "light.glsl"
#include "sky.glsl"
#include "facade.glsl"
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 1) uniform sampler2D depth_map;
layout(set = 0, binding = 2) uniform sampler2D normal_map;
layout(set = 0, binding = 3) uniform sampler2D lit;
layout(set = 0, binding = 4) uniform sampler2D sky_table;
layout(set = 0, binding = 5) uniform sampler2D sky_light;
layout(set = 0, binding = 6, std430) readonly buffer Map
{
    vec2 map[];
};
layout(set = 0, binding = 7, rgba16f) uniform writeonly image2D mirrored; // alpha: metres to what is seen

#include "map.glsl"

vec3 wall_seen(vec3 from, vec3 d, Hit hit)
{
    vec3 p = from + d * hit.distance;
    uint style = hit.packed & 3u, seed = hit.packed >> 2;
    vec3 along = abs(hit.normal.x) > 0.5 ? vec3(0.0, 0.0, 1.0) : vec3(1.0, 0.0, 0.0);
    vec3 ray = vec3(dot(d, along), d.y, -dot(d, hit.normal));
    float footprint = hit.distance / frame.planes.w + 0.02;
    Wall w = wall_at(dot(p, along), p.y, ray, seed, style, footprint);
    if (p.y < SHOP_HEIGHT)
        w = shop_at(dot(p, along), p.y, ray, seed, footprint);
    vec3 light = textureLod(sky_light, sky_place(hit.normal), 0.0).rgb * 0.5 + vec3(0.40, 0.24, 0.12) * exp(-p.y / 7.0);
    return w.emission + w.albedo * light;
}

// The ray on the screen; w: metres, or -1.
vec4 screen_seen(vec3 from, vec3 d, float jitter, int steps)
{
    float before = 0.0, grow = 1.0 + 7.2 / float(steps), step = 0.12, t = step * (0.5 + jitter);
    for (int i = 0; i < steps; i++) {
        vec4 c = frame.view_projection * vec4(from + d * t, 1.0);
        vec2 uv = c.xy / c.w * 0.5 + 0.5;
        if (c.w < 0.1 || any(lessThan(uv, vec2(0.0))) || any(greaterThan(uv, vec2(1.0))))
            break;
        float scene = texelFetch(depth_map, ivec2(uv * frame.size.xy), 0).r;
        float over = c.w - view_depth(scene);
        if (scene > 0.0 && over > 0.0 && over < 0.5 + 1.2 * (t - before)) {
            float a = before, b = t;
            for (int k = 0; k < 5; k++) { // the place between the last two
                float m = 0.5 * (a + b);
                vec4 q = frame.view_projection * vec4(from + d * m, 1.0);
                vec2 at = q.xy / q.w * 0.5 + 0.5;
                float there = texelFetch(depth_map, ivec2(at * frame.size.xy), 0).r;
                if (there > 0.0 && q.w > view_depth(there)) {
                    b = m;
                    uv = at;
                } else
                    a = m;
            }
            vec4 q = frame.view_projection * vec4(from + d * b, 1.0);
            float rest = q.w - view_depth(texelFetch(depth_map, ivec2(uv * frame.size.xy), 0).r);
            vec2 edge = smoothstep(vec2(0.0), vec2(0.04, 0.02), uv) * smoothstep(vec2(0.0), vec2(0.04, 0.02), 1.0 - uv);
            if (abs(rest) < 0.4 + 0.03 * q.w && edge.x * edge.y > jitter * 0.999)
                return vec4(textureLod(lit, uv, 0.0).rgb, b);
        }
        before = t;
        step *= grow;
        t += step;
    }
    return vec4(0.0, 0.0, 0.0, -1.0);
}

void main()
{
    ivec2 pixel = ivec2(gl_GlobalInvocationID.xy);
    if (any(greaterThanEqual(pixel, imageSize(mirrored))))
        return;
    float depth = texelFetch(depth_map, pixel, 0).r;
    vec4 g = texelFetch(normal_map, pixel, 0);
    vec2 uv = (vec2(pixel) + 0.5) * frame.size.zw;
    if (depth <= 0.0) {
        imageStore(mirrored, pixel, vec4(0.0));
        return;
    }
    vec3 p = world_place(uv, depth), n = normalize(g.xyz), v = normalize(p - frame.eye.xyz);
    float deep = view_depth(depth), noise = pixel_noise(vec2(pixel));
    if (g.w > 0.55 || deep > 420.0) { // too rough for a picture: the sky's light from about there
        vec3 d = reflect(v, n);
        imageStore(mirrored, pixel, vec4(textureLod(sky_light, sky_place(d), 0.0).rgb * openness(p + n), 8.0));
        return;
    }
    // A facet of the surface, as rough as it is: the reflection is spread over many pixels and frames.
    float spread = g.w * g.w * 0.55, turn = 2.0 * PI * pixel_noise(vec2(pixel.yx) + 47.0);
    float r = spread * sqrt(noise / max(1.0 - 0.9 * noise, 0.05));
    vec3 x = normalize(cross(abs(n.y) < 0.9 ? vec3(0, 1, 0) : vec3(1, 0, 0), n)), y = cross(n, x);
    vec3 h = normalize(n + (x * cos(turn) + y * sin(turn)) * r), d = reflect(v, h);
    if (dot(d, n) < 0.02)
        d = normalize(d + n * (0.04 - dot(d, n)));
    vec3 from = p + n * (0.02 + 0.0015 * deep);
    vec4 seen = screen_seen(from, d, pixel_noise(vec2(pixel) + 11.0), int(frame.detail.x));
    if (seen.w < 0.0) {
        Hit hit = trace_map(from, d, int(frame.detail.x) * 2);
        seen = hit.distance > 0.0 ? vec4(wall_seen(from, d, hit), hit.distance)
                                  : vec4(textureLod(sky_table, sky_place(vec3(d.x, abs(d.y), d.z)), 0.0).rgb, 200.0);
    }
    // Mist on the ray's way.
    float y_mean = max(p.y + 0.4 * d.y * min(seen.w, 60.0), 0.0);
    float through = exp(-min(seen.w, 220.0) * (0.0012 + 0.0032 * exp(-y_mean / 5.5)));
    seen.rgb = mix(vec3(0.060, 0.058, 0.075), seen.rgb, through);
    imageStore(mirrored, pixel, vec4(min(seen.rgb, vec3(18.0)), seen.w));
}
