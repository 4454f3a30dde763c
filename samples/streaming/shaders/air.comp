#version 460
#extension GL_GOOGLE_include_directive : require
/* Between land and eye: water with what it mirrors, clouds, haze. */
#include "common.glsl"

layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 1) uniform sampler2D land;
layout(set = 0, binding = 2) uniform sampler2D depth_image;
layout(set = 0, binding = 3, rgba16f) writeonly uniform image2D light;

vec3 world_at(vec2 uv, float depth)
{
    vec4 p = c.inverse_view_projection * vec4(uv * 2.0 - 1.0, depth, 1.0);
    return p.xyz / p.w;
}

float cloud_cover(vec2 p)
{
    float sum = 0.0, weight = 0.5;
    p += c.eye.w * vec2(0.012, 0.004);
    for (int i = 0; i < 5; i++) {
        sum += weight * noise(p);
        p = mat2(1.6, 1.2, -1.2, 1.6) * p;
        weight *= 0.5;
    }
    return sum;
}

/* Thin layers high above, lit from the side. */
vec3 with_clouds(vec3 sky, vec3 direction)
{
    if (direction.y < 0.015)
        return sky;
    vec2 p = (c.eye.xz + direction.xz / direction.y * 3600.0) / 5200.0;
    float here = cloud_cover(p), nearer_sun = cloud_cover(p + c.sun.xz * 0.16);
    float cover = smoothstep(0.46, 0.74, here) * smoothstep(0.015, 0.12, direction.y);
    float toward = max(dot(direction, c.sun.xyz), 0.0);
    float lit = clamp(0.75 + 2.6 * (here - nearer_sun), 0.15, 1.5);
    vec3 cloud = vec3(0.42, 0.46, 0.62) + SUN * lit * (0.085 + 0.22 * pow(toward, 6.0));
    return mix(sky, cloud, cover * 0.85);
}

vec3 haze(vec3 color, vec3 from, vec3 direction, float way)
{
    /* Denser below: the integral of exp(-height / 380) along the way. */
    float rise = direction.y * way / 380.0;
    float mean = abs(rise) > 0.001 ? (1.0 - exp(-rise)) / rise : 1.0;
    float amount = 0.000075 * way * exp(-max(from.y, 0.0) / 380.0) * mean + 0.000014 * way;
    vec3 flat_direction = normalize(vec3(direction.x, max(direction.y, 0.0) * 0.3 + 0.03, direction.z));
    vec3 air = sky_color(flat_direction);
    vec3 keep = exp(-amount * vec3(0.78, 1.0, 1.42)); /* blue goes first */
    return color * keep + air * (1.0 - keep) * vec3(0.80, 0.90, 1.0);
}

/* What a mirrored ray meets: land on the screen, or sky. */
vec3 mirrored(vec3 from, vec3 direction)
{
    vec3 sky = sky_color(direction);
    float way = 18.0;
    for (int i = 0; i < 22; i++, way *= 1.32) {
        vec3 p = from + direction * way;
        vec4 clip = c.view_projection * vec4(p, 1.0);
        vec2 uv = clip.xy / clip.w * 0.5 + 0.5;
        if (clip.w <= 0.0 || any(lessThan(uv, vec2(0.0))) || any(greaterThan(uv, vec2(1.0))))
            break;
        float there = texture(depth_image, uv).x;
        if (there * clip.w > clip.z) { /* the land is nearer */
            vec3 hit = world_at(uv, there);
            if (hit.y < -1.0 || distance(hit, p) > way * 0.6 + 30.0)
                continue;
            vec2 rim = smoothstep(vec2(0.0), vec2(0.08), uv) * smoothstep(vec2(1.0), vec2(0.92), uv);
            return mix(sky, haze(texture(land, uv).rgb, from, direction, way), rim.x * rim.y);
        }
    }
    return sky;
}

vec3 water(vec3 below, vec3 direction, float way, float deep)
{
    vec3 p = c.eye.xyz + direction * way;
    vec2 q = p.xz, drift = vec2(c.eye.w * 0.6, c.eye.w * 0.35);
    vec2 slope = vec2(noise(q * 0.11 + drift), noise(q * 0.11 + 40.0 - drift)) +
                 0.6 * vec2(noise(q * 0.43 - drift * 1.7), noise(q * 0.43 + 80.0 + drift));
    slope = (slope - 0.8) * 0.045 / (1.0 + way * 0.0025);
    vec3 n = normalize(vec3(slope.x, 1.0, slope.y));
    vec3 r = reflect(direction, n);
    r.y = abs(r.y);
    float fresnel = 0.02 + 0.98 * pow(1.0 - max(dot(-direction, n), 0.0), 5.0);
    vec3 clear_water = exp(-deep * vec3(0.16, 0.065, 0.05));
    vec3 body = below * clear_water + vec3(0.012, 0.060, 0.068) * 1.6 * (1.0 - clear_water);
    vec3 glint = SUN * 14.0 * pow(max(dot(r, c.sun.xyz), 0.0), 420.0);
    return mix(body, mirrored(p, r), fresnel) + glint * fresnel;
}

void main()
{
    ivec2 at = ivec2(gl_GlobalInvocationID.xy), size = imageSize(light);
    if (any(greaterThanEqual(at, size)))
        return;
    vec2 uv = (vec2(at) + 0.5) / vec2(size);
    float depth = texelFetch(depth_image, at, 0).x;
    vec3 direction = normalize(world_at(uv, c.near) - c.eye.xyz);
    vec3 sum;
    float way = 60000.0;
    if (depth > 0.0) {
        sum = texelFetch(land, at, 0).rgb;
        way = distance(world_at(uv, depth), c.eye.xyz);
    }
    float surface = direction.y < -0.0001 ? c.eye.y / -direction.y : 1e9;
    if (depth <= 0.0 && surface > 45000.0) {
        sum = with_clouds(sky_color(direction), direction);
        float disc = smoothstep(0.99975, 0.99990, dot(direction, c.sun.xyz));
        sum += SUN * 30.0 * disc;
    } else {
        if (surface < way) {
            sum = water(depth > 0.0 ? sum : vec3(0.0), direction, surface, way - surface);
            way = surface;
        }
        sum = haze(sum, c.eye.xyz, direction, way);
    }
    imageStore(light, at, vec4(sum, 1.0));
}
