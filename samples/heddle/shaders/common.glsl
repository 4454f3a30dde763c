/* What every shader of heddle run shares: what a check expects, and where it counts. */
layout(push_constant) uniform Push
{
    vec4 expect; /* of a texel */
    vec4 value;  /* to write */
    uint slot, first, last, word; /* words first .. last - 1 of a buffer hold word */
    uint width, height, nx, ny;   /* of a subresource, and of the grid that is looked at */
    uint channels;
    float tolerance, depth; /* depth: of a drawing */
} p;
layout(set = 0, binding = 0) buffer Counts { uint counts[]; };

const uint BLOCK = 256u, BLOCKS = 16u;

void wrong() { atomicAdd(counts[p.slot * 2u], 1u); }
void seen() { atomicAdd(counts[p.slot * 2u + 1u], 1u); }

void check_texel(vec4 texel)
{
    seen();
    vec4 off = abs(texel - p.expect);
    for (uint c = 0u; c < p.channels; c++) {
        if (!(off[c] <= p.tolerance)) {
            wrong();
            return;
        }
    }
}

void check_word(uint word)
{
    seen();
    if (word != p.word)
        wrong();
}

/* Texel of grid point i; the grid has the corners in it. */
ivec2 grid_texel(uint i)
{
    uvec2 at = uvec2(i % p.nx, i / p.nx);
    return ivec2(at * (uvec2(p.width, p.height) - 1u) / max(uvec2(p.nx, p.ny) - 1u, uvec2(1u)));
}

/* Word of point i of a buffer: all of them, or blocks spread evenly. */
uint grid_word(uint i)
{
    uint n = p.last - p.first;
    if (n <= BLOCK * BLOCKS)
        return p.first + i;
    return p.first + uint(uint(i / BLOCK) * ((n - BLOCK) / (BLOCKS - 1u))) + i % BLOCK;
}
uint grid_words() { return min(p.last - p.first, BLOCK * BLOCKS); }
