/* The arrays between the phases, one struct a phase, written by that phase only. */
#ifndef HDI_TABLES_H
#define HDI_TABLES_H

#include <heddle/graph.h>

#include "arena.h"
#include "vk_numbers.h"

#define HDI_NONE UINT32_MAX

/* ---- declare: filled by hd_graph_*; const to every phase ---- */

enum {
    HDI_PASS_ROOT = 1,
    HDI_PASS_NO_RENDERING = 2,
    HDI_PASS_MIXES = 4, /* it reads a piece of an image in two layouts, which agree, or twice in none there is */
};
enum {
    HDI_RES_BUFFER = 1,
    HDI_RES_HISTORY = 2, /* res_pair: what it is a history of */
    HDI_RES_EXTERNAL = 4,
    HDI_RES_HAS_HISTORY = 8, /* res_pair: its history */
    HDI_RES_HOST = 16,       /* some host pass uses it */
    HDI_RES_CONTENT = 32,    /* holds content at the frame's start: history, or external with a known layout */
    HDI_RES_SHARING = 64,    /* its hd_sharing is not HD_SHARING_AUTO: res_info says which */
    HDI_RES_LEVELS = 128,    /* an image of more than one mip, layer, slice or sample: res_info says how many */
    /* Of what holds the same after the frame as before it, or hands it to the next one: */
    HDI_KEEPS_STATE = HDI_RES_EXTERNAL | HDI_RES_HISTORY | HDI_RES_HAS_HISTORY,
};

typedef struct hdi_pass_exec {
    const char *name;
    hd_record_fn record;
    void *user;
    uint32_t splits; /* 0: one call, like 1 */
} hdi_pass_exec;

/* Cold columns of a resource, together, in one line. Up to the name without padding: the plan cache compares that part
 * as words. */
typedef struct hdi_res_info {
    uint32_t width, height, format, flags;
    uint32_t depth, mips, layers, samples; /* mostly 1 each, and together for that */
    uint32_t usage;                        /* see hdi_res_usage */
    uint32_t sharing;                      /* hd_sharing */
    union {
        uint32_t initial_layout; /* externals */
        uint32_t seen;           /* other images: the other format in which uses see it, or HDI_SEVERAL_FORMATS */
    };
    uint32_t final_layout; /* externals */
    uint64_t bytes;                        /* buffers */
    const char *name;
} hdi_res_info;
_Static_assert(sizeof(hdi_res_info) == 64, "a line");
#define HDI_SEVERAL_FORMATS UINT32_MAX

/* Of imports and histories only: how they go on from frame to frame, of which no plan says anything. */
typedef struct hdi_res_import {
    void *native;     /* imports: VkImage or VkBuffer */
    uint64_t serial;  /* imports: 0 where the handle may come to mean another image; histories: hd_history_desc.key */
    uint32_t skipped; /* histories: hd_skipped */
} hdi_res_import;

/* What declaring keeps of a resource, together, as each use of it reads and writes all of it. word: in its lower half
 * the usage that the uses imply; above it HDI_RES_FULL, HDI_RES_READERS and what else their rules have there, on top
 * the kind: HDI_RES_KIND. */
typedef struct hdi_res_state {
    uint64_t word;
    uint32_t newest; /* 1 + its newest use, 0: none; to find double uses within a pass */
    uint32_t next;   /* 1 + the version after the first one, 0: none */
} hdi_res_state;
/* It holds content as a whole: some use overwrote all of it, or it does from the frame's start. */
#define HDI_RES_FULL (UINT64_C(1) << 32)
/* Of an image: a bit for each layout in which some use reads it; one that has no bit of its own has two. */
#define HDI_RES_READERS (UINT64_C(127) << 33)
enum { HDI_RES_KIND = HDI_RES_BUFFER | HDI_RES_HISTORY, HDI_RES_KINDS = HDI_RES_KIND + 1, HDI_RES_KIND_SHIFT = 62 };

/* What a use is for the rendering that heddle begins. */
enum { HDI_ATTACHMENT_NONE, HDI_ATTACHMENT_COLOR, HDI_ATTACHMENT_DEPTH, HDI_ATTACHMENT_RESOLVE };

