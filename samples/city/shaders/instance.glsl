// An instance of a mesh of the unit box (struct instance in scene.h). Static ones lie in one buffer, those that move in
// another: indices run through both.
struct Instance {
    vec4 place;      // w: yaw
    vec4 size;       // w: matter, as bits
    vec4 last_place; // w: last yaw
    vec4 paint;      // w: roughness; of what glows: its strength
};

layout(set = 0, binding = 1, std430) readonly buffer Statics
{
    Instance statics[];
};
layout(set = 0, binding = 2, std430) readonly buffer Movers
{
    Instance movers[];
};

Instance instance_at(uint index)
{
    Instance i;
    if (index < frame.counts.z) {
        i.place = statics[index].place;
        i.size = statics[index].size;
        i.last_place = statics[index].last_place;
        i.paint = statics[index].paint;
    } else {
        uint k = index - frame.counts.z;
        i.place = movers[k].place;
        i.size = movers[k].size;
        i.last_place = movers[k].last_place;
        i.paint = movers[k].paint;
    }
    return i;
}

vec3 turned(vec3 p, float yaw)
{
    float c = cos(yaw), s = sin(yaw);
    return vec3(c * p.x + s * p.z, p.y, -s * p.x + c * p.z);
}
