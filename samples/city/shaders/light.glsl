// Lights and the shading of a point.
#include "shade.glsl"

struct Light {
    vec4 place;     // w: radius
    vec4 color;     // w: tile of the shadow atlas, or -1
    vec4 direction; // w: cosine of the cone's edge; -2: all around
};

const uvec3 CLUSTERS = uvec3(16, 9, 24);
const uint MASK_WORDS = 32u;
const float CLUSTER_NEAR = 0.5, CLUSTER_FAR = 420.0;

// Slices grow with distance.
uint cluster_slice(float distance)
{
    float s = log(max(distance, CLUSTER_NEAR) / CLUSTER_NEAR) / log(CLUSTER_FAR / CLUSTER_NEAR);
    return min(uint(s * float(CLUSTERS.z)), CLUSTERS.z - 1u);
}

float cluster_begin(uint slice)
{
    return slice == 0u ? 0.0 : CLUSTER_NEAR * pow(CLUSTER_FAR / CLUSTER_NEAR, float(slice) / float(CLUSTERS.z));
}

uint cluster_at(vec2 uv, float distance)
{
    uvec2 tile = min(uvec2(uv * vec2(CLUSTERS.xy)), CLUSTERS.xy - 1u);
    return ((cluster_slice(distance) * CLUSTERS.y + tile.y) * CLUSTERS.x + tile.x) * MASK_WORDS;
}

// Falls as the square of the distance and reaches zero at the radius.
float falloff(float distance2, float radius)
{
    float q = distance2 / (radius * radius), window = clamp(1.0 - q * q, 0.0, 1.0);
    return window * window / (distance2 + 0.15);
}

float cone(Light light, vec3 from_light)
{
    if (light.direction.w < -1.5)
        return 1.0;
    float c = dot(from_light, light.direction.xyz);
    return smoothstep(light.direction.w, mix(light.direction.w, 1.0, 0.55), c);
}

// Where a point lies in the shadow atlas: 4 x 2 tiles; z: depth, w: whether the tile has it.
vec4 lamp_place(int tile, vec3 p)
{
    vec4 s = frame.lamps[tile] * vec4(p, 1.0);
    vec3 q = s.xyz / max(s.w, 1e-4);
    bool inside = s.w > 0.0 && all(lessThan(abs(q.xy), vec2(0.97)));
    vec2 uv = (q.xy * 0.5 + 0.5 + vec2(tile & 3, tile >> 2)) * vec2(0.25, 0.5);
    return vec4(uv, q.z, inside ? 1.0 : 0.0);
}
