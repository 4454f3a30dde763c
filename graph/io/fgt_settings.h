/* What a .fgt text says beside the declaration: queues, options and memory needs to compile it with. */
#ifndef HDI_FGT_SETTINGS_H
#define HDI_FGT_SETTINGS_H

#include "fgt_text.h"

typedef struct hdi_fgt_need_line {
    hd_memory_need need;
    uint32_t resource, line;
} hdi_fgt_need_line;

/* While the text is read. */
typedef struct hdi_fgt_settings {
    hd_queue_desc queues[HD_MAX_QUEUES - 1];
    uint32_t queue_count;
    hdi_fgt_option option;
    bool has_option;
    hdi_fgt_need_line *needs;
    uint32_t need_count, need_capacity;
} hdi_fgt_settings;

bool hdi_fgt_add_queue(hdi_fgt_settings *s, hdi_fgt_text *t, hd_queue_kind kind, uint32_t family);
bool hdi_fgt_read_option(hdi_fgt_settings *s, hdi_fgt_text *t);
bool hdi_fgt_add_need(hdi_fgt_settings *s, hdi_fgt_text *t, const hd_allocator *allocator, uint32_t resource_count);
/* Puts them into the lines of the graph, which holds the declaration. */
bool hdi_fgt_keep_settings(const hdi_fgt_settings *s, hdi_fgt_text *t, hd_graph *graph);
void hdi_fgt_free_settings(hdi_fgt_settings *s, const hd_allocator *allocator);

/* The same in the other direction: lines of queues, options and needs. */
void hdi_fgt_write_settings(const hdi_decl *decl, const hd_compile_desc *desc, FILE *stream);

#endif
