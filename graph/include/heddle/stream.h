/* heddle/stream.h: streams of commands, as heddle/capture.h writes them down, kept in files and verified by the rules
 * of Vulkan's synchronization. Nothing here needs Vulkan. Stages, accesses, layouts and aspects are Vulkan's numbers.
 */
#ifndef HEDDLE_STREAM_H
#define HEDDLE_STREAM_H

#include <heddle/plan_tools.h>

HD_API_BEGIN

typedef struct hd_stream_queue {
    uint32_t kind;   /* hd_queue_kind; host: one thread that waits, signals or touches memory */
    uint32_t family; /* HD_NONE: a host queue */
} hd_stream_queue;

typedef struct hd_stream_resource {
    uint32_t name;          /* in strings, or HD_NONE */
    uint32_t memory;        /* a number; resources of one memory whose bytes meet are aliases. HD_NONE: its own */
    uint64_t offset, bytes; /* in it; bytes of a buffer: those of the buffer */
    uint32_t mips, layers;  /* buffers: 1 */
    uint32_t aspects;       /* VkImageAspectFlags; 0: a buffer */
    uint32_t layout;        /* of an image when the stream begins; HD_NONE: not known */
    uint32_t flags;         /* HD_STREAM_* */
    uint32_t object;        /* in objects; 0: not known */
} hd_stream_resource;
#define HD_STREAM_CONCURRENT 1u
#define HD_STREAM_OLD 2u    /* from before the stream: owner and layout are not known, content counts as defined */
#define HD_STREAM_MAPPED 4u /* the host may write it at any time: its content counts as defined */

typedef struct hd_stream_semaphore {
    uint32_t binary;
    uint64_t initial; /* value when the stream begins; binary: 1 where it is signalled */
} hd_stream_semaphore;

/* A wait or a signal. */
typedef struct hd_stream_sync {
    uint32_t semaphore; /* HD_NONE: nothing */
    uint64_t value, stages;
} hd_stream_sync;

typedef struct hd_stream_barrier {
    uint64_t src_stages, src_access, dst_stages, dst_access;
    uint32_t resource; /* HD_NONE: all memory */
    uint32_t old_layout, new_layout, src_family, dst_family;
    hd_range range; /* explicit counts */
} hd_stream_barrier;

/* Texels, in the subresource's own: x, y, z. */
typedef struct hd_stream_box {
    uint32_t offset[3], extent[3]; /* extent[0] 0: all that there are */
} hd_stream_box;

typedef struct hd_stream_access {
    uint64_t stages, access; /* each bit of access at each stage that can do it */
    uint32_t resource;
    uint32_t layout; /* of images */
    uint32_t flags;  /* HD_STREAM_DECLARED, ... */
    uint32_t scope; /* rendering that it is an attachment of, or reads one of in the layout for feedback loops; 0: none.
                     * In one, accesses to an attachment are in rasterization order */
    hd_range range; /* explicit counts */
    hd_stream_box box; /* of images: of each subresource of range; else all 0 */
} hd_stream_access;
/* By its pass; not checked against commands of that pass, but for those that write what it only reads. */
#define HD_STREAM_DECLARED 1u
#define HD_STREAM_LOST 2u /* what stands there is thrown away afterwards */
/* What the capture saw in memory that the host can see, or in an image that is presented: a write of the host's by its
 * bytes, a read by the hash of what stood there. Orders nothing, and is checked against nothing. */
#define HD_STREAM_OBSERVED 4u
/* Through a descriptor that is bound: the shader may do it, and may not. Checked against nothing; what it reads is
 * needed, and a write leaves what was there, or defines it. */
#define HD_STREAM_BOUND 8u

typedef enum hd_stream_kind {
    HD_STREAM_ACCESS,  /* begin, count: accesses */
    HD_STREAM_BARRIER, /* begin, count: barriers, here and below */
    HD_STREAM_SET,
    HD_STREAM_WAIT,
} hd_stream_kind;

