// Culling: one workgroup a chunk of up to 4096 instances of one mesh, eight an invocation. Those that stay are packed
// in order, so the draws do not depend on which invocation was faster; each chunk is one indirect draw.
const uint LANES = 512u, EACH = 8u;
layout(local_size_x = 512) in;
struct Chunk {
    uint index_count, first_index, first_instance, instance_count;
};
struct Draw {
    uint index_count, instance_count, first_index;
    int vertex_offset;
    uint first_instance;
};
layout(set = 0, binding = 3, std430) readonly buffer Chunks
{
    Chunk chunks[];
};
layout(set = 0, binding = 4, std430) writeonly buffer List
{
    uint list[];
};
layout(set = 0, binding = 5, std430) writeonly buffer Draws
{
    Draw draws[];
};

shared uint sums[LANES];

// The instances of this invocation: from first on, up to EACH.
uint own_first()
{
    return chunks[gl_WorkGroupID.x].first_instance + gl_LocalInvocationID.x * EACH;
}

uint own_count()
{
    uint from = gl_LocalInvocationID.x * EACH, all = chunks[gl_WorkGroupID.x].instance_count;
    return from < all ? min(all - from, EACH) : 0u;
}

// stays: a bit for each of them.
void pack(uint stays)
{
    uint lane = gl_LocalInvocationID.x, chunk = gl_WorkGroupID.x, own = uint(bitCount(stays));
    sums[lane] = own;
    barrier();
    for (uint step = 1u; step < LANES; step *= 2u) {
        uint below = lane >= step ? sums[lane - step] : 0u;
        barrier();
        sums[lane] += below;
        barrier();
    }
    uint first = chunks[chunk].first_instance, to = first + sums[lane] - own;
    for (uint k = 0u; k < EACH; k++) {
        if ((stays >> k & 1u) != 0u)
            list[to++] = own_first() + k;
    }
    if (lane == LANES - 1u) {
        draws[chunk].index_count = chunks[chunk].index_count;
        draws[chunk].instance_count = sums[LANES - 1u];
        draws[chunk].first_index = chunks[chunk].first_index;
        draws[chunk].vertex_offset = 0;
        draws[chunk].first_instance = first;
    }
}

// Whether a ball touches what the matrix sees; reach: how far beyond the near side it may stand.
bool ball_seen(mat4 m, vec3 centre, float radius, bool near_side)
{
    vec4 x = vec4(m[0][0], m[1][0], m[2][0], m[3][0]), y = vec4(m[0][1], m[1][1], m[2][1], m[3][1]);
    vec4 z = vec4(m[0][2], m[1][2], m[2][2], m[3][2]), w = vec4(m[0][3], m[1][3], m[2][3], m[3][3]);
    vec4 planes[5] = vec4[5](w + x, w - x, w + y, w - y, z);
    for (int i = 0; i < 5; i++) {
        if (dot(planes[i].xyz, centre) + planes[i].w < -radius * length(planes[i].xyz))
            return false;
    }
    vec4 front = w - z;
    return !near_side || dot(front.xyz, centre) + front.w >= -radius * length(front.xyz);
}

float radius_of(Instance i)
{
    return 0.5 * length(i.size.xyz);
}

// What glows casts no shadow, nor does what lies flat on a wall (style 1 of plain matter).
bool casts(Instance i)
{
    return i.paint.w < 6.0 && (floatBitsToUint(i.size.w) & 0xffu) != 0x10u;
}
