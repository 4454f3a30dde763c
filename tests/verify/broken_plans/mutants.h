/* Plans broken in every single way: a kind says what is broken, a number which one of its places and variants. */
#ifndef HDT_MUTANTS_H
#define HDT_MUTANTS_H

#include "cells.h"
#include "sketch.h"

typedef enum hdt_made {
    HDT_NO_MORE,   /* the numbers of this kind end here */
    HDT_NOT_THERE, /* nothing to break at this number */
    HDT_MADE,
} hdt_made;

/* What is done to the plan by how it may stay sound; the reasons of mutants that live differ (mutant_reason.h). */
typedef enum hdt_change {
    HDT_WEAKER,   /* orders less than the plan did, in all respects */
    HDT_STRONGER, /* orders more */
    HDT_OTHER,    /* some more, some less, or something else */
} hdt_change;

typedef struct hdt_mutant_kind {
    const char *name;
    hdt_change change;
    hdt_made (*make)(hdt_sketch *sketch, const hdi_decl *decl, uint32_t n);
    const char *rule; /* a word of what the verifier says of some mutants of the kind */
} hdt_mutant_kind;

enum { HDT_MUTANT_KINDS_MOST = 80 };
extern const hdt_mutant_kind hdt_mutant_kinds[HDT_MUTANT_KINDS_MOST]; /* ends with one without a name */
uint32_t hdt_mutant_kind_count(void);

/* Kinds of mutants_order.c, mutants_place.c. */
#define HDT_MUTANT_MAKER(name) hdt_made name(hdt_sketch *sketch, const hdi_decl *decl, uint32_t n)
HDT_MUTANT_MAKER(hdt_drop_wait);
HDT_MUTANT_MAKER(hdt_lower_wait);
HDT_MUTANT_MAKER(hdt_raise_wait);
HDT_MUTANT_MAKER(hdt_weaken_wait);
HDT_MUTANT_MAKER(hdt_wait_elsewhere);
HDT_MUTANT_MAKER(hdt_later_wait);
HDT_MUTANT_MAKER(hdt_earlier_wait);
HDT_MUTANT_MAKER(hdt_wait_for_itself);
HDT_MUTANT_MAKER(hdt_drop_signal);
HDT_MUTANT_MAKER(hdt_earlier_signal);
HDT_MUTANT_MAKER(hdt_later_signal);
HDT_MUTANT_MAKER(hdt_weaken_signal);
HDT_MUTANT_MAKER(hdt_merge_submits);
HDT_MUTANT_MAKER(hdt_cut_submit);
HDT_MUTANT_MAKER(hdt_swap_submits);
HDT_MUTANT_MAKER(hdt_swap_passes);
HDT_MUTANT_MAKER(hdt_swap_far_passes);
HDT_MUTANT_MAKER(hdt_move_pass);
HDT_MUTANT_MAKER(hdt_double_pass);
HDT_MUTANT_MAKER(hdt_drop_pass);
HDT_MUTANT_MAKER(hdt_cull_kept);
HDT_MUTANT_MAKER(hdt_keep_culled);
HDT_MUTANT_MAKER(hdt_wrong_cull);
HDT_MUTANT_MAKER(hdt_put_over);
HDT_MUTANT_MAKER(hdt_shift_place);
HDT_MUTANT_MAKER(hdt_misalign);
HDT_MUTANT_MAKER(hdt_shrink);
HDT_MUTANT_MAKER(hdt_other_heap);
HDT_MUTANT_MAKER(hdt_short_heap);
HDT_MUTANT_MAKER(hdt_final_layout);
HDT_MUTANT_MAKER(hdt_final_family);
HDT_MUTANT_MAKER(hdt_first_family);
HDT_MUTANT_MAKER(hdt_other_sharing);
HDT_MUTANT_MAKER(hdt_not_loaded);
HDT_MUTANT_MAKER(hdt_not_stored);
HDT_MUTANT_MAKER(hdt_stored_in_vain);
HDT_MUTANT_MAKER(hdt_wrong_resolve);
HDT_MUTANT_MAKER(hdt_other_attachment);
HDT_MUTANT_MAKER(hdt_split_scope);
HDT_MUTANT_MAKER(hdt_join_scopes);

#endif