typedef struct hd_stream_command {
    uint32_t kind;
    uint32_t name;  /* the Vulkan function, in strings */
    uint32_t label; /* the pass, in strings, or HD_NONE */
    uint32_t group; /* commands of one pass have one number; 0: of none */
    uint32_t event; /* SET, WAIT */
    uint32_t begin, count;
    uint32_t buffer; /* command buffers have numbers: at the next one, all state is unset */
    uint64_t sets,
        uses;      /* HD_STREAM_STATE_*: state of the command buffer; a command that does both uses what was before. One
                    * that has data, and nothing else by which others could need it, does both to OTHER */
    uint32_t data; /* in datas: what it was given; 0: not known */
    uint32_t pair; /* commands of one command buffer with the same number belong together: the beginning and the end of
                    * a query, all of a rendering with its subpasses. 0: of none */
    uint32_t changes; /* in objects: one that holds more than its creation gave it (a descriptor set, a pool of
                       * queries), and of which the command changes a part; 0: none */
} hd_stream_command;
/* State of a command buffer, a bit each. */
#define HD_STREAM_STATE_PIPELINE(point) (UINT64_C(1) << (point)) /* 0 graphics, 1 compute */
#define HD_STREAM_STATE_SET(point, set)                                                                                \
    (UINT64_C(1) << (2 + (point)*8 + (set)))     /* descriptors; sets from 7 on share one */
#define HD_STREAM_STATE_PUSH (UINT64_C(1) << 18) /* push constants */
#define HD_STREAM_STATE_INDEX (UINT64_C(1) << 19)
#define HD_STREAM_STATE_VERTEX(binding) (UINT64_C(1) << (20 + (binding))) /* bindings from 7 on share one */
#define HD_STREAM_STATE_VIEWPORT (UINT64_C(1) << 28)
#define HD_STREAM_STATE_SCISSOR (UINT64_C(1) << 29)
#define HD_STREAM_STATE_DYNAMIC(k)                                                                                     \
    (UINT64_C(1) << (30 + (k)))                   /* other dynamic state, in the order of capture_bind.c               \
                                                   */
#define HD_STREAM_STATE_OTHER (UINT64_C(1) << 49) /* all other state */
#define HD_STREAM_STATE_QUERY (UINT64_C(1) << 50) /* what queries that have begun count */

typedef struct hd_stream_submit {
    uint32_t queue;
    uint32_t thread; /* host queue of the caller: what that did before happens before this */
    uint32_t name;   /* the Vulkan function, in strings */
    uint32_t frame;
    uint32_t wait_begin, wait_count;       /* in syncs */
    uint32_t command_begin, command_count; /* in commands */
    uint32_t signal_begin, signal_count;   /* in syncs */
} hd_stream_submit;

/* What a call was given: bytes, and the objects that they name. vk/capture/call.h says what the bytes are. */
typedef struct hd_stream_data {
    uint32_t byte_begin, byte_count; /* in bytes */
    uint32_t ref_begin, ref_count;   /* in refs, which are numbers in objects */
} hd_stream_data;

/* What a call made, behind all that it names: an image, a pipeline, an image that has its memory. */
typedef struct hd_stream_object {
    uint32_t name; /* the Vulkan function, in strings */
    uint32_t data; /* in datas */
} hd_stream_object;

/* Plain arrays, in the order of the calls. objects and datas, where there are any, begin with an element that is none:
 * their numbers begin with 1. A caller that changes them keeps them consistent. */
typedef struct hd_stream {
    hd_allocator allocator;
    uint64_t unseen; /* calls whose accesses are not known */
    char **strings;
    hd_stream_queue *queues;
    hd_stream_resource *resources;
    hd_stream_semaphore *semaphores;
    hd_stream_submit *submits;
    hd_stream_sync *syncs;
    hd_stream_command *commands;
    hd_stream_barrier *barriers;
    hd_stream_access *accesses;
    hd_stream_object *objects;
    hd_stream_data *datas;
    uint32_t *refs;
    uint8_t *bytes;
    uint32_t device; /* in objects; 0: the stream does not say enough to be replayed */
    uint32_t string_count, queue_count, resource_count, semaphore_count, submit_count, sync_count, command_count,
        barrier_count, access_count, object_count, data_count, ref_count, byte_count;
    uint32_t string_room, queue_room, resource_room, semaphore_room, submit_room, sync_room, command_room, barrier_room,
        access_room, object_room, data_room, ref_room, byte_room; /* of the arrays */
} hd_stream;