typedef struct hdi_access_info {
    const char *name; /* the .fgt word; null for custom ones */
    uint64_t stages, access;
    uint32_t layout; /* UNDEFINED (0): buffers only */
    uint32_t image_usage, buffer_usage;
    uint8_t reads, writes;        /* overwrite: writes and not reads */
    uint8_t pass_types;           /* bit per hd_pass_type */
    uint8_t on_image, on_buffer;
    uint8_t attachment;           /* HDI_ATTACHMENT_* */
} hdi_access_info;
/* THE table (access.c), by hd_access, and by the rows HDI_DEPTH_* below. A graph's own table (hdi_decl.access) begins
 * with these rows. Then come the twins: a row of buffers for each access that images and buffers may both have. Then
 * come custom accesses. use_access is an index in the graph's table. */
enum { HDI_ACCESS_ROWS = 32, HDI_ACCESS_TWINS = 10, HDI_ACCESS_CUSTOM_FIRST = HDI_ACCESS_ROWS + HDI_ACCESS_TWINS };
extern const hdi_access_info hdi_access_table[HDI_ACCESS_ROWS];
extern const uint8_t hdi_access_twins[HDI_ACCESS_TWINS]; /* the access whose row of buffers each is */
/* The hd_access of a row of a graph's table; rows HDI_DEPTH_* are their own. */
static inline uint32_t hdi_access_of(uint32_t row)
{
    return row < HDI_ACCESS_ROWS           ? row
           : row < HDI_ACCESS_CUSTOM_FIRST ? hdi_access_twins[row - HDI_ACCESS_ROWS]
                                           : (uint32_t)HD_ACCESS_CUSTOM;
}
/* HD_OK, HD_BAD_ACCESS: it is null or no stage of it does such an access, or HD_BAD_PASS_TYPE: no queue for such passes
 * has its stages. fault: null, or room for HDI_FAULT_BYTES that get which part of it is wrong. */
#define HDI_FAULT_BYTES 160
hd_result hdi_access_check(const hd_custom_access *custom, uint32_t pass_type, bool is_buffer, char *fault);
/* What most phases ask of a use, so that they need not go by way of its access and its resource. */
enum {
    HDI_USE_READS = 1,
    HDI_USE_WRITES = 2,
    HDI_USE_ATTACHMENT = 4, /* color or depth */
    HDI_USE_BUFFER = 8,
};
/* What an access asks for, or what several accesses of an epoch do, on an image or on a buffer: as the hazard phase and
 * barriers say it. Those of one access have the number of its row. */
typedef struct hdi_kind {
    _Alignas(HDI_ARENA_ALIGNMENT) uint64_t left_access; /* all its access where it writes, else 0 */
    uint64_t src_stages;                                /* of a barrier behind it */
    uint64_t src_access;
    uint64_t dst_stages, dst_access; /* of one before it; all its access */
    uint64_t stages;                 /* none where there are none, which are waited for with all */
    uint32_t layout;                 /* UNDEFINED: of buffers */
    uint32_t keeps;                  /* what remains of the layout before it: all bits; 0: it overwrites the content */
    uint32_t state;                  /* of an epoch that it begins, but for the queue of several */
    uint32_t flags;                  /* HDI_EPOCH_* */
} hdi_kind;
/* Of a kind: it goes on with an epoch that left the first, and leaves the second. Apart, as that is asked of each use,
 * and all of it of few. */
typedef struct hdi_link {
    uint32_t joins, leaves;
} hdi_link;
/* What an epoch left, in joins and leaves of kinds; reads of images: more by their layout. OTHER: what nothing goes on
 * with. NEVER: of what goes on with nothing. */
enum { HDI_LEFT_NOTHING, HDI_LEFT_WRITE, HDI_LEFT_OTHER, HDI_LEFT_NEVER, HDI_LEFT_READS };
enum { HDI_EPOCH_READS = HDI_USE_READS, HDI_EPOCH_WRITES = HDI_USE_WRITES };
/* flags: HDI_EPOCH_*; 0: of what is not used yet, which is HD_ACCESS_NONE. */
void hdi_make_kind(uint64_t stages, uint64_t access, uint32_t layout, uint32_t flags, bool is_buffer, hdi_kind *kind,
                   hdi_link *link);
