// Sun, sky and the shading of a point.
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

float fresnel_power(float c)
{
    float m = 1.0 - c, m2 = m * m;
    return m2 * m2 * m;
}

// GGX with the height-correlated masking term; times pi, as the lights' strengths are.
float ggx(float nh, float nl, float nv, float roughness)
{
    float a = roughness * roughness, a2 = a * a;
    float d = nh * nh * (a2 - 1.0) + 1.0;
    float masking = nl * sqrt(nv * nv * (1.0 - a2) + a2) + nv * sqrt(nl * nl * (1.0 - a2) + a2);
    return a2 / (d * d) * 0.5 / max(masking, 1e-4);
}

vec3 shade(vec3 n, vec3 v, vec3 l, vec3 albedo, vec3 f0, float roughness)
{
    float nl = dot(n, l);
    if (nl <= 0.0)
        return vec3(0.0);
    vec3 h = normalize(v + l);
    float nv = max(dot(n, v), 1e-3), nh = clamp(dot(n, h), 0.0, 1.0);
    vec3 f = f0 + (1.0 - f0) * fresnel_power(clamp(dot(v, h), 0.0, 1.0));
    return (albedo * (1.0 - f) + f * ggx(nh, nl, nv, roughness)) * nl;
}

// Falls as the square of the distance and reaches zero at the radius.
float falloff(float distance2, float radius)
{
    float q = distance2 / (radius * radius), window = clamp(1.0 - q * q, 0.0, 1.0);
    return window * window / (distance2 + 0.04);
}
