#include "tiles.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* A quadtree over the land. A tile that is near is replaced by its four children, once they have come; until then it
 * stays. So the picture never waits for a tile: it is only coarser for some frames. */

#define SPLIT 1.3f /* a tile is split where it is nearer than so many of its sizes */
#define ROOT_REACH 2 /* root tiles on each side of the one below the eye */

/* ---- threads that make tiles ---- */

/* The coarsest first, of these the nearest. */
static struct tile *most_wanted(struct tiles *tiles)
{
    struct tile *best = NULL;
    for (uint32_t i = 0; i < tiles->count; i++) {
        struct tile *t = &tiles->tile[i];
        if (t->state == TILE_WANTED && (!best || t->place.level > best->place.level ||
                                        (t->place.level == best->place.level && t->distance < best->distance)))
            best = t;
    }
    return best;
}

/* Any thread hands data over at any time. heddle's staging memory is full now and then: frames make room. Without the
 * lock: frames do not wait while data is copied. */
static hd_vk_token hand_over(struct tiles *tiles, const hd_import_desc *target, const void *data, uint64_t bytes)
{
    const hd_vk_upload_desc desc = {.target = *target, .data = data, .bytes = bytes};
    hd_vk_token token = {0};
    bool stop = false;
    while (!stop && hd_vk_upload_async(tiles->kit->vk, &desc, &token) == HD_BUSY) {
        pthread_mutex_lock(&tiles->lock);
        stop = tiles->stop;
        tiles->staging_full = true;
        pthread_cond_broadcast(&tiles->handed);
        pthread_mutex_unlock(&tiles->lock);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return token;
}

static void *loader_main(void *user)
{
    struct tiles *tiles = user;
    struct tile_data *data = malloc(sizeof *data); /* without it no tile comes, and the land stays coarse */
    setpriority(PRIO_PROCESS, (id_t)gettid(), 10); /* of this thread: frames come first */
    pthread_mutex_lock(&tiles->lock);
    while (data && !tiles->stop) {
        struct tile *tile = most_wanted(tiles);
        if (!tile) {
            pthread_cond_wait(&tiles->wanted, &tiles->lock);
            continue;
        }
        tile->state = TILE_MADE;
        pthread_mutex_unlock(&tiles->lock);
        land_make(&tile->place, tiles->sun.raw, data);
        hd_vk_token heights = hand_over(tiles, &tile->heights, data->heights, sizeof data->heights),
                    texels = hand_over(tiles, &tile->texels, data->texels, sizeof data->texels);
        pthread_mutex_lock(&tiles->lock);
        tile->heights_token = heights;
        tile->texels_token = texels;
        tile->state = TILE_HANDED;
        tiles->waiting--;
        pthread_cond_broadcast(&tiles->handed);
    }
    pthread_mutex_unlock(&tiles->lock);
    free(data);
    return NULL;
}

/* ---- the cache ---- */

static bool make_slot(struct tiles *tiles, struct tile *tile)
{
    struct kit *kit = tiles->kit;
    VkSharingMode sharing = kit->family_count > 1 ? VK_SHARING_MODE_CONCURRENT : VK_SHARING_MODE_EXCLUSIVE;
    uint32_t families = kit->family_count > 1 ? kit->family_count : 0;
    VkBufferCreateInfo buffer = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                 .size = TILE_HEIGHT_BYTES,
                                 .usage = VK_BUFFER_USAGE_VERTEX_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                                 .sharingMode = sharing,
                                 .queueFamilyIndexCount = families,
                                 .pQueueFamilyIndices = kit->families};
    VkImageCreateInfo image = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                               .imageType = VK_IMAGE_TYPE_2D,
                               .format = VK_FORMAT_R8G8B8A8_UNORM,
                               .extent = {TEXELS, TEXELS, 1},
                               .mipLevels = 1,
                               .arrayLayers = 1,
                               .samples = VK_SAMPLE_COUNT_1_BIT,
                               .usage = VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT,
                               .sharingMode = sharing,
                               .queueFamilyIndexCount = families,
                               .pQueueFamilyIndices = kit->families};
    if (vkCreateBuffer(kit->info.device, &buffer, NULL, &tile->buffer) != VK_SUCCESS ||
        vkCreateImage(kit->info.device, &image, NULL, &tile->image) != VK_SUCCESS)
        return kit_check(kit, HD_VULKAN);
    tile->heights = (hd_import_desc){.name = "tile heights", .buffer = tile->buffer, .bytes = TILE_HEIGHT_BYTES};
    /* Each frame finds the image readable and leaves it so; one serial as long as the slot lives. */
    tile->texels = (hd_import_desc){.name = "tile texels",
                                    .image = tile->image,
                                    .width = TEXELS,
                                    .height = TEXELS,
                                    .format = VK_FORMAT_R8G8B8A8_UNORM,
                                    .initial_layout = VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL,
                                    .final_layout = VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL,
                                    .sharing = HD_SHARING_CONCURRENT,
                                    .serial = 0x7000 + (uint64_t)(tile - tiles->tile)};
    return true;
}

