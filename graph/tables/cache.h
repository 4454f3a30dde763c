/* Plans of declarations that were compiled before, found again by what was declared. */
#ifndef HDI_CACHE_H
#define HDI_CACHE_H

#include "alloc.h"
#include "phases.h"

/* Memory that is kept from frame to frame; what it holds does not survive growing. */
typedef struct hdi_block {
    void *data;
    size_t bytes; /* capacity */
} hdi_block;
/* HD_OK, or HD_OUT_OF_MEMORY: then it is empty. */
hd_result hdi_block_need(hdi_block *block, const hd_allocator *allocator, size_t bytes);
void hdi_block_free(hdi_block *block, const hd_allocator *allocator);

typedef struct hdi_cache_entry {
    bool kept; /* key and plan belong together */
    uint64_t hash;
    uint64_t last_use; /* of the cache's clock */
    size_t key_bytes;
    hdi_block key, plan;
} hdi_cache_entry;

typedef struct hdi_cache {
    hdi_cache_entry *entries;
    uint32_t count;
    uint32_t newest; /* the entry that was used last */
    uint64_t clock;
    uint64_t hash_mask; /* all ones; tests make keys collide */
    hdi_block key;      /* of the declaration at hand */
    size_t key_bytes;   /* 0: there was no memory for it */
    uint64_t hash;
    hd_cache_stats stats;
} hdi_cache;

/* plans: as in hd_graph_desc. */
hd_result hdi_cache_init(hdi_cache *cache, const hd_allocator *allocator, uint32_t plans);
void hdi_cache_free(hdi_cache *cache, const hd_allocator *allocator);
/* The entry of this declaration, queue set and options, or null; then the key stands ready for hdi_cache_keep. */
hdi_cache_entry *hdi_cache_find(hdi_cache *cache, const hd_allocator *allocator, const hdi_decl *decl,
                                const hdi_queues *queues, const hd_compile_desc *desc);
/* After hdi_cache_find has found nothing: keeps this declaration's plan, in place of the one that was used least
 * recently. *plan becomes that one's block, which is free for use. */
void hdi_cache_keep(hdi_cache *cache, hdi_block *plan);

#endif
