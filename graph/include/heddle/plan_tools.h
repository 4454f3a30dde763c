/* heddle/plan_tools.h: what is done with a plan beside executing it: reasons, statistics, verification, what orders two
 * passes, files. Included by heddle/graph.h. Nothing here is on a frame's way. */
#ifndef HEDDLE_PLAN_TOOLS_H
#define HEDDLE_PLAN_TOOLS_H

#include <heddle/graph.h>

HD_API_BEGIN

/* ---- reasons: what stands behind each part of a plan ---- */

/* Why a pass was culled. */
typedef enum hd_cull {
    HD_CULL_NONE,           /* no reason: the plan should have kept it */
    HD_CULL_WRITES_NOTHING, /* it is no root and writes nothing */
    HD_CULL_UNREAD,         /* no pass reads what it writes before the frame ends, and it is not kept after the frame */
    HD_CULL_OVERWRITTEN,    /* other_pass overwrites what it writes before any pass reads it */
    HD_CULL_READER_CULLED,  /* other_pass would read it, but is culled too */
    HD_CULL_COUNT
} hd_cull;
const char *hd_cull_name(hd_cull cull);

/* A reason and what is behind it; HD_NONE where there is none. */
typedef struct hd_why {
    uint32_t code;       /* of the list that belongs to the array */
    uint32_t pass;       /* the pass that it is about: the one that comes behind, or that is culled */
    uint32_t other_pass; /* its cause: the pass that comes before, or that overwrites or would read */
    uint32_t resource;   /* through which */
    uint32_t other_resource; /* whose bytes it has, or would have: a former tenant, the neighbour below, a history's
                                other half */
} hd_why;

/* Each array is as long as the plan's own and goes with it element by element. */
typedef struct hd_plan_reasons {
    const hd_why *barriers;    /* hd_reason */
    const hd_why *waits;       /* hd_reason: pass waits for other_pass, or for a barrier that stands behind it */
    const hd_why *submits;     /* hd_cut: why each starts where it starts */
    const hd_why *submit_ends; /* hd_cut: why each ends where it ends */
    const hd_why *resources;   /* hd_placing: pass is the first to use it (HOST: the first host pass,
                                * maybe a culled one), other_pass the last to use the former tenant. FIRST:
                                * other_resource lies right below and is in use meanwhile */
    const hd_why *culled;      /* hd_cull */
    size_t bytes;              /* of the one block that holds them all and this */
} hd_plan_reasons;
/* Works out from the plan and the declaration that it was compiled from (which graph must still hold) what compile
 * itself had no need to keep. Takes time: for tools and views, not for each frame. Also for plans from elsewhere, which
 * say less. *out is freed by hd_plan_reasons_free with the same allocator (may be null). HD_OK, HD_INVALID_ARGUMENT,
 * HD_OUT_OF_MEMORY. */
hd_result hd_plan_explain(const hd_graph *graph, const hd_plan *plan, const hd_allocator *allocator,
                          const hd_plan_reasons **out);
void hd_plan_reasons_free(const hd_plan_reasons *reasons, const hd_allocator *allocator);

/* In words, for the log of an engine (names included): a line (HD_LOG_INFO) for each culled pass and why, and one
 * (HD_LOG_WARNING) for each write of another pass that a later one overwrites before any reads it. graph must hold the
 * declaration. Takes time; hd_graph_desc.log_plans asks for it. HD_OK, HD_INVALID_ARGUMENT, HD_OUT_OF_MEMORY. */
hd_result hd_plan_log(const hd_graph *graph, const hd_plan *plan, const hd_log *log);

/* ---- statistics of a plan ---- */

typedef struct hd_plan_stats {
    uint32_t passes, kept, uses, resources, queues, barriers, barrier_batches, submits, semaphore_waits;
    uint64_t heap_bytes, unaliased_bytes, peak_live_bytes;
    double makespan_us;        /* end of the last pass: queues run their passes one behind the other, at their costs */
    double makespan_priced_us; /* the same where a wait for another queue is met a hand-off's price after its signal */
    double critical_path_us;
} hd_plan_stats;
/* graph must still hold the declaration that plan was compiled from. handoff_us: as in hd_compile_desc. HD_OK,
 * HD_INVALID_ARGUMENT, HD_OUT_OF_MEMORY. */
hd_result hd_plan_stats_get(const hd_graph *graph, const hd_plan *plan, float handoff_us, hd_plan_stats *out);

/* ---- verification: shares no code with the compiler ---- */