void hd_stream_free(hd_stream *stream);
hd_result hd_stream_copy(const hd_stream *stream, hd_stream **out);
/* JSON, a line a submit, command, barrier or access; the same stream gives the same bytes. HD_OK, HD_IO. Names are
 * those of the structures. "range": [offset, bytes], of images [first mip, mips, first layer, layers], with "aspect"
 * where it is one of two; "box": [x, y, z, width, height, depth], left out where an access touches all texels. "refs"
 * and "data" (base64) of commands and objects: what the call was given; without "data" it is not known. */
hd_result hd_stream_write(const hd_stream *stream, FILE *file);
/* HD_OK, HD_PARSE (error says what and where), HD_TOO_LARGE, HD_OUT_OF_MEMORY. allocator and error may be null. */
hd_result hd_stream_read(const char *text, size_t bytes, const hd_allocator *allocator, hd_stream **out, char *error,
                         size_t error_bytes);
/* HD_OK: no rule is broken. HD_PLAN_INVALID: desc->message (may be null, as desc) got a sentence for each broken rule,
 * beginning with its word: race, layout, content, ownership, wait, event, stages. It names both commands; a race of two
 * commands on a resource, and a sentence that would be the same again, are said once. */
/* desc->finding gets the same as numbers: places name commands of the stream (kind HD_PLACE_PASS: one that accesses
 * something, use: in accesses; HD_PLACE_BARRIER: index in barriers; HD_PLACE_NONE: none), submit and command those of
 * the stream. rule: HD_RULE_EXECUTION, _AVAILABILITY, _VISIBILITY of races, _LAYOUT, _CONTENT, _OWNERSHIP, or
 * _STRUCTURE for waits, events and stages, which have no places. There is no repair. */
hd_result hd_stream_verify(const hd_stream *stream, const hd_verify_desc *desc);

typedef enum hd_stream_node_kind {
    HD_STREAM_NODE_COMMAND, /* any that is no barrier */
    HD_STREAM_NODE_BARRIER, /* one barrier of a command; of an event: of its set */
    HD_STREAM_NODE_WAIT,    /* of a submit for a semaphore */
    HD_STREAM_NODE_SIGNAL,
} hd_stream_node_kind;
typedef struct hd_stream_node {
    uint32_t kind;
    uint32_t submit;
    uint32_t command; /* in the stream's commands; HD_NONE: a wait or signal */
    uint32_t element; /* in the stream's barriers or syncs; HD_NONE: a command */
} hd_stream_node;

/* What stands between the two commands of a finding: barriers, waits and signals that could order them, and which bits
 * they lack for it. */
typedef struct hd_stream_between {
    hd_stream_node node;                  /* barriers, waits and signals */
    uint64_t src_lacks, src_access_lacks; /* of the first command's stages and writes */
    uint64_t dst_lacks, dst_access_lacks; /* of the second one's stages and accesses */
} hd_stream_between;
/* Fills out with at most room of them, those next to the second command, in the order of the stream; *count becomes how
 * many. HD_OK, HD_INVALID_ARGUMENT (a finding without two places). */
hd_result hd_stream_between_get(const hd_stream *stream, const hd_finding *finding, hd_stream_between *out,
                                uint32_t room, uint32_t *count);
typedef enum hd_stream_picture_format { HD_STREAM_PICTURE_DOT, HD_STREAM_PICTURE_HTML } hd_stream_picture_format;
/* Draws findings of a stream: the two commands of each, what stands between them, the scopes, and the bits that lack.
 * HD_OK, HD_IO, HD_INVALID_ARGUMENT. */
