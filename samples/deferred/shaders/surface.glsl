// What things are made of: colour and roughness from the place in the world.
// 1 on the joints of a grid of that pitch, w wide, softened over the pixel's footprint.
float joint(float x, float pitch, float w, float footprint)
{
    float d = abs(fract(x / pitch + 0.5) - 0.5) * pitch;
    float soft = max(footprint, 0.002);
    return (1.0 - smoothstep(w - soft, w + soft, d)) * min(1.0, 2.0 * w / soft);
}

struct Surface {
    vec3 albedo;
    float roughness;
    vec3 normal;
};

void weather_stone(inout Surface s, vec3 p)
{
    float c = cloudy(p * vec3(1.7, 0.9, 1.7));
    float grain = noise3(p * 34.0);
    s.albedo *= 0.72 + 0.42 * c + 0.10 * (grain - 0.5);
    s.albedo = mix(s.albedo, s.albedo * vec3(0.80, 0.84, 0.80), smoothstep(0.55, 0.0, p.y) * 0.6);
    s.roughness += 0.2 * (c - 0.5);
}

void lay_wall(inout Surface s, vec3 p, float footprint)
{
    float c = cloudy(p * 1.3);
    float row = floor(p.y / 0.46);
    float along = abs(s.normal.x) > 0.5 ? p.z : p.x;
    float joints = max(joint(p.y, 0.46, 0.008, footprint), joint(along + 0.48 * mod(row, 2.0), 0.96, 0.008, footprint));
    float block = hash3(ivec3(int(floor((along + 0.48 * mod(row, 2.0)) / 0.96 + 0.5)), int(row), 3));
    s.albedo *= (0.70 + 0.40 * c + 0.16 * (block - 0.5)) * (1.0 - 0.5 * joints);
}

void lay_floor(inout Surface s, vec3 p, float footprint)
{
    if (p.x < -7.4 || p.x > 8.6 || p.z < -19.5 || p.z > 14.0) { // the meadow around the court
        float c = cloudy(p * 0.6);
        s.albedo = mix(vec3(0.10, 0.10, 0.035), vec3(0.19, 0.16, 0.06), c);
        s.roughness = 1.0;
        return;
    }
    const float pitch = 0.9;
    ivec2 tile = ivec2(floor(p.xz / pitch));
    vec2 in_tile = abs(fract(p.xz / pitch) - 0.5);
    float joints = max(joint(p.x, pitch, 0.006, footprint), joint(p.z, pitch, 0.006, footprint));
    float shade = hash3(ivec3(tile, 11));
    float veins = cloudy(vec3(p.xz * 1.6 + 5.0 * shade, shade * 9.0));
    float soft = max(footprint / pitch, 0.004);
    float inlay = 1.0 - smoothstep(0.16 - soft, 0.16 + soft, (1.0 - in_tile.x - in_tile.y));
    s.albedo *= 0.62 + 0.50 * veins + 0.18 * (shade - 0.5);
    s.albedo = mix(s.albedo, vec3(0.16, 0.085, 0.06) * (0.6 + 0.6 * veins), inlay);
    s.albedo *= 1.0 - 0.55 * joints;
    s.roughness = clamp(0.20 + 0.30 * veins * veins + 0.25 * joints, 0.08, 0.9);
}

void ripple_water(inout Surface s, vec3 p)
{
    float t = frame.eye.w;
    vec2 slope = vec2(0.0);
    slope += vec2(0.8, 0.6) * cos(dot(p.xz, vec2(0.8, 0.6)) * 5.0 + 1.7 * t);
    slope += vec2(-0.5, 0.87) * cos(dot(p.xz, vec2(-0.5, 0.87)) * 7.3 + 2.1 * t + 1.0);
    slope += vec2(0.2, -0.98) * cos(dot(p.xz, vec2(0.2, -0.98)) * 11.0 - 2.6 * t + 2.0);
    s.normal = normalize(vec3(0.010 * slope.x, 1.0, 0.010 * slope.y));
}

Surface surface_at(vec3 p, vec3 normal, vec4 paint, float kind)
{
    Surface s = Surface(paint.rgb, paint.a, normalize(normal));
    float footprint = length(fwidth(p)) * 0.6;
    if (kind == SURFACE_STONE)
        weather_stone(s, p);
    else if (kind == SURFACE_WALL)
        lay_wall(s, p, footprint);
    else if (kind == SURFACE_FLOOR)
        lay_floor(s, p, footprint);
    else if (kind == SURFACE_WATER)
        ripple_water(s, p);
    else if (kind == SURFACE_LEAVES)
        s.albedo *= 0.4 + 1.3 * noise3(p * vec3(5.0, 3.0, 5.0));
    s.roughness = clamp(s.roughness, 0.03, 1.0);
    return s;
}
