/* struct constants of engine.h. */
layout(set = 0, binding = 0, std140) uniform constants_block
{
    mat4 view_projection[2];
    mat4 inverse_view_projection[2];
    mat4 sun_matrix;
    vec4 eye[2];
    vec4 sun;
    vec2 exposure;
    float time, shadows, waves;
    uint side;
} c;

const vec3 SUN_COLOR = vec3(1.0, 0.70, 0.42);

vec3 sky_color(vec3 direction)
{
    float up = max(direction.y, 0.0);
    vec3 sky = mix(vec3(0.95, 0.52, 0.34), vec3(0.30, 0.33, 0.52), smoothstep(0.0, 0.22, up));
    sky = mix(sky, vec3(0.05, 0.09, 0.22), smoothstep(0.12, 0.85, up));
    float toward = max(dot(direction, c.sun.xyz), 0.0);
    sky += SUN_COLOR * (0.35 * pow(toward, 6.0) + 0.7 * pow(toward, 48.0));
    return mix(sky, vec3(0.34, 0.20, 0.19), smoothstep(0.0, -0.3, direction.y));
}

uint hash(uint x)
{
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ x >> 16;
}

/* Where a column stands; rows are offset. */
vec2 cell_place(uint index)
{
    uint x = index % c.side, y = index / c.side;
    return vec2(float(x) + 0.5 * float(y & 1u), float(y) * 0.866) - float(c.side) * vec2(0.5, 0.433);
}

/* From the middle of the field: 0, to its rim: 1. */
float cell_distance(vec2 place)
{
    return length(place) / (0.43 * float(c.side));
}
