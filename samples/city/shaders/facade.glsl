// Facades. Windows stand on a grid of 3 metres that is fixed in the world, so a wall needs only its place, its seed and
// its style to be known: for the G-buffer, and for rays that look at it in a puddle.
const float BAY = 3.0, FLOOR = 3.5, SHOP_HEIGHT = 4.5;

struct Wall {
    vec3 albedo;
    float roughness;
    float metallic;
    vec3 emission;
    vec3 normal; // in the wall's own space: z out of it
};

// A lamp behind a window: when it was lit, and its colour. Windows light up one by one.
vec3 window_light(ivec2 cell, uint seed, float seconds)
{
    float lot = hash2(ivec2(int(seed), 17), 5u);
    float share = mix(0.26, 0.56, lot * lot);
    float at = hash2(cell, seed);
    float lights = at * 1.0 - share;
    // Of those still dark, a few go on each second.
    float since = seconds - (lights > 0.0 ? lights * 110.0 : -1.0);
    float on = smoothstep(0.0, 0.25, since);
    float tone = hash2(cell + 91, seed), strength = hash2(cell + 37, seed);
    vec3 color = tone < 0.66 ? vec3(1.0, 0.48, 0.15) : tone < 0.86 ? vec3(1.0, 0.66, 0.34) : tone < 0.95
        ? vec3(0.72, 0.86, 1.0)
        : vec3(0.42, 0.55, 1.0) * (0.7 + 0.3 * sin(seconds * 3.0 + 40.0 * tone));
    return color * on * (0.25 + 1.9 * strength * strength);
}

// What a ray sees in the room behind a window: walls, ceiling with its lamp, furniture as a dark band.
vec3 room(vec2 at, vec2 extent, vec3 d, ivec2 cell, uint seed)
{
    float deep = 3.0 + 3.0 * hash2(cell + 5, seed);
    vec3 p = vec3(at, 0.0);
    vec3 far = vec3(d.x > 0.0 ? extent.x : 0.0, d.y > 0.0 ? extent.y : 0.0, deep);
    vec3 t = (far - p) / (vec3(lessThan(abs(d), vec3(1e-4))) * 1e-4 + d);
    float near = min(t.x, min(t.y, t.z));
    vec3 hit = p + d * near;
    vec3 q = hit / vec3(extent, deep);
    vec2 lamp = vec2(q.x - 0.5, q.z - 0.45);
    vec3 wash = mix(vec3(0.62, 0.50, 0.40), vec3(0.42, 0.50, 0.55), hash2(cell + 61, seed));
    vec3 off = hit - vec3(0.5 * extent.x, extent.y, 0.45 * deep);
    float glow = 0.16 + 1.15 / (1.0 + dot(off, off));
    if (near == t.y && d.y > 0.0)
        return vec3(glow * 0.8 + 5.0 * exp(-60.0 * dot(lamp, lamp))); // the ceiling and its lamp
    if (near == t.y)
        return wash * 0.3 * glow;
    float shelf = hash2(ivec2(floor(vec2(hit.x * 1.7 + hit.z, q.y * 5.0))) + cell * 7, seed + 3u);
    float tall = 0.16 + 0.24 * hash2(ivec2(int(floor(hit.x * 1.3 + hit.z * 0.9)), 3) + cell * 5, seed + 9u);
    if (q.y < tall) // furniture, and people
        wash *= 0.22 + 0.30 * shelf * vec3(1.0, 0.8, 0.7);
    else if (shelf > 0.93)
        wash *= 0.35; // pictures on the wall
    return wash * glow * (near == t.z ? 1.0 : 0.75);
}

