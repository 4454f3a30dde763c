/* The tiles of the land that the device has: a cache of fixed size, filled by threads of its own. */
#ifndef TILES_H
#define TILES_H

#include <pthread.h>

#include "kit.h"
#include "land.h"
#include "maths.h"

enum tile_state {
    TILE_FREE,
    TILE_WANTED, /* in no thread's hands yet */
    TILE_MADE,   /* by a thread: it computes the tile, then hands it to heddle */
    TILE_HANDED, /* heddle has it, and moves it in some frame */
    TILE_READY,  /* frames may read it */
};

/* A slot of the cache: a buffer of heights, an image, and the tile that it holds or is to hold. */
struct tile {
    struct place place;
    enum tile_state state;     /* between WANTED and HANDED guarded by tiles.lock */
    hd_vk_token heights_token, texels_token;
    int32_t asked, ready;      /* frames: the last that asked for it, the first that had it */
    float distance;
    VkBuffer buffer;
    VkImage image;
    hd_import_desc heights, texels;
};

enum { MAX_TILES = 1024, MAX_DRAWN = 512, MAX_LOADERS = 4 };

struct drawn { /* by one frame */
    struct place place;
    float since;                 /* frames since it was ready */
    hd_resource heights, texels;
};

struct tiles {
    struct kit *kit;
    vec3s sun;
    struct tile tile[MAX_TILES];
    uint32_t count;               /* as many as the budget allows */
    VkDeviceMemory memory;
    uint64_t memory_bytes;
    pthread_t loader[MAX_LOADERS];
    uint32_t loaders;
    pthread_mutex_t lock;
    pthread_cond_t wanted, handed;
    bool stop;
    uint32_t waiting;             /* tiles in states WANTED and MADE */
    bool staging_full;            /* a thread waits for frames to make room */
    /* Of the frame that is being declared. */
    vec3s eye;
    mat4s view_projection;
    int32_t frame;
    struct drawn *drawn;
    uint32_t drawn_count, missing; /* missing: tiles that the frame would rather draw */
    /* For the summary. */
    uint32_t loaded, dropped, refused; /* refused: the cache was full of tiles in use */
};

/* budget: bytes of device memory for the cache. False: the kit has the error. */
bool tiles_open(struct tiles *tiles, struct kit *kit, uint64_t budget, vec3s sun);
void tiles_close(struct tiles *tiles); /* nothing is in flight */
/* Chooses what a frame draws, by distance, and asks for what it would rather draw; drawn has room for MAX_DRAWN. */
uint32_t tiles_choose(struct tiles *tiles, int32_t frame, vec3s eye, mat4s view_projection, struct drawn *drawn);
/* Waits until the threads have handed over all that was asked for, or until heddle's staging memory is full. */
void tiles_settle(struct tiles *tiles);
uint64_t tiles_used_bytes(struct tiles *tiles);

#endif
