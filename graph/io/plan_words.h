/* Parts of a plan as words on a line: for listings. A name stands behind its number, in quotes. */
#ifndef HDI_PLAN_WORDS_H
#define HDI_PLAN_WORDS_H

#include "plan_view.h"

typedef struct hdi_plan_words {
    const hdi_decl *decl;
    const hd_plan_view *plan;
    const hd_plan_reasons *reasons;
    FILE *f;
} hdi_plan_words;

void hdi_say_pass(const hdi_plan_words *w, uint32_t pass);    /* pass 3 'shadow' */
void hdi_say_resource(const hdi_plan_words *w, uint32_t res); /* image 4 'depth' */
void hdi_say_queue(const hdi_plan_words *w, uint32_t queue);  /* queue 1 compute */
void hdi_say_stages(const hdi_plan_words *w, uint64_t stages);
/* Scopes, what it is of, layouts and families. */
void hdi_say_barrier(const hdi_plan_words *w, const hd_plan_barrier *barrier);
/* "; " and the reason, if there is one. */
void hdi_say_why(const hdi_plan_words *w, hdi_why_kind kind, const hd_why *why);

#endif