// u, y: metres along the wall and up. ray: towards the wall, in its own space (x along, y up, z into it). footprint: of
// a pixel, in metres.
Wall wall_at(float u, float y, vec3 ray, uint seed, uint style, float footprint)
{
    vec3 tint = vec3(hash2(ivec2(int(seed), 1), 7u), hash2(ivec2(int(seed), 2), 7u), hash2(ivec2(int(seed), 3), 7u));
    Wall w;
    w.normal = vec3(0.0, 0.0, 1.0);
    w.metallic = 0.0;
    w.emission = vec3(0.0);
    bool glass_tower = style == 3u;
    float bay = style == 1u ? 1.5 : BAY;
    vec2 pitch = vec2(bay, FLOOR);
    vec2 at = vec2(u, y - SHOP_HEIGHT) / pitch;
    ivec2 cell = ivec2(floor(at));
    vec2 f = fract(at) * pitch;
    vec2 low = glass_tower ? vec2(0.06, 0.45) : style == 2u ? vec2(0.35, 0.95) : style == 1u ? vec2(0.28, 0.75)
                                                                                          : vec2(0.62, 0.9);
    vec2 high = pitch - (glass_tower ? vec2(0.06, 0.12) : style == 2u ? vec2(0.35, 0.45) : style == 1u
        ? vec2(0.28, 0.35)
                                                                                                    : vec2(0.62, 0.6));
    // Walls: brick, concrete, rendered stone, dark metal.
    vec3 paint = style == 0u ? mix(vec3(0.20, 0.085, 0.055), vec3(0.30, 0.20, 0.14), tint.x)
        : style == 1u        ? mix(vec3(0.24, 0.235, 0.23), vec3(0.32, 0.29, 0.25), tint.x)
        : style == 2u        ? mix(vec3(0.34, 0.29, 0.23), vec3(0.20, 0.21, 0.23), tint.x)
                             : vec3(0.045, 0.05, 0.06);
    float grime = cloudy(vec2(u, y) * vec2(0.35, 0.13) + float(seed % 97u));
    paint *= 0.62 + 0.62 * grime;
    float rows = abs(fract(y * (style == 0u ? 3.3 : 1.0 / FLOOR)) - 0.5);
    paint *= 1.0 - 0.22 * smoothstep(0.44, 0.49, rows) * clamp(1.0 - 4.0 * footprint, 0.0, 1.0);
    w.albedo = paint;
    w.roughness = glass_tower ? 0.35 : 0.78 - 0.25 * grime;
    if (y < SHOP_HEIGHT || cell.y < 0)
        return w;
    // The window lies behind the wall's face: where the ray meets the reveal first, that is what is seen.
    float deep = glass_tower ? 0.05 : 0.22;
    vec3 d = ray / max(ray.z, 0.05);
    vec2 pane = f + d.xy * deep;
    bool open = all(greaterThan(f, low)) && all(lessThan(f, high));
    bool glass = open && all(greaterThan(pane, low)) && all(lessThan(pane, high));
    float blur = clamp(footprint / 1.2 - 0.35, 0.0, 1.0); // far away a cell is less than a pixel
    vec3 light = window_light(cell, seed, frame.eye.w);
    vec2 extent = high - low;
    float share = extent.x * extent.y / (pitch.x * pitch.y);
    vec3 far_emission = light * 0.55 * share;
    if (glass) {
        vec2 in_pane = (pane - low) / extent;
        float bars = min(abs(in_pane.x - 0.5) * extent.x, abs(in_pane.y - 0.62) * extent.y);
        bool bar = !glass_tower && bars < 0.035 && footprint < 0.25;
        float curtain = hash2(cell + 11, seed);
        vec3 inside = room(pane - low, extent, vec3(ray.xy, max(ray.z, 0.05)), cell, seed);
        if (curtain < (glass_tower ? 0.18 : 0.34)) { // drawn, and lit from behind
            float fold = 0.8 + 0.2 * sin(pane.x * 38.0 + 9.0 * curtain);
            inside = vec3(0.62, 0.54, 0.44) * fold * (0.7 + 0.5 * in_pane.y);
        } else if (curtain < 0.55)
            inside *= in_pane.y > 1.0 - (curtain - 0.3) * 2.0 ? 0.35 : 1.0; // a blind, half down
        w.emission = bar ? vec3(0.0) : light * inside * 1.9;
        w.albedo = bar ? paint * 0.5 : vec3(0.012, 0.014, 0.018);
        w.roughness = bar ? 0.5 : 0.06 + 0.03 * hash2(cell + 3, seed);
        w.metallic = 0.0;
        if (!bar) // panes are never quite even
            w.normal = normalize(vec3((hash2(cell + 21, seed) - 0.5) * 0.03 + 0.006 * sin(pane.y * 2.0 + u),
                (hash2(cell + 22, seed) - 0.5) * 0.03 + 0.006 * sin(pane.x * 2.3 + y), 1.0));
    } else if (open) {
        w.albedo *= 0.5;
        w.emission = light * 0.035;
    }
    w.emission = mix(w.emission, far_emission, blur);
    w.albedo = mix(w.albedo, mix(paint, vec3(0.015), share), blur);
    w.roughness = mix(w.roughness, mix(w.roughness, glass_tower ? 0.12 : 0.45, share), blur);
    return w;
}