/* What a plan can break. */
typedef enum hd_rule {
    HD_RULE_NONE,
    HD_RULE_STRUCTURE, /* tables that do not fit, or passes, resources and ranges that the declaration does not have */
    HD_RULE_VERSIONS,  /* the declaration: a pass would have to run before itself */
    HD_RULE_CULL,      /* what is kept */
    HD_RULE_QUEUE,     /* a pass on a queue that cannot run it, or not where it is pinned to */
    HD_RULE_STAGES,    /* stages that the queue lacks, accesses that the stages cannot do */
    HD_RULE_EVENT,     /* the two halves of a split barrier */
    HD_RULE_WAIT,      /* a wait without a signal, a signal out of order */
    HD_RULE_DEADLOCK,  /* submits that wait for one another */
    HD_RULE_PLACEMENT, /* sizes, alignment, heaps, resources that share bytes and may not */
    HD_RULE_RENDERING, /* rendering scopes and their load and store ops */
    HD_RULE_EXECUTION, /* two that conflict, and no chain orders them */
    HD_RULE_AVAILABILITY, /* ordered, but nothing on the way makes what the first wrote available */
    HD_RULE_VISIBILITY,   /* made available, but not visible to the second */
    HD_RULE_LAYOUT,
    HD_RULE_CONTENT, /* a read of what is undefined, or of what another pass wrote than the declaration says */
    HD_RULE_OWNERSHIP,
    HD_RULE_FINAL_STATE, /* what the next frame relies on */
    HD_RULE_COUNT
} hd_rule;
const char *hd_rule_name(hd_rule rule);

typedef enum hd_place_kind {
    HD_PLACE_NONE,
    HD_PLACE_PASS,    /* index: pass */
    HD_PLACE_BARRIER, /* index: in barriers */
    HD_PLACE_WAIT,    /* index: in waits */
} hd_place_kind;

typedef struct hd_verify_place {
    uint32_t kind, index;   /* hd_place_kind */
    uint32_t use;           /* of a pass: which of its uses, or HD_NONE */
    uint32_t queue, submit; /* HD_NONE: it stands nowhere */
    uint32_t command;       /* in commands; HD_NONE for waits and signals */
} hd_verify_place;

/* One change of a plan. */
typedef enum hd_repair_kind {
    HD_REPAIR_NONE,          /* no single change is known to help */
    HD_REPAIR_WIDEN,         /* barrier `index` gets the masks of `barrier` too */
    HD_REPAIR_NARROW,        /* barrier `index` loses the masks of `barrier` */
    HD_REPAIR_CHANGE,        /* barrier `index` becomes `barrier` */
    HD_REPAIR_ADD,           /* `barrier` joins the barriers right before command `command` of submit `submit`; with a
                              * `value`, or where there are none, it stands there alone. `command` may be the end of the
                              * submit */
    HD_REPAIR_WAIT_STAGES,   /* wait `index` gets barrier.dst_stages too */
    HD_REPAIR_SIGNAL_STAGES, /* the signal of submit `index` gets barrier.src_stages too */
    HD_REPAIR_ADD_WAIT,      /* submit `submit` waits with barrier.dst_stages for submit `index`, which signals where it
                              * did not */
    HD_REPAIR_WAIT_VALUE,    /* wait `index` waits for `value` */
    HD_REPAIR_DROP_WAIT,     /* wait `index` goes */
    HD_REPAIR_LOAD,          /* attachment `index` loads by `value` (VkAttachmentLoadOp) */
    HD_REPAIR_STORE,         /* attachment `index` stores by `value` (VkAttachmentStoreOp) */
    HD_REPAIR_MOVE,          /* entry `index` of resources gets `bytes` bytes at offset `value`; its heap grows */
    HD_REPAIR_FINAL_LAYOUT,  /* entry `index` of resources says `value` */
    HD_REPAIR_FINAL_FAMILY,  /* entry `index` of resources says `value` */
    HD_REPAIR_COUNT
} hd_repair_kind;

typedef struct hd_repair {
    uint32_t kind; /* hd_repair_kind */
    uint32_t index, submit, command;
    uint64_t value, bytes;
    hd_plan_barrier barrier;
} hd_repair;

typedef struct hd_finding {
    uint32_t rule;                 /* hd_rule */
    hd_verify_place first, second; /* the two commands between which it failed; one alone is the second */
    uint32_t resource, other_resource; /* of the second, and of the first where it is another (an alias); or HD_NONE */
    hd_repair repair; /* the shortest: fewest bits of masks, else one new element. A plan that is broken in one
                       * place may need several, each found when the one before has been made */
    const char *text, *repair_text; /* live during the call */
} hd_finding;

