#include "plan_words.h"

#include <inttypes.h>

#include "fgt_words.h"
#include "vk_words.h"

/* In quotes, on one line. */
static void say_name(const char *name, FILE *f)
{
    fputs(" '", f);
    for (const unsigned char *c = (const unsigned char *)name; *c;)
        c += hdi_write_character(c, f);
    fputc('\'', f);
}

void hdi_say_pass(const hdi_plan_words *w, uint32_t pass)
{
    fprintf(w->f, "pass %" PRIu32, pass);
    if (pass < w->decl->pass_count && w->decl->pass_exec[pass].name)
        say_name(w->decl->pass_exec[pass].name, w->f);
}

void hdi_say_resource(const hdi_plan_words *w, uint32_t res)
{
    const bool known = res < w->decl->res_count;
    const uint32_t flags = known ? w->decl->res_flags[res] : 0;
    fprintf(w->f, "%s %" PRIu32,
            known && hdi_is_token(w->decl, res) ? "token"
            : flags & HDI_RES_HISTORY           ? "history"
            : flags & HDI_RES_BUFFER            ? "buffer"
                                                : "image",
            res);
    if (known && w->decl->res_info[res].name)
        say_name(w->decl->res_info[res].name, w->f);
}

void hdi_say_queue(const hdi_plan_words *w, uint32_t queue)
{
    fprintf(w->f, "queue %" PRIu32 " %s", queue, hdi_fgt_kinds[w->plan->queues[queue].kind & 3]);
}

void hdi_say_stages(const hdi_plan_words *w, uint64_t stages)
{
    fputs(HDI_STAGE_TEXT(stages), w->f);
}

static void say_scope(const hdi_plan_words *w, uint64_t stages, uint64_t access)
{
    hdi_say_stages(w, stages);
    fprintf(w->f, " [%s]", HDI_ACCESS_TEXT(access));
}

/* A part of a resource; nothing where it is all of it. */
static void say_range(const hdi_plan_words *w, uint32_t res, const hd_range *range)
{
    const hdi_res_info *info = &w->decl->res_info[res];
    if (w->decl->res_flags[res] & HDI_RES_BUFFER) {
        if (range->offset || range->bytes != info->bytes)
            fprintf(w->f, " bytes %" PRIu64 "..%" PRIu64, range->offset, range->offset + range->bytes);
        return;
    }
    if (range->mip_count != info->mips)
        fprintf(w->f, " mips %u..%u", range->mip_base, range->mip_base + range->mip_count);
    if (range->layer_count != info->layers)
        fprintf(w->f, " layers %" PRIu32 "..%" PRIu32, range->layer_base, range->layer_base + range->layer_count);
    if (range->aspect)
        fputs(range->aspect == HD_ASPECT_DEPTH ? " depth" : " stencil", w->f);
}

void hdi_say_barrier(const hdi_plan_words *w, const hd_plan_barrier *b)
{
    say_scope(w, b->src_stages, b->src_access);
    fputs(" -> ", w->f);
    say_scope(w, b->dst_stages, b->dst_access);
    if (b->resource < w->decl->res_count) {
        fputs(", ", w->f);
        hdi_say_resource(w, b->resource);
        say_range(w, b->resource, &b->range);
    }
    if (b->resource != HD_NONE && b->old_layout != b->new_layout)
        fprintf(w->f, ", layout %s -> %s", HDI_LAYOUT_TEXT(b->old_layout), HDI_LAYOUT_TEXT(b->new_layout));
    if (b->src_family != b->dst_family)
        fprintf(w->f, ", family %" PRIu32 " -> %" PRIu32, b->src_family, b->dst_family);
}

void hdi_say_why(const hdi_plan_words *w, hdi_why_kind kind, const hd_why *why)
{
    if (!why->code)
        return;
    fprintf(w->f, "; %s", hdi_why_word(kind, why->code));
    if (why->pass != HD_NONE && kind != HDI_WHY_CULL) {
        fputs(kind == HDI_WHY_PLACING ? ", first used by " : ", for ", w->f);
        hdi_say_pass(w, why->pass);
    }
    if (why->other_pass != HD_NONE) {
        fputs(kind == HDI_WHY_CULL      ? why->code == HD_CULL_OVERWRITTEN ? ", by " : ", whose reader is "
              : kind == HDI_WHY_PLACING ? ", last used by "
                                        : ", behind ",
              w->f);
        hdi_say_pass(w, why->other_pass);
    }
    if (why->other_resource != HD_NONE && kind != HDI_WHY_PLACING) {
        fputs(", has bytes of ", w->f);
        hdi_say_resource(w, why->other_resource);
    }
}