// Shop fronts: glowing rooms behind large panes, a lit fascia above.
Wall shop_at(float u, float y, vec3 ray, uint seed, float footprint)
{
    Wall w;
    w.normal = vec3(0.0, 0.0, 1.0);
    w.metallic = 0.0;
    const float width = 6.0;
    ivec2 cell = ivec2(int(floor(u / width)), 0);
    float f = fract(u / width) * width, tone = hash2(cell + 7, seed), open = hash2(cell + 3, seed);
    vec3 color = tone < 0.45 ? vec3(1.0, 0.62, 0.28) : tone < 0.65 ? vec3(1.0, 0.82, 0.58) : tone < 0.78
        ? vec3(0.55, 0.85, 1.0)
        : tone < 0.9 ? vec3(1.0, 0.30, 0.42) : vec3(0.45, 1.0, 0.75);
    vec3 tint = 0.03 + 0.10 * vec3(hash2(cell + 1, seed), hash2(cell + 2, seed), hash2(cell + 4, seed));
    w.albedo = tint;
    w.roughness = 0.45;
    w.emission = vec3(0.0);
    bool pane = f > 0.35 && f < width - 0.35 && y > 0.45 && y < 3.25;
    float post = min(abs(f - 2.15), abs(f - 3.85));
    if (pane && (post > 0.05 || footprint > 0.3)) {
        if (open < 0.24) { // shuttered
            w.albedo = vec3(0.14, 0.145, 0.15) * (0.7 + 0.3 * step(0.5, fract(y * 7.0)));
            w.roughness = 0.4;
            w.metallic = 0.7;
        } else {
            vec3 inside = room(vec2(f - 0.35, y - 0.45), vec2(width - 0.7, 2.8), vec3(ray.xy, max(ray.z, 0.05)), cell,
                seed);
            float goods = hash2(ivec2(floor(vec2(u * 3.0, y * 2.2))), seed);
            if (y < 1.35)
                inside *= (0.4 + 1.1 * goods) * mix(vec3(1.0), vec3(1.3, 0.9, 0.6), step(0.6, goods));
            w.emission = color * inside * (1.6 + 1.6 * open);
            w.albedo = vec3(0.012);
            w.roughness = 0.05;
        }
    } else if (y > 3.35 && y < 4.15 && f > 0.5 && f < width - 0.5 && open > 0.3) {
        // The fascia: strokes that look like letters.
        vec2 g = vec2((f - 0.5) * 2.6, (y - 3.45) / 0.6);
        ivec2 letter = ivec2(floor(g.x), 0);
        vec2 in_letter = vec2(fract(g.x), g.y);
        float stroke = step(0.2, in_letter.x) * step(in_letter.x, 0.8);
        float bits = hash2(letter + ivec2(int(floor(in_letter.x * 3.0)), int(floor(in_letter.y * 4.0)) + 40), seed
            + uint(cell.x + 512));
        stroke *= step(0.42, bits) * step(0.1, in_letter.y) * step(in_letter.y, 0.9);
        float word = step(0.16, hash2(letter + 300, seed + uint(cell.x + 512)));
        float blur = clamp(footprint * 6.0 - 0.3, 0.0, 1.0);
        w.emission = color * mix(stroke * word * 4.5, 1.5, blur);
        w.albedo = vec3(0.02);
    }
    return w;
}