/* Those of accesses. */
void hdi_make_kinds(const hdi_access_info *access, uint32_t access_count, hdi_kind *kind, hdi_link *link);

/* What declare makes of HD_RESOLVE_WRITE of depth, and of the depth attachment that a resolve reads. */
enum {
    HDI_DEPTH_WRITE_RESOLVED = 26,
    HDI_DEPTH_RW_RESOLVED,
    HDI_DEPTH_READ_RESOLVED,
    HDI_DEPTH_RESOLVE,
};
_Static_assert((int)HDI_DEPTH_RESOLVE < (int)HD_RESOLVE_WRITE && (int)HD_ACCESS_COUNT <= (int)HDI_DEPTH_WRITE_RESOLVED,
               "rows of their own");

/* Whether an access is of a color or depth attachment: what the table says, without a look into it. */
static inline bool hdi_is_attachment(uint32_t access)
{
    return access - HD_COLOR_WRITE <= HD_DEPTH_READ - HD_COLOR_WRITE ||
           access - HDI_DEPTH_WRITE_RESOLVED <= HDI_DEPTH_READ_RESOLVED - HDI_DEPTH_WRITE_RESOLVED;
}

typedef struct hdi_use_exec { /* without padding: the plan cache compares it as bytes */
    uint8_t load;
    uint8_t resolve_mode; /* of a resolve: VkResolveModeFlagBits, never 0 */
    uint16_t resolve;     /* of an attachment: 1 + the use of its pass that it is resolved into; 0: none */
    uint32_t format;      /* in which the pass sees an image; 0: the image's own */
} hdi_use_exec;

enum { HDI_USE_FLAGS_SLACK = 8 }; /* bytes behind the last use's flags that may be read with them */

typedef struct hdi_decl {
    uint32_t pass_count, res_count, use_count, range_count, clear_count, access_count;
    const uint8_t *pass_type, *pass_flags, *pass_pin;
    const float *pass_cost;
    const uint32_t *pass_use_begin; /* pass_count + 1 */
    const hdi_pass_exec *pass_exec;
    const uint8_t *res_flags;
    const uint32_t *res_pair; /* history <-> what it is of, else HDI_NONE */
    const hdi_res_info *res_info;
    const hdi_res_import *res_import; /* of externals and histories; for the executor */
    const hdi_res_state *res_state; /* of passes in the order that they have here */
    const uint32_t *use_res;
    const uint32_t *use_pass;   /* the pass of the use */
    const uint16_t *use_access; /* index in access: a row of images or one of buffers */
    const uint8_t *use_flags;   /* HDI_USE_*: follow from access and resource */
    const uint32_t *use_range;  /* index in range; HDI_NONE: the whole resource */
    const hdi_use_exec *use_exec;
    const hd_range *range; /* explicit counts, inside the resource, never the whole */
    const uint32_t *range_res; /* follows from the uses: each range is of one */
    const uint32_t *clear_use; /* ascending: the uses whose clear value is not 0, see hdi_use_clear */
    const hd_clear *clear; /* for the executor: no phase reads it, and none puts it into another order */
    const hdi_access_info *access;
    const hdi_kind *first_kind; /* of the accesses that are not custom */
    const hdi_link *first_link;
    bool mixed_layouts;      /* a pass reads a piece of an image in two layouts, which agree, or in none there is */
    bool has_empty_passes;   /* without uses */
    bool may_read_unwritten; /* false: in declaration order, all reads stand behind writes of the whole or find content
                              */
    /* Reads of versions that were ended by an earlier pass: use late_use[i] (ascending) comes before pass late_end[i]
     * and sees what the passes declared before that one wrote. Part of the plan's key. */
    uint32_t late_count;
    const uint32_t *late_use, *late_end;
} hdi_decl;

/* A buffer without bytes: it has no memory, and only orders. */
static inline bool hdi_is_token(const hdi_decl *decl, uint32_t res)
{
    return decl->res_flags[res] & HDI_RES_BUFFER && decl->res_info[res].bytes == 0;
}

