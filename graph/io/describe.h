/* A declaration as the descriptions that make it, and the calls that declare its passes: for frames that come from a
 * file, and for tools that declare a frame a second time. */
#ifndef HDI_DESCRIBE_H
#define HDI_DESCRIBE_H

#include "tables.h"

typedef enum hdi_described {
    HDI_DESCRIBED_IMAGE,
    HDI_DESCRIBED_BUFFER,
    HDI_DESCRIBED_IMPORT,
    HDI_DESCRIBED_HISTORY
} hdi_described;

typedef struct hdi_resource_desc {
    hdi_described kind;
    union {
        hd_image_desc image;
        hd_buffer_desc buffer;
        hd_import_desc import;
        hd_history_desc history; /* `of` stands below */
    };
    uint32_t of; /* histories: index of the resource */
} hdi_resource_desc;

/* Resources are indices here. */
typedef struct hdi_use_desc {
    hd_use use; /* but resource, resolve_of, next, and the address of the custom access */
    hd_custom_access custom;
    uint32_t resource;
    uint32_t resolve_of; /* HD_NONE: nothing */
    uint32_t before; /* a pass declared earlier: this use reads what the resource held before that pass; or HD_NONE */
} hdi_use_desc;

/* What stands in a declaration. Handles of native objects, callbacks and their user data are left out. */
void hdi_describe_resource(const hdi_decl *decl, uint32_t res, hdi_resource_desc *out);
void hdi_describe_pass(const hdi_decl *decl, uint32_t pass, hd_pass_desc *out); /* without uses */
void hdi_describe_use(const hdi_decl *decl, uint32_t use, hdi_use_desc *out);

/* declared: handles of the resources before it. */
hd_resource hdi_declare_resource(hd_graph *graph, const hdi_resource_desc *desc, const hd_resource *declared);

/* The passes of a frame. The caller makes it with hdi_replay_make, fills what is marked so, and calls
 * hdi_replay_prepare once; then the passes can be declared any number of times. */
typedef struct hdi_replay {
    uint32_t res_count, pass_count, use_count;
    hd_pass_desc *pass;  /* filled: all but uses; use_count among it */
    hdi_use_desc *desc;  /* filled: of all passes, in their order */
    hd_resource *handle; /* filled before each time: of the resources */
    hd_use *use;
    uint32_t *ended;      /* by resource: the newest pass that ended a version of it; HD_NONE */
    hd_resource *next;    /* by resource: the version that such a pass begins */
    uint32_t *late_first; /* by pass: a use whose `before` it is, or HD_NONE */
    uint32_t *late_next;  /* by use: the next one of the same pass, or HD_NONE */
    void *block;
    size_t bytes;
} hdi_replay;

bool hdi_replay_make(hdi_replay *replay, const hd_allocator *allocator, uint32_t res_count, uint32_t pass_count,
                     uint32_t use_count);
void hdi_replay_free(hdi_replay *replay, const hd_allocator *allocator);
/* HD_NONE, or a use whose `before` is no earlier pass that writes the resource. */
uint32_t hdi_replay_prepare(hdi_replay *replay);
/* HD_NONE, or the pass that was refused. */
uint32_t hdi_replay_passes(hdi_replay *replay, hd_graph *graph);

#endif