typedef struct hd_verify_desc {
    hd_allocator allocator;
    /* Called for each violation, at most max_messages times (0: 16); text lives during the call. */
    void (*message)(const char *text, void *user);
    void *user;
    uint32_t max_messages;
    hd_size_fn size; /* the sizes that the plan was compiled with; null: those of the .fgt format */
    void *size_user;
    void (*finding)(const hd_finding *finding, void *user); /* the same as numbers, with message or without */
} hd_verify_desc;
/* Replays plan under the rules of Vulkan's synchronization. HD_OK, HD_PLAN_INVALID, HD_OUT_OF_MEMORY. desc may be null.
 */
hd_result hd_plan_verify(const hd_graph *graph, const hd_plan *plan, const hd_verify_desc *desc);
/* A copy of the plan with the repair made; freed by hd_plan_free with the same allocator (may be null). The repair is
 * one that was found for this very plan. HD_OK, HD_INVALID_ARGUMENT (none, or none for this plan), HD_OUT_OF_MEMORY. */
hd_result hd_plan_repair(const hd_plan *plan, const hd_repair *repair, const hd_allocator *allocator, hd_plan **out);

/* ---- what orders two passes ---- */

typedef enum hd_link_kind {
    HD_LINK_PASS,    /* index: pass; the first and the last link of a chain */
    HD_LINK_BARRIER, /* index: in barriers */
    HD_LINK_SIGNAL,  /* index: in submits */
    HD_LINK_WAIT,    /* index: in waits */
} hd_link_kind;

/* One step of a chain. Each waits for the one before it: barriers and signals for stages in their first scope, or that
 * the barrier before them on their queue releases; waits for the signal before them. */
typedef struct hd_link {
    uint32_t kind, index;
    uint32_t queue, submit;
    /* Stages through which it hangs on the link before it, groups taken apart; a pass: of its own access */
    uint64_t from;
    uint64_t to;   /* stages through which the next one hangs on it */
} hd_link;

typedef enum hd_chained {
    HD_CHAINED_NONE,  /* no chain */
    HD_CHAINED_LINKS, /* the links */
    HD_CHAINED_SCOPE, /* both are attachments of one rendering scope: rasterization order, no links between */
    HD_CHAINED_HOST,  /* both are host passes: one thread runs them one after another, no links between */
} hd_chained;

/* Two uses that must not run at once, and why they do not. HD_NONE for uses and resources where nothing of the two
 * passes conflicts: then it is about all stages of the one and of the other. */
typedef struct hd_chain {
    uint32_t how;                 /* hd_chained */
    uint32_t use, other_use;      /* within the first pass, within the second */
    uint32_t resource, other_resource; /* of the one and the other; they differ where they share bytes */
    uint64_t stages, other_stages; /* of the two uses, or those that this chain is for where it takes several */
    uint32_t leave, arrive;       /* barriers, signals and waits that wait for the first; that the second waits for */
    uint32_t link_begin, link_count;
} hd_chain;

typedef struct hd_chains {
    uint32_t pass, other_pass; /* as the plan hands them over: the first and the second */
    bool culled;               /* one of them; then there are no chains */
    bool conflict;             /* some of their uses conflict */
    uint32_t chain_count, link_count;
    const hd_chain *chains;
    const hd_link *links;
    size_t bytes; /* of the one block that holds it all */
} hd_chains;
/* Shortest chains that order two passes, one for each pair of uses that conflict, by the same relation that
 * hd_plan_verify decides on. Takes time: for tools. graph must hold the declaration. *out is freed by hd_chains_free
 * with the same allocator (may be null). HD_OK, HD_INVALID_ARGUMENT, HD_PLAN_INVALID (tables that do not fit),
 * HD_OUT_OF_MEMORY. */
hd_result hd_plan_chains(const hd_graph *graph, const hd_plan *plan, uint32_t pass, uint32_t other_pass,
                         const hd_allocator *allocator, const hd_chains **out);
void hd_chains_free(const hd_chains *chains, const hd_allocator *allocator);

/* ---- files: formats are those of the project's format contract, version 1 ---- */

/* Reads `.fgt` text into graph (begins a new frame). file names it in errors. On HD_PARSE or a declaration error, error
 * (may be null) gets "file:line: sentence". Names of the text live until the next text is read or the graph destroyed.
 */
hd_result hd_graph_read_fgt(hd_graph *graph, const char *text, size_t bytes, const char *file, char *error,
                            size_t error_bytes);
