// Light that a surface throws back.
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
    return (albedo * (1.0 - f) + min(f * ggx(nh, nl, nv, roughness), vec3(24.0))) * nl;
}