hd_result hd_stream_picture_write(const hd_stream *stream, const hd_finding *findings, uint32_t count,
                                  hd_stream_picture_format format, FILE *file);

/* ---- what needs what ---- */

typedef enum hd_stream_edge_kind {
    HD_STREAM_EDGE_CONTENT, /* to reads what from wrote */
    HD_STREAM_EDGE_LAYOUT,  /* from brings the image, or its owner, to where to takes it */
    HD_STREAM_EDGE_SIGNAL,  /* to waits for from */
    HD_STREAM_EDGE_STATE,   /* to uses state of the command buffer that from sets */
    HD_STREAM_EDGE_PAIR,    /* of one rendering, or with one number (pair): neither goes without the other */
    HD_STREAM_EDGE_ORDER,   /* from, and reads like it before it, must be finished before to, whose content needs
                             * nothing of them */
    HD_STREAM_EDGE_OBJECT,  /* to names or changes an object of which from, before it, changes a part */
} hd_stream_edge_kind;
typedef struct hd_stream_edge {
    uint32_t from, to;       /* nodes */
    uint32_t kind, resource; /* HD_NONE: none */
} hd_stream_edge;

/* Nodes in an order in which they can be executed: from < to in every edge. */
typedef struct hd_stream_graph {
    const hd_stream_node *nodes;
    const hd_stream_edge *edges; /* by to, then by from */
    const uint32_t *edge_begin;  /* node_count + 1: what a node needs */
    const uint32_t
        *command_node; /* command of the stream -> its node; HD_NONE: a barrier command */
    uint32_t node_count, edge_count, command_count;
} hd_stream_graph;

/* The graph of the stream, which may be freed before it. A stream that breaks rules has one, too: waits that nothing
 * signals are left out. allocator may be null. HD_OK, HD_OUT_OF_MEMORY, HD_TOO_LARGE, HD_INVALID_ARGUMENT. */
hd_result hd_stream_graph_build(const hd_stream *stream, const hd_allocator *allocator, hd_stream_graph **out);
void hd_stream_graph_free(hd_stream_graph *graph);
/* keep: node_count bytes, not 0 for the nodes that are wanted; becomes 1 for all that they need to see the same
 * content, and for the barriers and semaphores that keep these in order. */
hd_result hd_stream_graph_needs(const hd_stream_graph *graph, uint8_t *keep);
/* live: node_count bytes, becomes 1 for all that is needed by what the host reads and what is presented; end: by the
 * content that stands in resources at the end of the stream, too. The other nodes are dead. */
hd_result hd_stream_graph_live(const hd_stream_graph *graph, bool end, uint8_t *live);
typedef enum hd_stream_graph_format {
    HD_STREAM_GRAPH_DOT,
    HD_STREAM_GRAPH_JSON,
    HD_STREAM_GRAPH_HTML
} hd_stream_graph_format;
/* The graph of the stream for Graphviz, as JSON, or as a page that needs no other file; keep: node_count bytes, nodes
 * with 0 are left out, or null. HD_OK, HD_IO, HD_OUT_OF_MEMORY, HD_NO_PAGE (built without d3), HD_INVALID_ARGUMENT. */
hd_result hd_stream_graph_write(const hd_stream *stream, const hd_stream_graph *graph, const uint8_t *keep,
                                hd_stream_graph_format format, FILE *file);
/* The stream with the kept nodes alone, as a new one with the same resources and semaphores, and with the objects that
 * these commands, the device and the resources that they touch name: objects have other numbers then. Submits stand in the
 * order of the nodes. HD_OK,
 * HD_OUT_OF_MEMORY, HD_INVALID_ARGUMENT. */
hd_result hd_stream_graph_reduce(const hd_stream *stream, const hd_stream_graph *graph, const uint8_t *keep,
                                 hd_stream **out);

HD_API_END
#endif
