// The map of the city: a height field of cells of 3 metres on which all walls stand, so that a ray through it meets the
// very walls that are drawn. Needs Map, facade.glsl and sky tables.
const int MAP_SIZE = 512;
const float CELL = 3.0;

vec2 map_cell(ivec2 c)
{
    return any(lessThan(c, ivec2(0))) || any(greaterThanEqual(c, ivec2(MAP_SIZE))) ? vec2(0.0) : 
        map[c.y * MAP_SIZE + c.x];
}

float map_height(vec2 p)
{
    return map_cell(ivec2(floor((p - frame.jitter.zw) / CELL))).x;
}

// How much of the sky a point in the streets sees: less the deeper it lies between the houses.
float openness(vec3 p)
{
    float sum = 0.0;
    for (int i = 0; i < 4; i++) {
        vec2 way = vec2(i & 1, i >> 1) * 2.0 - 1.0;
        float top = max(map_height(p.xz + way * vec2(17.0, 4.0)), 0.8 * map_height(p.xz + way * vec2(5.0, 13.0)));
        sum += clamp(1.0 - (top - p.y) / (abs(top - p.y) + 15.0), 0.0, 1.0);
    }
    return clamp(0.25 * sum, 0.08, 1.0);
}

struct Hit {
    float distance; // below 0: none
    vec3 normal;
    uint packed;    // seed << 2 | style
};

// Amanatides and Woo's walk from cell to cell. The origin stands in the air.
Hit trace_map(vec3 from, vec3 d, int steps)
{
    Hit hit = Hit(-1.0, vec3(0.0), 0u);
    vec2 at = (from.xz - frame.jitter.zw) / CELL;
    ivec2 cell = ivec2(floor(at)), way = ivec2(d.x < 0.0 ? -1 : 1, d.z < 0.0 ? -1 : 1);
    vec2 flat_d = vec2(abs(d.x) < 1e-5 ? 1e-5 : d.x, abs(d.z) < 1e-5 ? 1e-5 : d.z) / CELL;
    vec2 across = abs(1.0 / flat_d), next = (vec2(cell) + vec2(way * 0.5 + 0.5) - at) / flat_d;
    float t = 0.0;
    vec3 normal = vec3(0.0, 1.0, 0.0);
    for (int i = 0; i < steps; i++) {
        if (next.x < next.y) {
            t = next.x;
            next.x += across.x;
            cell.x += way.x;
            normal = vec3(-way.x, 0.0, 0.0);
        } else {
            t = next.y;
            next.y += across.y;
            cell.y += way.y;
            normal = vec3(0.0, 0.0, -way.y);
        }
        float y = from.y + d.y * t;
        vec2 house = map_cell(cell);
        if (y < house.x && y > -0.1) {
            hit.distance = t;
            hit.normal = normal;
            hit.packed = floatBitsToUint(house.y);
            break;
        }
        if (y > 190.0 || y < -0.1)
            break;
    }
    return hit;
}
