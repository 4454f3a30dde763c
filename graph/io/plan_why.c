#include "plan_view.h"

#include <stdarg.h>

#include "alloc.h"

/* Reasons in words, for tooltips and tables. */

const char *hdi_why_word(hdi_why_kind kind, uint32_t code)
{
    switch (kind) {
    case HDI_WHY_CUT:
        return hd_cut_name((hd_cut)code);
    case HDI_WHY_PLACING:
        return hd_placing_name((hd_placing)code);
    case HDI_WHY_CULL:
        return hd_cull_name((hd_cull)code);
    default:
        return hd_reason_name((hd_reason)code);
    }
}

typedef struct line {
    char *text;
    size_t bytes, used;
} line;

HDI_PRINTF(2, 3) static void add(line *l, const char *format, ...)
{
    if (l->used + 1 >= l->bytes)
        return;
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(l->text + l->used, l->bytes - l->used, format, arguments);
    va_end(arguments);
    l->used += n > 0 ? (size_t)n : 0;
}

/* What the passes and the other resource are to the part. */
static const char *other_pass_word(hdi_why_kind kind, uint32_t code)
{
    if (kind == HDI_WHY_CULL)
        return code == HD_CULL_OVERWRITTEN ? "by" : "reader";
    return kind == HDI_WHY_PLACING ? "last used by" : "behind";
}

static const char *pass_word(hdi_why_kind kind, uint32_t code)
{
    if (kind == HDI_WHY_PLACING)
        return code == HD_PLACING_HOST ? "used by" : "first used by";
    return kind == HDI_WHY_CUT && (code == HD_CUT_FIRST || code == HD_CUT_END) ? "with" : "for";
}

static const char *other_resource_word(hdi_why_kind kind, uint32_t code)
{
    if (kind == HDI_WHY_PLACING && code == HD_PLACING_FIRST)
        return "above";
    if (kind == HDI_WHY_PLACING && code == HD_PLACING_PERSISTENT)
        return "takes turns with";
    return "bytes of";
}

const char *hdi_why_text(const hdi_decl *decl, hdi_why_kind kind, const hd_why *why, char *buffer, size_t bytes)
{
    char label[96];
    line l = {buffer, bytes, 0};
    add(&l, "%s", hdi_why_word(kind, why->code));
    if (why->resource != HD_NONE && kind != HDI_WHY_PLACING)
        add(&l, ", %s", hdi_resource_label(decl, why->resource, label, sizeof(label)));
    if (why->other_resource != HD_NONE)
        add(&l, ", %s %s", other_resource_word(kind, why->code),
            hdi_resource_label(decl, why->other_resource, label, sizeof(label)));
    if (why->other_pass != HD_NONE)
        add(&l, ", %s %s", other_pass_word(kind, why->code),
            hdi_pass_label(decl, why->other_pass, label, sizeof(label)));
    if (why->pass != HD_NONE && kind != HDI_WHY_CULL)
        add(&l, ", %s %s", pass_word(kind, why->code), hdi_pass_label(decl, why->pass, label, sizeof(label)));
    return buffer;
}