/* "file:line: sentence" for the error that compiling the graph last read by hd_graph_read_fgt gave. */
void hd_graph_fgt_error(const hd_graph *graph, const char *file, char *error, size_t error_bytes);
/* What the text that was read last says to compile its frame with: queues (null: it names none), options, and a size
 * callback (null: it says nothing of memory). All else is 0. Never null. To be copied and completed; what it points to
 * lives as long as the names, and the callback does for the graph's declaration and for copies of it. */
const hd_compile_desc *hd_graph_fgt_desc(const hd_graph *graph);
/* Writes any declared frame; lists that have not joined are left out; the stream stays open. HD_OK, HD_IO or
 * HD_INVALID_ARGUMENT. What is read back compiles to the same plan. Left out are native handles, record functions and
 * their user data. */
hd_result hd_graph_write_fgt(const hd_graph *graph, FILE *stream);
/* The same, and what desc (may be null) compiles it with: queues, options, and what desc->size says that each resource
 * needs. */
hd_result hd_graph_write_fgt_with(const hd_graph *graph, const hd_compile_desc *desc, FILE *stream);
/* HD_OK, HD_IO, HD_OUT_OF_MEMORY, HD_INVALID_ARGUMENT; each says why every part of the plan is there (hd_plan_explain).
 * JSON, beyond the format: "reason", "reason_pass", "reason_resource" of barriers, "reason_pass" of waits, "cut" of
 * submits, "placing" and "tenant" of resources, which are read back; "name" of resources and passes, "why" of all these
 * and "culled_why" (as long as "culled"), which are not: a why is an object with a "code" and, where there is one,
 * "pass", "other_pass", "resource", "other_resource". */
hd_result hd_plan_write_json(const hd_graph *graph, const hd_plan *plan, FILE *stream);
/* The plan in words: heaps and resources, then each queue's submits, a line a wait, barrier, pass and signal. */
hd_result hd_plan_write_list(const hd_graph *graph, const hd_plan *plan, FILE *stream);
hd_result hd_plan_write_dot(const hd_graph *graph, const hd_plan *plan, FILE *stream);
/* One page that needs no other file and no network, for any browser of today: queues, resources and memory over time,
 * each barrier in words, what is connected with what. HD_NO_PAGE: heddle was built where d3 was not found. */
hd_result hd_plan_write_html(const hd_graph *graph, const hd_plan *plan, FILE *stream);
/* What the page shows beside the plan. All zero: nothing. */
typedef struct hd_page_span {
    uint32_t pass;
    double begin_us, end_us; /* since a time that all spans share */
} hd_page_span;
/* An image as a pass left it. */
typedef struct hd_page_picture {
    uint32_t pass, resource;
    uint32_t width, height; /* of this small picture, each at most 512 */
    const uint8_t *rgba;    /* width x height x 4, as it is to be seen */
    float least, most;      /* of the image itself */
} hd_page_picture;
typedef struct hd_page_desc {
    const hd_graph *before_graph; /* holds the declaration of ... */
    const hd_plan *before;        /* another plan: the page says what differs; null: none */
    const hd_page_span *spans;    /* measured times of passes, at most one a pass, beside the simulated ones */
    uint32_t span_count;
    const hd_page_picture *pictures;
    uint32_t picture_count;
} hd_page_desc;
/* hd_plan_write_html, with what desc (may be null) says. */
hd_result hd_plan_write_page(const hd_graph *graph, const hd_plan *plan, const hd_page_desc *desc, FILE *stream);
/* Makes a plan from JSON text; freed by hd_plan_free with the same allocator (may be null). HD_OK, HD_INVALID_ARGUMENT,
 * HD_OUT_OF_MEMORY, HD_PARSE. The text's tree is the JSON library's, in the C library's memory: where that runs out,
 * the library at times says HD_PARSE of a good text. */
hd_result hd_plan_read_json(const hd_graph *graph, const char *text, size_t bytes, const hd_allocator *allocator,
                            hd_plan **out, char *error, size_t error_bytes);
void hd_plan_free(hd_plan *plan, const hd_allocator *allocator);

/* Writes a file whole or not at all: what `write` puts into the stream becomes the file at path when all of it is
 * written. Else path stays as it was, or does not exist, and nothing else is left behind. What is no file (a pipe, a
 * device) is written to. HD_OK, HD_IO (errno says more), HD_OUT_OF_MEMORY, HD_INVALID_ARGUMENT, or what `write`
 * returned. */
hd_result hd_file_write(const char *path, hd_result (*write)(FILE *stream, void *user), void *user);

HD_API_END
#endif
