/* struct constants of main.c. */
layout(set = 0, binding = 0, std140) uniform constants_block
{
    mat4 view_projection, inverse_view_projection;
    vec4 eye; /* w: seconds */
    vec4 sun; /* direction towards it */
    vec2 size;
    float near;
} c;

const vec3 SUN = vec3(1.0, 0.71, 0.45) * 10.5;

float hash21(vec2 p)
{
    uvec2 u = uvec2(ivec2(floor(p)));
    uint h = u.x * 0x8da6b343u ^ u.y * 0xd8163841u;
    h ^= h >> 15;
    h *= 0x2c1b3c6du;
    h ^= h >> 12;
    h *= 0x297a2d39u;
    return float(h >> 8) / 16777216.0;
}

float noise(vec2 p)
{
    vec2 f = fract(p), u = f * f * (3.0 - 2.0 * f);
    return mix(mix(hash21(p), hash21(p + vec2(1, 0)), u.x), mix(hash21(p + vec2(0, 1)), hash21(p + vec2(1, 1)), u.x),
               u.y);
}

/* What the air scatters towards the eye from far away, without the sun's disc. */
vec3 sky_color(vec3 direction)
{
    float up = max(direction.y, 0.0), toward = max(dot(direction, c.sun.xyz), 0.0);
    float warm = 0.5 * pow(toward * 0.5 + 0.5, 3.0) + 0.5 * pow(toward, 5.0);
    vec3 low = mix(vec3(0.62, 0.60, 0.74), vec3(1.55, 0.86, 0.46), warm);
    vec3 high = vec3(0.085, 0.20, 0.50);
    vec3 sky = mix(low, mix(vec3(0.36, 0.47, 0.74), high, smoothstep(0.05, 0.7, up)), 1.0 - exp2(-9.0 * up));
    return sky + SUN * (0.020 * pow(toward, 8.0) + 0.055 * pow(toward, 90.0));
}
