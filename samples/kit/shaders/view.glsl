// Places, rays and noise of a view. The scene's uniform block frame comes before, with planes (near, far), eye,
// inverse_view_projection and counts (y: the frame's number).
const float PI = 3.14159265;

// Metres along the view direction from reverse depth.
float view_depth(float depth)
{
    return frame.planes.x * frame.planes.y / (depth * (frame.planes.y - frame.planes.x) + frame.planes.x);
}

vec3 world_place(vec2 uv, float depth)
{
    vec4 p = frame.inverse_view_projection * vec4(uv * 2.0 - 1.0, depth, 1.0);
    return p.xyz / p.w;
}

vec3 view_ray(vec2 uv)
{
    return normalize(world_place(uv, 0.5) - frame.eye.xyz);
}

// Interleaved gradient noise: neighbours differ as much as they can; a new pattern each frame.
float pixel_noise(vec2 pixel)
{
    pixel += 5.588238 * float(frame.counts.y % 32u);
    return fract(52.9829189 * fract(dot(pixel, vec2(0.06711056, 0.00583715))));
}

// Point i of n, evenly over the unit disc, turned by noise.
vec2 disc_point(int i, int n, float turn)
{
    float angle = 2.39996323 * float(i) + 2.0 * PI * turn;
    return sqrt((float(i) + 0.5) / float(n)) * vec2(cos(angle), sin(angle));
}

float luminance(vec3 color)
{
    return dot(color, vec3(0.2126, 0.7152, 0.0722));
}
