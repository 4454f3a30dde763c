#version 460
#extension GL_GOOGLE_include_directive : require
/* One step of a wave on a field of hexagonal cells: each is pulled to the mean of its six neighbours. */
#include "common.glsl"

layout(local_size_x = 8, local_size_y = 8) in;

/* of the wave: height, velocity; top of the column, mean top of its neighbours */
layout(set = 0, binding = 1, std430) writeonly buffer new_block { vec4 new_cells[]; };
layout(set = 0, binding = 2, std430) readonly buffer old_block { vec4 old_cells[]; };

float height_at(ivec2 cell)
{
    cell = clamp(cell, ivec2(0), ivec2(int(c.side) - 1));
    return old_cells[cell.y * int(c.side) + cell.x].x;
}

float hills(vec2 p)
{
    return 1.3 * sin(p.x * 0.21 + 0.7) * cos(p.y * 0.17) + 0.8 * sin(p.x * 0.09 - p.y * 0.13 + 2.0) +
           0.35 * sin(p.x * 0.53 + p.y * 0.41);
}

/* Three stones that fall into the field again and again. */
float push(vec2 place)
{
    float sum = 0.0;
    for (int i = 0; i < 3; i++) {
        float period = 2.3 + 0.9 * float(i), turn = floor(c.time / period + 0.37 * float(i));
        float since = c.time - (turn - 0.37 * float(i)) * period;
        float a = turn * 2.4 + float(i) * 2.1;
        vec2 at = float(c.side) * (0.5 + (0.12 + 0.09 * float(i)) * vec2(cos(a), sin(a)));
        vec2 d = place - at;
        sum += exp(-dot(d, d) / 5.0) * (since < 0.25 ? 1.0 : 0.0);
    }
    return sum;
}

void main()
{
    ivec2 cell = ivec2(gl_GlobalInvocationID.xy);
    if (any(greaterThanEqual(cell, ivec2(c.side))))
        return;
    int odd = cell.y & 1;
    float mean = (height_at(cell + ivec2(-1, 0)) + height_at(cell + ivec2(1, 0)) +
                  height_at(cell + ivec2(odd - 1, -1)) + height_at(cell + ivec2(odd, -1)) +
                  height_at(cell + ivec2(odd - 1, 1)) + height_at(cell + ivec2(odd, 1))) / 6.0;
    vec4 old = old_cells[cell.y * int(c.side) + cell.x];
    float velocity = (old.y + 0.22 * (mean - old.x)) * 0.988 - 0.004 * old.x;
    if (c.waves > 0.0)
        velocity -= 0.24 * push(vec2(cell));
    uint index = uint(cell.y) * c.side + uint(cell.x);
    vec2 place = cell_place(index);
    float rim = smoothstep(0.75, 1.0, cell_distance(place)), step_up = float(hash(index + 17u) & 255u) / 255.0;
    float ground = hills(place) * (1.0 - rim) - 5.0 * rim * rim, height = old.x + velocity;
    new_cells[index] = vec4(height, velocity, ground + (step_up - 0.5) * 0.6 + 1.5 * height, ground + 1.5 * mean);
}
