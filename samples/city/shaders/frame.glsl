// What every shader shares: the frame's constants (struct constants in scene.h), depth, noise.
layout(set = 0, binding = 0, std140) uniform Frame
{
    mat4 view_projection; // with the jitter
    mat4 clean_view_projection;
    mat4 last_view_projection; // of the frame before, without jitter
    mat4 inverse_view_projection;
    mat4 cascades[4];
    mat4 lamps[8];    // the street lamps with a tile of the shadow atlas
    vec4 cascade_end; // metres along the view direction
    vec4 eye;         // w: seconds
    vec4 sun;         // towards it
    vec4 sun_color;
    vec4 size;     // of the frame as it is rendered: width, height, and one over them
    vec4 out_size; // of the picture
    vec4 planes;   // near, far, 1 where there is a frame before, pixels a metre at distance 1
    vec4 jitter;   // in uv: now; zw: the offset of the map's first cell from the world's origin, in metres
    uvec4 counts;  // lights, frame, static instances, all instances
    uvec4 detail;  // steps of a reflected ray, taps of occlusion, taps of a shadow, chunks
    uvec4 pyramid; // width, height, levels of the depth pyramid
    uvec4 volume;  // width, height, depth of the fog's volume
} frame;

// Kinds of matter (enum matter in scene.h).
const uint PLAIN = 0u, FACADE = 1u, GROUND = 2u, NEON = 3u, GLOW = 4u, CAR = 5u, SHOP = 6u, SCREEN = 7u, ROOF = 8u,
           CLOTH = 9u;

#include "view.glsl"

uint mix_bits(uint n)
{
    n = (n ^ (n >> 15)) * 0x2c1b3c6du;
    n = (n ^ (n >> 12)) * 0x297a2d39u;
    return n ^ (n >> 15);
}

float hash2(ivec2 p, uint seed)
{
    return float(mix_bits(uint(p.x) * 73856093u ^ uint(p.y) * 19349663u ^ seed * 83492791u) & 0xffffu) / 65535.0;
}

// Value noise over a plane.
float noise2(vec2 p)
{
    ivec2 i = ivec2(floor(p));
    vec2 f = fract(p);
    f = f * f * (3.0 - 2.0 * f);
    return mix(mix(hash2(i, 1u), hash2(i + ivec2(1, 0), 1u), f.x),
        mix(hash2(i + ivec2(0, 1), 1u), hash2(i + ivec2(1, 1), 1u), f.x), f.y);
}

float cloudy(vec2 p)
{
    return 0.5 * noise2(p) + 0.27 * noise2(p * 2.3 + 7.1) + 0.15 * noise2(p * 5.1 + 3.7) + 0.08 * noise2(p * 11.3);
}