static uint64_t align_up(uint64_t value, uint64_t alignment)
{
    return (value + alignment - 1) / alignment * alignment;
}

/* One piece of memory for the whole cache: what does not fit into it is not made. */
static bool fill_budget(struct tiles *tiles, uint64_t budget)
{
    struct kit *kit = tiles->kit;
    VkMemoryRequirements heights, texels;
    if (!make_slot(tiles, &tiles->tile[0]))
        return false;
    vkGetBufferMemoryRequirements(kit->info.device, tiles->tile[0].buffer, &heights);
    vkGetImageMemoryRequirements(kit->info.device, tiles->tile[0].image, &texels);
    VkPhysicalDeviceProperties properties;
    vkGetPhysicalDeviceProperties(kit->info.physical_device, &properties);
    uint64_t grain = properties.limits.bufferImageGranularity;
    uint64_t image_at = align_up(align_up(heights.size, grain), texels.alignment);
    uint64_t stride = align_up(align_up(image_at + texels.size, grain), heights.alignment);
    uint64_t fit = budget / stride;
    tiles->count = fit > MAX_TILES ? MAX_TILES : (uint32_t)fit;
    tiles->memory_bytes = tiles->count * stride;
    uint32_t type = 0, bits = heights.memoryTypeBits & texels.memoryTypeBits;
    while (type < kit->memory.memoryTypeCount &&
           !(bits & 1u << type &&
             kit->memory.memoryTypes[type].propertyFlags & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT))
        type++;
    VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                 .allocationSize = tiles->memory_bytes,
                                 .memoryTypeIndex = type};
    if (tiles->count == 0 || type == kit->memory.memoryTypeCount ||
        vkAllocateMemory(kit->info.device, &info, NULL, &tiles->memory) != VK_SUCCESS)
        return kit_check(kit, HD_OUT_OF_DEVICE_MEMORY);
    for (uint32_t i = 0; i < tiles->count; i++) {
        struct tile *tile = &tiles->tile[i];
        if ((i > 0 && !make_slot(tiles, tile)) ||
            vkBindBufferMemory(kit->info.device, tile->buffer, tiles->memory, i * stride) != VK_SUCCESS ||
            vkBindImageMemory(kit->info.device, tile->image, tiles->memory, i * stride + image_at) != VK_SUCCESS)
            return kit_check(kit, HD_VULKAN);
    }
    return true;
}

bool tiles_open(struct tiles *tiles, struct kit *kit, uint64_t budget, vec3s sun)
{
    *tiles = (struct tiles){.kit = kit, .sun = sun};
    pthread_mutex_init(&tiles->lock, NULL);
    pthread_cond_init(&tiles->wanted, NULL);
    pthread_cond_init(&tiles->handed, NULL);
    if (!fill_budget(tiles, budget))
        return false;
    long processors = sysconf(_SC_NPROCESSORS_ONLN); /* one is for frames */
    while (tiles->loaders < MAX_LOADERS && (tiles->loaders == 0 || tiles->loaders + 1 < processors)) {
        if (pthread_create(&tiles->loader[tiles->loaders], NULL, loader_main, tiles) != 0)
            return kit_check(kit, HD_OUT_OF_MEMORY);
        tiles->loaders++;
    }
    return true;
}

