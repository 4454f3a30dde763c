#include "engine.h"

#include <stdlib.h>
#include <time.h>

/* Textures that come in while frames go on: a task of the engine's pool makes one mip after another, the coarsest
 * first, and hands each to heddle. A frame reads the mips that are in it or were in one before. */

static uint32_t hash(uint32_t x)
{
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ x >> 16;
}

static float lattice(int32_t x, int32_t y, int32_t period, uint32_t seed)
{
    uint32_t u = (uint32_t)((x % period + period) % period), v = (uint32_t)((y % period + period) % period);
    return (float)(hash(u + 57u * hash(v + 131u * seed)) & 0xffff) / 65535.0f;
}

static float noise(float x, float y, int32_t period, uint32_t seed) /* repeats with the period */
{
    float fx = floorf(x), fy = floorf(y), u = x - fx, v = y - fy;
    int32_t i = (int32_t)fx, j = (int32_t)fy;
    u = u * u * (3.0f - 2.0f * u);
    v = v * v * (3.0f - 2.0f * v);
    float top = lattice(i, j, period, seed) * (1.0f - u) + lattice(i + 1, j, period, seed) * u;
    float low = lattice(i, j + 1, period, seed) * (1.0f - u) + lattice(i + 1, j + 1, period, seed) * u;
    return top * (1.0f - v) + low * v;
}

/* Stone of four kinds: grain, veins. Red: albedo, green: roughness, blue: vein. */
static void make_texel(uint32_t layer, float u, float v, uint8_t *out)
{
    float sum = 0.0f, weight = 0.5f;
    for (int32_t period = 8, octave = 0; octave < 5; octave++, period *= 2, weight *= 0.5f)
        sum += weight * noise(u * (float)period, v * (float)period, period, layer * 16 + (uint32_t)octave);
    float bend = noise(u * 8.0f, v * 8.0f, 8, layer + 99);
    float vein = fabsf(noise(u * 4.0f + bend, v * 4.0f + bend, 1 << 20, layer + 7) * 2.0f - 1.0f);
    vein = fmaxf(0.0f, 1.0f - vein * 9.0f);
    float grain = (float)(hash((uint32_t)(u * 4096.0f) + 4099u * (uint32_t)(v * 4096.0f)) & 255) / 255.0f;
    float albedo = 0.55f + 0.55f * (sum - 0.5f) * 2.0f + 0.08f * (grain - 0.5f);
    out[0] = (uint8_t)(fminf(fmaxf(albedo, 0.0f), 1.0f) * 255.0f);
    out[1] = (uint8_t)(fminf(fmaxf(0.35f + 0.5f * sum, 0.0f), 1.0f) * 255.0f);
    out[2] = (uint8_t)(vein * 255.0f);
    out[3] = 255;
}

static uint64_t mip_bytes(uint32_t mip)
{
    uint64_t size = TEXTURE_SIZE >> mip;
    return size * size * 4 * TEXTURE_LAYERS;
}

static void make_mip(uint32_t mip, uint8_t *texels)
{
    uint32_t size = TEXTURE_SIZE >> mip;
    for (uint32_t layer = 0; layer < TEXTURE_LAYERS; layer++)
        for (uint32_t y = 0; y < size; y++)
            for (uint32_t x = 0; x < size; x++)
                make_texel(layer, ((float)x + 0.5f) / (float)size, ((float)y + 0.5f) / (float)size,
                           texels + 4 * ((size_t)(layer * size + y) * size + x));
}

/* Any thread hands data over at any time: heddle copies it, and moves it inside of frames to come. */
static bool hand_over(struct engine *engine, uint32_t mip, const uint8_t *texels)
{
    struct streaming *s = &engine->streaming;
    const hd_vk_upload_desc desc = {.target = s->texture.import,
                                    .range = {.mip_base = (uint16_t)mip, .mip_count = 1},
                                    .data = texels,
                                    .bytes = mip_bytes(mip)};
    hd_result result;
    while ((result = hd_vk_upload_async(engine->vk, &desc, &s->token[mip])) == HD_BUSY && !atomic_load(&s->stop))
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL); /* staging memory is full; frames make room */
    atomic_store(&s->handed, mip);
    return result == HD_OK;
}

static void stream(void *user) /* on a thread of the pool */
{
    struct engine *engine = user;
    uint8_t *texels = malloc(mip_bytes(0));
    for (uint32_t mip = TEXTURE_MIPS - 1; texels && mip-- > 0 && !atomic_load(&engine->streaming.stop);) {
        make_mip(mip, texels);
        if (!hand_over(engine, mip, texels))
            break;
    }
    free(texels);
}

bool streaming_open(struct engine *engine)
{
    struct streaming *s = &engine->streaming;
    if (!image_create(engine,
                      &(hd_image_desc){.name = "stone",
                                       .width = TEXTURE_SIZE,
                                       .height = TEXTURE_SIZE,
                                       .mips = TEXTURE_MIPS,
                                       .layers = TEXTURE_LAYERS,
                                       .format = VK_FORMAT_R8G8B8A8_UNORM,
                                       .usage = VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT,
                                       /* One mip is written on the transfer queue while others are read. */
                                       .sharing = HD_SHARING_CONCURRENT},
                      &s->texture))
        return false;
    /* Each frame finds it and leaves it so. Mips that have not come hold nothing, and no frame reads them. */
    s->texture.import.initial_layout = s->texture.import.final_layout = VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL;
    uint8_t coarsest[4 * TEXTURE_LAYERS];
    make_mip(TEXTURE_MIPS - 1, coarsest);
    s->finest = TEXTURE_MIPS - 1;
    if (!hand_over(engine, s->finest, coarsest))
        return false;
    s->task = threads_run(&engine->threads, stream, engine, false);
    return s->task != NULL;
}

void streaming_declare(struct engine *engine, struct frame *f)
{
    struct streaming *s = &engine->streaming;
    if (engine->steady && s->task) {
        threads_join(&engine->threads, s->task);
        s->task = NULL;
    }
    f->texture = hd_graph_import(engine->graph, &s->texture.import);
    if (engine->number == 0) /* the first frame cannot do without */
        hd_vk_upload_now(engine->vk, engine->graph, s->token[TEXTURE_MIPS - 1]);
    hd_vk_upload_some(engine->vk, engine->graph, UPLOAD_BYTES_A_FRAME);
    while (s->finest > atomic_load(&s->handed) &&
           hd_vk_upload_done(engine->vk, s->token[s->finest - 1], NULL) >= HD_VK_UPLOAD_PLANNED)
        s->finest--; /* the passes of this frame are ordered behind it */
    f->texture_range = (hd_range){.mip_base = (uint16_t)s->finest};
}

void streaming_close(struct engine *engine)
{
    struct streaming *s = &engine->streaming;
    atomic_store(&s->stop, true);
    if (s->task)
        threads_join(&engine->threads, s->task);
    image_destroy(engine, &s->texture);
}
