/* What the two halves of hd_plan_explain share: explain.c finds what stands between passes, explain_parts.c goes
 * through the parts of a plan. */
#ifndef HDI_EXPLAIN_H
#define HDI_EXPLAIN_H

#include "tables.h"

typedef struct hdi_explain {
    const hdi_decl *decl;
    hd_plan_view view;
    hdi_arena arena;
    uint32_t *use_pass;
    uint64_t *use_key;                       /* among the uses of a resource: the order of the content */
    uint32_t *pass_submit, *pass_at;         /* HDI_NONE: not in the plan. pass_at: index of its command */
    uint32_t *plan_begin, *plan_use;         /* uses of each resource in the order of the commands */
    uint32_t *declared_begin, *declared_use; /* ... in order of declaration */
    uint32_t *res_at;                        /* where a resource stands in the plan's, HDI_NONE: nowhere */
    uint32_t *signal_wait;                   /* per submit: the first wait that is for it, HDI_NONE */
    uint32_t *heap_begin, *by_end;           /* places in the plan's list, by heap and by where they end */
    hdi_signals signals;
    uint8_t *culled;
    hd_why *barriers, *waits, *submits, *submit_ends, *resources, *culls;
} hdi_explain;

/* Places in plan_use. */
typedef struct hdi_explain_uses {
    uint32_t begin, end;
} hdi_explain_uses;
/* The uses of a resource by a pass; none where the pass is not in the plan. */
hdi_explain_uses hdi_explain_uses_of(const hdi_explain *x, uint32_t pass, uint32_t res);
/* The first use of a resource by a command that is not before `at`. */
uint32_t hdi_explain_from(const hdi_explain *x, uint32_t res, uint32_t at);

bool hdi_explain_ranges_meet(const hd_range *a, const hd_range *b, bool is_buffer);
/* Two uses touch a common subresource or byte. */
bool hdi_explain_meet(const hdi_explain *x, uint32_t use_a, uint32_t use_b);
/* Why use b comes behind use a of the same resource: an hd_reason, NONE where nothing orders them. */
uint32_t hdi_explain_conflict(const hdi_explain *x, uint32_t use_a, uint32_t use_b);
/* What orders two passes, the strongest reason first. False: nothing. */
bool hdi_explain_pair(const hdi_explain *x, uint32_t a, uint32_t b, hd_why *out);
/* The latest pass on a queue (of submits up to last_submit, of commands before `at`) that orders pass b. */
bool hdi_explain_behind(const hdi_explain *x, uint32_t b, uint32_t queue, uint32_t last_submit, uint32_t at,
                        hd_why *out);
/* The first pass of the plan that uses a resource, and the last before a command (HDI_NONE: of all); HDI_NONE: none. */
uint32_t hdi_explain_first_user(const hdi_explain *x, uint32_t res);
uint32_t hdi_explain_last_user(const hdi_explain *x, uint32_t res, uint32_t at);
/* A resource whose bytes `res` (of the plan) takes over and which was used before a command, HDI_NONE: none. */
uint32_t hdi_explain_tenant(const hdi_explain *x, uint32_t res, uint32_t at);

void hdi_explain_barriers(hdi_explain *x);
void hdi_explain_waits(hdi_explain *x);
void hdi_explain_submits(hdi_explain *x); /* after the waits */
void hdi_explain_resources(hdi_explain *x);
void hdi_explain_culls(hdi_explain *x);

#endif