void tiles_close(struct tiles *tiles)
{
    if (!tiles->kit)
        return;
    pthread_mutex_lock(&tiles->lock);
    tiles->stop = true;
    pthread_cond_broadcast(&tiles->wanted);
    pthread_mutex_unlock(&tiles->lock);
    for (uint32_t i = 0; i < tiles->loaders; i++)
        pthread_join(tiles->loader[i], NULL);
    for (uint32_t i = 0; i < tiles->count; i++) {
        vkDestroyBuffer(tiles->kit->info.device, tiles->tile[i].buffer, NULL);
        vkDestroyImage(tiles->kit->info.device, tiles->tile[i].image, NULL);
    }
    vkFreeMemory(tiles->kit->info.device, tiles->memory, NULL);
    pthread_cond_destroy(&tiles->wanted);
    pthread_cond_destroy(&tiles->handed);
    pthread_mutex_destroy(&tiles->lock);
}

/* ---- what a frame wants ---- */

/* What heddle has put into a frame that was executed, or into this one, is there for the next. */
static void look_at_uploads(struct tiles *tiles)
{
    for (uint32_t i = 0; i < tiles->count; i++) {
        struct tile *t = &tiles->tile[i];
        if (t->state != TILE_HANDED ||
            hd_vk_upload_done(tiles->kit->vk, t->heights_token, NULL) < HD_VK_UPLOAD_PLANNED ||
            hd_vk_upload_done(tiles->kit->vk, t->texels_token, NULL) < HD_VK_UPLOAD_PLANNED)
            continue;
        t->state = TILE_READY;
        t->ready = tiles->frame;
        tiles->loaded++;
    }
}

static struct tile *find(struct tiles *tiles, const struct place *p)
{
    for (uint32_t i = 0; i < tiles->count; i++) {
        struct tile *t = &tiles->tile[i];
        if (t->state != TILE_FREE && t->place.level == p->level && t->place.x == p->x && t->place.z == p->z)
            return t;
    }
    return NULL;
}

/* A slot that holds nothing, or what no frame has asked for longest. Frames under way may still draw that: heddle
 * orders the upload behind them. */
static struct tile *take_slot(struct tiles *tiles)
{
    struct tile *oldest = NULL;
    for (uint32_t i = 0; i < tiles->count; i++) {
        struct tile *t = &tiles->tile[i];
        if (t->state == TILE_FREE)
            return t;
        if ((t->state == TILE_READY || t->state == TILE_WANTED) && t->asked + 1 < tiles->frame &&
            (!oldest || t->asked < oldest->asked))
            oldest = t;
    }
    if (oldest && oldest->state == TILE_READY)
        tiles->dropped++;
    if (oldest && oldest->state == TILE_WANTED)
        tiles->waiting--;
    return oldest;
}

/* The tile if it is ready; else asks for it. */
static struct tile *ask(struct tiles *tiles, const struct place *place, float distance)
{
    struct tile *tile = find(tiles, place);
    if (!tile && (tile = take_slot(tiles))) {
        tile->place = *place;
        tile->state = TILE_WANTED;
        tiles->waiting++;
        pthread_cond_signal(&tiles->wanted);
    }
    if (!tile) {
        tiles->refused++;
        return NULL;
    }
    tile->asked = tiles->frame;
    tile->distance = distance;
    tiles->missing += tile->state != TILE_READY;
    return tile->state == TILE_READY ? tile : NULL;
}

/* From the eye to the tile's square, at the height of the land in its middle. */
static float distance_to(const struct tiles *tiles, const struct place *p)
{
    float size = land_size(p), x = (float)p->x * size, z = (float)p->z * size;
    float dx = fmaxf(fmaxf(x - tiles->eye.x, tiles->eye.x - x - size), 0.0f),
          dz = fmaxf(fmaxf(z - tiles->eye.z, tiles->eye.z - z - size), 0.0f), dy = fmaxf(tiles->eye.y - 900.0f, 0.0f);
    return sqrtf(dx * dx + dy * dy + dz * dz);
}

