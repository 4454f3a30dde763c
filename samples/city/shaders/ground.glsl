// Streets and pavements, from the place alone: avenues along z every 96 metres, streets along x every 72.
const vec2 PITCH = vec2(96.0, 72.0), HALF_STREET = vec2(15.0, 9.0);
const float PAVEMENT = 4.5;

struct Ground {
    vec3 albedo;
    float roughness;
    float water; // 0: damp, 1: a puddle
    bool pavement;
};

Ground ground_at(vec2 p, float footprint)
{
    vec2 from = abs(p - PITCH * round(p / PITCH)); // to the centre lines of the nearest avenue and street
    vec2 kerb = from - (HALF_STREET - PAVEMENT);   // below 0: on that carriageway
    float off_road = min(kerb.x, kerb.y);
    Ground g;
    g.pavement = off_road > 0.0;
    float large = cloudy(p * 0.055), middle = cloudy(p * 0.31 + 5.0), grain = noise2(p * 17.0);
    float fine = clamp(1.0 - footprint * 8.0, 0.0, 1.0);
    if (g.pavement) {
        vec2 slab = p / 1.5;
        vec2 joint = abs(fract(slab) - 0.5);
        float line = smoothstep(0.478, 0.49, max(joint.x, joint.y)) * fine;
        float shade = hash2(ivec2(floor(slab)), 3u);
        g.albedo = vec3(0.155, 0.150, 0.148) * (0.62 + 0.35 * middle + 0.22 * shade) * (1.0 - 0.5 * line);
        g.roughness = 0.34 - 0.14 * large;
        g.water = smoothstep(0.53, 0.64, 0.55 * large + 0.45 * middle) * (1.0 - 0.6 * line);
        if (off_road < 0.28) { // the kerb
            g.albedo = vec3(0.22, 0.215, 0.21) * (0.7 + 0.4 * middle);
            g.water = 0.0;
        }
    } else {
        g.albedo = vec3(0.030, 0.031, 0.034) * (0.7 + 0.6 * middle + 0.5 * (grain - 0.5) * fine);
        g.roughness = 0.21 - 0.10 * large + 0.05 * (grain - 0.5) * fine;
        float ruts = kerb.y > 0.0 ? cos((p.x - 96.0 * round(p.x / 96.0)) * 1.75) : 0.0; // wheels press the asphalt down
        float gutter = smoothstep(-1.6, -0.1, off_road);
        g.water = smoothstep(0.415, 0.54, 0.62 * large + 0.36 * middle + 0.035 * ruts + 0.14 * gutter);
        // Lane marks, worn; none within crossings.
        bool crossing = kerb.x < 0.0 && kerb.y < 0.0;
        float lane = from.x;
        float mark = 0.0;
        if (!crossing && kerb.x < 0.0 && kerb.y > 3.4) {
            float twice = min(abs(lane - 0.16), 1.0);
            mark = 1.0 - smoothstep(0.05, 0.05 + footprint + 0.01, twice);
            float dash = step(fract(p.y / 9.0), 0.36);
            mark = max(mark, dash * (1.0 - smoothstep(0.06, 0.06 + footprint + 0.01, abs(lane - 3.6))));
            mark = max(mark, 0.8 * (1.0 - smoothstep(0.05, 0.05 + footprint + 0.01, abs(lane - 7.4))));
        } else if (!crossing && kerb.y < 0.0 && kerb.x > 3.4)
            mark = step(fract(p.x / 6.0), 0.5) * (1.0 - smoothstep(0.06, 0.06 + footprint + 0.01,
                abs(p.y - 72.0 * round(p.y / 72.0))));
        mark *= smoothstep(0.25, 0.5, middle + 0.25 * grain) / (1.0 + 3.0 * footprint);
        vec3 paint = lane < 0.5 && kerb.x < 0.0 && kerb.y > 0.0 ? vec3(0.42, 0.29, 0.07) : vec3(0.40);
        g.albedo = mix(g.albedo, paint, 0.85 * mark);
    }
    g.roughness = mix(g.roughness, 0.025, g.water);
    g.albedo *= mix(1.0, 0.45, g.water);
    return g;
}
