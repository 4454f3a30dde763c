#version 460
/* One step of each particle along a flow: Halvorsen's attractor, stirred by the curl of a noise. */
layout(local_size_x = 256) in;

struct Particle {
    vec4 place; /* w: seconds that it has lived; 0: it was never placed */
    vec4 motion; /* w: seconds that it will live */
};
layout(set = 0, binding = 0) readonly buffer Before { Particle before[]; };
layout(set = 0, binding = 1) writeonly buffer After { Particle after[]; };
layout(push_constant) uniform Push {
    uint count, frame;
    float seconds, step_seconds;
};

uint hash(uint n)
{
    n = (n ^ 61u ^ (n >> 16)) * 9u;
    n = (n ^ (n >> 4)) * 0x27d4eb2du;
    return n ^ (n >> 15);
}
float random(inout uint state)
{
    state = hash(state + 0x9e3779b9u);
    return float(state & 0xffffffu) / 16777216.0;
}

/* A divergence-free field of sines: the curl of a potential, written out. */
vec3 curl(vec3 p, float t)
{
    vec3 a = p * 0.55 + vec3(0.0, t * 0.11, 1.7), b = p.zxy * 1.25 + vec3(2.1, 0.4, -t * 0.17);
    vec3 slow = vec3(cos(a.y) * sin(a.z) - sin(a.z + 0.6) * cos(a.x), cos(a.z) * sin(a.x) - sin(a.x + 0.6) * cos(a.y),
                     cos(a.x) * sin(a.y) - sin(a.y + 0.6) * cos(a.z));
    vec3 fast = vec3(cos(b.y) * sin(b.z), cos(b.z) * sin(b.x), cos(b.x) * sin(b.y));
    return slow + 0.45 * fast;
}

vec3 flow(vec3 p, float t)
{
    const float a = 1.45;
    vec3 halvorsen = -a * p - 4.0 * p.yzx - 4.0 * p.zxy - p.yzx * p.yzx;
    return halvorsen * 0.22 + curl(p, t) * 1.1;
}

vec3 advance(vec3 p, float t, float h)
{
    vec3 half_way = p + flow(p, t) * (0.5 * h);
    return p + flow(half_way, t) * h;
}

void main()
{
    uint i = gl_GlobalInvocationID.x;
    if (i >= count)
        return;
    Particle q = before[i];
    uint state = i * 747796405u + 2891336453u;
    int steps = 2;
    q.place.w += step_seconds;
    if (frame == 0u || q.place.w > q.motion.w || dot(q.place.xyz, q.place.xyz) > 900.0) {
        if (frame > 0u)
            state ^= frame * 2654435761u;
        vec3 at = vec3(random(state), random(state), random(state));
        float life = 5.0 + 9.0 * random(state);
        q.place = vec4(vec3(-3.0) + (at - 0.5) * 4.5, frame == 0u ? life * random(state) : 0.001);
        q.motion.w = life;
        steps = frame == 0u ? 240 : 60; /* it starts where the flow has brought it */
    }
    float h = step_seconds / 2.0;
    vec3 last = q.place.xyz;
    for (int s = 0; s < steps; s++) {
        if (s + 2 == steps)
            last = q.place.xyz;
        q.place.xyz = advance(q.place.xyz, seconds, h);
    }
    q.motion.xyz = q.place.xyz - last;
    after[i] = q;
}
