#version 460
/* Light and glow over a dark backdrop, to display values. */
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 0) uniform sampler2D exposed;
layout(set = 0, binding = 1) uniform sampler2D glow;
layout(set = 0, binding = 2, rgba8) uniform writeonly image2D picture;
layout(push_constant) uniform Push { float exposure, glow_share; };

/* Narkowicz's fit of the ACES curve. */
vec3 film(vec3 x)
{
    return clamp(x * (2.51 * x + 0.03) / (x * (2.43 * x + 0.59) + 0.14), 0.0, 1.0);
}

float noise(vec2 at)
{
    return fract(52.9829189 * fract(dot(at, vec2(0.06711056, 0.00583715))));
}

void main()
{
    ivec2 at = ivec2(gl_GlobalInvocationID.xy), size = imageSize(picture);
    if (any(greaterThanEqual(at, size)))
        return;
    vec2 uv = (vec2(at) + 0.5) / vec2(size), off = (uv - 0.5) * vec2(float(size.x) / float(size.y), 1.0);
    vec3 light = texelFetch(exposed, at, 0).rgb + glow_share * textureLod(glow, uv, 0.0).rgb;
    vec3 backdrop = mix(vec3(0.010, 0.014, 0.030), vec3(0.002, 0.003, 0.008), smoothstep(0.0, 0.9, length(off)));
    vec3 color = film(light * exposure + backdrop);
    color *= 1.0 - 0.35 * smoothstep(0.45, 1.1, length(off));
    color = pow(color, vec3(1.0 / 2.2)) + (noise(vec2(at)) - 0.5) / 255.0; /* no bands in dark gradients */
    imageStore(picture, at, vec4(color, 1.0));
}
