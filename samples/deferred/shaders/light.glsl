// Sun, sky and the shading of a point.
#include "shade.glsl"

struct Light {
    vec4 place_radius;
    vec4 color;
};

vec3 sky(vec3 d)
{
    float h = max(d.y, 0.0);
    float toward = max(dot(d, frame.sun.xyz), 0.0);
    vec3 color = mix(vec3(1.50, 0.66, 0.25), vec3(0.62, 0.40, 0.46), smoothstep(0.0, 0.26, h));
    color = mix(color, vec3(0.075, 0.150, 0.38), smoothstep(0.10, 0.72, h));
    color += vec3(1.05, 0.42, 0.12) * (0.55 * pow(toward, 4.0) + 1.6 * pow(toward, 36.0)) * (1.0 - 0.6 * h);
    return d.y < 0.0 ? mix(color, vec3(0.19, 0.14, 0.10), smoothstep(0.0, 0.12, -d.y)) : color;
}

// Light from all around on a surface that faces n, over pi.
vec3 ambient_light(vec3 n)
{
    vec3 up = vec3(0.165, 0.23, 0.42), side = vec3(0.19, 0.175, 0.215), down = vec3(0.16, 0.10, 0.062);
    vec3 color = n.y > 0.0 ? mix(side, up, n.y) : mix(side, down, -n.y);
    return color * (1.0 + 0.35 * dot(n, frame.sun.xyz));
}

// How much of the sky the arcades leave: the aisle on the right has a roof.
float openness(vec3 p)
{
    float roofed = smoothstep(4.0, 6.4, p.x) * (1.0 - smoothstep(5.4, 5.7, p.y)) * (1.0 - smoothstep(8.6, 8.8, p.x));
    return 1.0 - 0.68 * roofed;
}

vec3 sun_map_place(vec3 p)
{
    vec4 s = frame.sun_view_projection * vec4(p, 1.0);
    return vec3(s.xy * 0.5 + 0.5, s.z);
}

// Falls as the square of the distance and reaches zero at the radius.
float falloff(float distance2, float radius)
{
    float q = distance2 / (radius * radius), window = clamp(1.0 - q * q, 0.0, 1.0);
    return window * window / (distance2 + 0.04);
}
