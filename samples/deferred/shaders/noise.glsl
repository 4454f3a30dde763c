// Value noise.
float hash3(ivec3 p)
{
    uint n = uint(p.x) * 73856093u ^ uint(p.y) * 19349663u ^ uint(p.z) * 83492791u;
    n = (n ^ (n >> 15)) * 0x2c1b3c6du;
    n = (n ^ (n >> 12)) * 0x297a2d39u;
    return float((n ^ (n >> 15)) & 0xffffu) / 65535.0;
}

float noise3(vec3 p)
{
    ivec3 i = ivec3(floor(p));
    vec3 f = fract(p);
    f = f * f * (3.0 - 2.0 * f);
    vec4 a = vec4(hash3(i), hash3(i + ivec3(0, 1, 0)), hash3(i + ivec3(0, 0, 1)), hash3(i + ivec3(0, 1, 1)));
    vec4 b = vec4(hash3(i + ivec3(1, 0, 0)), hash3(i + ivec3(1, 1, 0)), hash3(i + ivec3(1, 0, 1)), hash3(i + ivec3(1,
        1, 1)));
    vec4 x = mix(a, b, f.x);
    vec2 y = mix(x.xz, x.yw, f.y);
    return mix(y.x, y.y, f.z);
}

float cloudy(vec3 p)
{
    return 0.55 * noise3(p) + 0.30 * noise3(p * 2.3 + 7.1) + 0.15 * noise3(p * 5.1 + 3.7);
}
