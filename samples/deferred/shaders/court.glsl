// A few planes that stand for the court, for what polished things mirror: arcades at x = -4.5 and 4.5, floor and sky.
vec3 arcade(vec3 q, float beyond_side, vec3 d)
{
    float z = abs(fract((q.z - 10.5) / 3.0) - 0.5) * 3.0, y = q.y - 3.54; // z: from the middle of the bay
    bool opening = q.y < 3.54 ? z < 1.22 : z * z + y * y < 1.32;
    vec3 stone = beyond_side > 0.0 ? vec3(0.95, 0.60, 0.34) * (0.55 + 0.08 * q.y) : vec3(0.20, 0.17, 0.16);
    vec3 behind = beyond_side > 0.0 ? vec3(0.30, 0.16, 0.08) :
        sky(vec3(d.x, max(d.y, 0.02), d.z)) * (q.y < 1.2 ? 0.35 : 0.9);
    return opening ? behind : stone;
}

vec3 court(vec3 p, vec3 d, float roughness)
{
    vec3 color = sky(d);
    float blur = roughness * 2.0;
    float to_side = d.x > 0.0 ? (4.2 - p.x) / max(d.x, 1e-3) : (-4.2 - p.x) / min(d.x, -1e-3);
    if (to_side > 0.0 && to_side < 60.0) {
        vec3 q = p + d * to_side;
        if (q.z > -16.5) {
            float wall = 1.0 - smoothstep(5.6 - blur, 5.7 + blur, q.y);
            color = mix(color, arcade(q, d.x, d), wall * smoothstep(-0.2 - blur, blur, q.y));
        }
    }
    if (d.y < 0.0 && p.y > 0.0) {
        float to_floor = p.y / -d.y;
        vec3 q = p + d * to_floor;
        if (abs(q.x) < 4.6 && to_floor < 40.0) {
            vec3 s = sun_map_place(q);
            float lit = roughness < 0.35 ? texture(sun_map, vec3(s.xy, s.z + 0.001)) : 0.4;
            float water = step(abs(q.x), 1.5) * step(-6.8, q.z) * step(q.z, 6.2);
            vec3 ground = vec3(0.46, 0.38, 0.30) * (0.36 + 0.40 * frame.sun_color.rgb * lit);
            vec3 mirrored = mix(vec3(0.05, 0.07, 0.08), sky(vec3(d.x, -d.y, d.z)), 0.06 + 0.9 * fresnel_power(-d.y));
            float edge = smoothstep(-0.05 - blur, 0.05, -d.y);
            color = mix(color, mix(ground, mirrored, water), edge);
        }
    }
    return color;
}