/* What was declared, and what the uses imply. */
static inline uint32_t hdi_res_usage(const hdi_decl *decl, uint32_t res)
{
    return decl->res_info[res].usage | (uint32_t)decl->res_state[res].word;
}

/* What a use clears to, as it was declared. O(log clear_count) */
hd_clear hdi_use_clear(const hdi_decl *decl, uint32_t use);

/* What a use starts from, as a VkAttachmentLoadOp; flags: HDI_USE_*. */
static inline uint32_t hdi_load_op_of(const hdi_use_exec *use, uint32_t flags)
{
    uint32_t undone = use->load == HD_LOAD_CLEAR ? HDI_LOAD_OP_CLEAR : HDI_LOAD_OP_DONT_CARE;
    return flags & HDI_USE_READS ? HDI_LOAD_OP_LOAD : undone; /* it cannot be foreseen which */
}
static inline uint32_t hdi_load_op(const hdi_decl *decl, uint32_t use)
{
    return hdi_load_op_of(&decl->use_exec[use], decl->use_flags[use]);
}

/* The declaration of the current frame. */
hdi_decl hdi_graph_decl(const hd_graph *graph);

/* As long as a field of .fgt text may be, and so the name of a graph. */
enum { HDI_NAME_BYTES = 4096 };

typedef struct hdi_fgt_need {
    hd_resource_info info;
    hd_memory_need need;
    uint32_t line;
} hdi_fgt_need;

/* Of a .fgt text, kept with the graph that it was read into: allocated by the reader with the graph's allocator, freed
 * by the graph. All zero when the graph was not read from text. */
typedef struct hdi_fgt_lines {
    uint32_t *pass_line, *use_line;
    uint32_t pass_count, use_count; /* elements of the two arrays */
    char *names;                    /* of resources and passes */
    size_t name_bytes;
    hdi_fgt_need *need; /* by info */
    uint32_t need_count;
    hd_queue_desc queues[HD_MAX_QUEUES - 1];
    hd_compile_desc desc; /* hd_graph_fgt_desc */
} hdi_fgt_lines;
/* A list of a graph: it holds no declaration that could be looked at. */
bool hdi_graph_is_list(const hd_graph *graph);

hdi_fgt_lines *hdi_graph_fgt_lines(hd_graph *graph);
/* Frees what they hold. */
void hdi_graph_forget_lines(hd_graph *graph);
const hd_allocator *hdi_graph_allocator(const hd_graph *graph);

/* Memory of a resource by the .fgt rules. */
enum { HDI_BUFFER_ALIGNMENT = 256, HDI_IMAGE_ALIGNMENT = 65536 };
void hdi_default_need(const hd_resource_info *info, hd_memory_need *need);
uint64_t hdi_default_bytes(const hdi_res_info *info);
/* The info that a size callback gets. */
void hdi_resource_info(const hdi_decl *decl, uint32_t res, hd_resource_info *out);
/* Bytes of a texel, of blocks rounded up; 0: not known. Depth, stencil: which aspects a format has. */
uint32_t hdi_format_bytes(uint32_t format);
/* Texels of a block, which is one where the format has none, and its bytes; 0: not known. */
typedef struct hdi_texel_block {
    uint32_t width, height, bytes;
} hdi_texel_block;
hdi_texel_block hdi_format_block(uint32_t format);
static inline uint64_t hdi_texel_blocks(uint32_t texels, uint32_t of)
{
    return ((uint64_t)texels + of - 1) / of;
}
/* The same by VkFormat; not 0 but for UNDEFINED. */
enum { HDI_FIRST_COMPRESSED = 131 };
extern const uint8_t hdi_texel_bytes[HDI_FIRST_COMPRESSED];
bool hdi_format_has_depth(uint32_t format);
bool hdi_format_has_stencil(uint32_t format);
bool hdi_format_is_integer(uint32_t format);
/* The aspects of a depth or stencil format, HD_ASPECT_*; 0: a color. */
uint32_t hdi_format_aspects(uint32_t format);
/* Whether two ranges of images share an aspect. */
static inline bool hdi_aspects_meet(const hd_range *a, const hd_range *b)
{
    return a->aspect == 0 || b->aspect == 0 || (a->aspect & b->aspect) != 0;
}

#include "plan_block.h"

#endif