/* All corners of its box beyond one side of what the camera sees: it does not see the tile. */
static bool is_seen(const struct tiles *tiles, const struct place *p)
{
    float size = land_size(p);
    uint32_t outside = 15;
    for (uint32_t i = 0; i < 8 && outside; i++) {
        vec4s corner = {{((float)p->x + (float)(i & 1)) * size, i & 2 ? 1500.0f : -300.0f,
                         ((float)p->z + (float)(i >> 2)) * size, 1.0f}};
        vec4s c = glms_mat4_mulv(tiles->view_projection, corner);
        outside &= (c.x < -c.w) | (uint32_t)(c.x > c.w) << 1 | (uint32_t)(c.y < -c.w) << 2 | (uint32_t)(c.y > c.w) << 3;
    }
    return !outside;
}

static void draw(struct tiles *tiles, const struct tile *tile)
{
    if (tiles->drawn_count == MAX_DRAWN || !is_seen(tiles, &tile->place))
        return;
    tiles->drawn[tiles->drawn_count++] =
        (struct drawn){.place = tile->place,
                       .since = (float)(tiles->frame - tile->ready),
                       .heights = hd_graph_import(tiles->kit->graph, &tile->heights),
                       .texels = hd_graph_import(tiles->kit->graph, &tile->texels)};
}

static void choose(struct tiles *tiles, const struct tile *tile)
{
    const struct place *p = &tile->place;
    struct tile *child[4];
    uint32_t ready = 0, order[4] = {0, 1, 2, 3};
    float distance[4];
    if (p->level == 0 || distance_to(tiles, p) > SPLIT * land_size(p)) {
        draw(tiles, tile);
        return;
    }
    for (uint32_t i = 0; i < 4; i++) {
        struct place at = {p->level - 1, 2 * p->x + (int32_t)(i & 1), 2 * p->z + (int32_t)(i >> 1)};
        distance[i] = distance_to(tiles, &at);
        child[i] = ask(tiles, &at, distance[i]);
        ready += child[i] != NULL;
    }
    if (ready < 4) {
        draw(tiles, tile);
        return;
    }
    for (uint32_t i = 1; i < 4; i++) /* the nearest first: what lies behind it is not shaded */
        for (uint32_t k = i; k > 0 && distance[order[k]] < distance[order[k - 1]]; k--) {
            uint32_t swap = order[k];
            order[k] = order[k - 1];
            order[k - 1] = swap;
        }
    for (uint32_t i = 0; i < 4; i++)
        choose(tiles, child[order[i]]);
}

uint32_t tiles_choose(struct tiles *tiles, int32_t frame, vec3s eye, mat4s view_projection, struct drawn *drawn)
{
    float root = (float)(LEAF_METRES << (LEVELS - 1));
    int32_t x = (int32_t)floorf(eye.x / root), z = (int32_t)floorf(eye.z / root);
    pthread_mutex_lock(&tiles->lock);
    tiles->frame = frame;
    tiles->eye = eye;
    tiles->view_projection = view_projection;
    tiles->drawn = drawn;
    tiles->drawn_count = tiles->missing = 0;
    look_at_uploads(tiles);
    for (int32_t ring = 0; ring <= ROOT_REACH; ring++)
        for (int32_t j = -ring; j <= ring; j++)
            for (int32_t i = -ring; i <= ring; i++) {
                struct place at = {LEVELS - 1, x + i, z + j};
                struct tile *tile;
                if (abs(i) != ring && abs(j) != ring)
                    continue;
                if ((tile = ask(tiles, &at, distance_to(tiles, &at))))
                    choose(tiles, tile);
            }
    pthread_mutex_unlock(&tiles->lock);
    return tiles->drawn_count;
}

void tiles_settle(struct tiles *tiles)
{
    pthread_mutex_lock(&tiles->lock);
    tiles->staging_full = false;
    while (tiles->waiting > 0 && !tiles->staging_full)
        pthread_cond_wait(&tiles->handed, &tiles->lock);
    pthread_mutex_unlock(&tiles->lock);
}

uint64_t tiles_used_bytes(struct tiles *tiles)
{
    uint64_t used = 0;
    pthread_mutex_lock(&tiles->lock);
    for (uint32_t i = 0; i < tiles->count; i++)
        used += tiles->tile[i].state != TILE_FREE;
    pthread_mutex_unlock(&tiles->lock);
    return used * (tiles->memory_bytes / tiles->count);
}
