// The sky of an evening after rain, and its tables.
// Direction to the place in the sky's table and back: azimuth across, elevation down, finer at the horizon.
vec2 sky_place(vec3 d)
{
    float up = asin(clamp(d.y, -1.0, 1.0)) / (0.5 * PI);
    return vec2(atan(d.x, -d.z) / (2.0 * PI) + 0.5, 0.5 - 0.5 * sign(up) * sqrt(abs(up)));
}

vec3 sky_direction(vec2 uv)
{
    float v = 1.0 - 2.0 * uv.y, up = sign(v) * v * v * 0.5 * PI, around = (uv.x - 0.5) * 2.0 * PI;
    return vec3(sin(around) * cos(up), sin(up), -cos(around) * cos(up));
}

vec3 clear_sky(vec3 d)
{
    float h = max(d.y, 0.0);
    vec2 flat_d = normalize(d.xz + 1e-5), flat_sun = normalize(frame.sun.xz);
    float side = 0.5 + 0.5 * dot(flat_d, flat_sun), toward = max(dot(d, frame.sun.xyz), 0.0);
    float warm = pow(side, 3.4);
    vec3 horizon = mix(vec3(0.135, 0.150, 0.265), vec3(1.75, 0.62, 0.19), warm);
    vec3 band = mix(vec3(0.150, 0.150, 0.290), vec3(0.80, 0.32, 0.30), warm);
    vec3 high = mix(vec3(0.070, 0.105, 0.245), vec3(0.120, 0.140, 0.330), warm);
    vec3 color = mix(horizon, band, smoothstep(0.0, 0.16, h));
    color = mix(color, high, smoothstep(0.06, 0.42, h));
    color = mix(color, vec3(0.022, 0.050, 0.165), smoothstep(0.25, 0.95, h));
    color += vec3(1.9, 0.66, 0.16) * (0.5 * pow(toward, 6.0) + 1.6 * pow(toward, 60.0)) * exp(-5.0 * h);
    return color;
}

// Clouds on a plane far above: torn by the wind, lit from below where the sun went down.
vec3 evening_sky(vec3 d)
{
    vec3 color = clear_sky(vec3(d.x, max(d.y, 0.0), d.z));
    if (d.y > 0.004) {
        vec2 q = d.xz / (d.y + 0.10) + 0.004 * frame.eye.w;
        float warp = cloudy(q * 0.45 + 3.0);
        float c = cloudy(q * vec2(0.62, 1.15) + 1.9 * warp), thin = cloudy(q * vec2(1.1, 3.9) + 2.3 * warp + 9.0);
        float thick = 0.74 * c + 0.26 * thin;
        float cover = smoothstep(0.40, 0.74, thick), rim = smoothstep(0.40, 0.52, thick) - cover;
        vec2 flat_d = normalize(d.xz + 1e-5), flat_sun = normalize(frame.sun.xz);
        float warm = pow(0.5 + 0.5 * dot(flat_d, flat_sun), 5.0) * exp(-3.6 * max(d.y - 0.05, 0.0));
        vec3 under = mix(vec3(0.060, 0.070, 0.135), vec3(0.95, 0.32, 0.20), warm);
        vec3 edge = mix(vec3(0.16, 0.16, 0.26), vec3(1.9, 0.80, 0.36), warm);
        float fade = smoothstep(0.004, 0.10, d.y);
        color = mix(color, mix(under, color, 0.25), 0.86 * cover * fade);
        color += edge * 0.55 * max(rim, 0.0) * fade;
    }
    if (d.y < 0.0)
        color = mix(color, vec3(0.03, 0.035, 0.055), smoothstep(0.0, 0.10, -d.y));
    return color;
}
