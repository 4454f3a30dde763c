/* What the files that show a plan share. */
#ifndef HDI_PLAN_VIEW_H
#define HDI_PLAN_VIEW_H

#include <stdio.h>

#include "tables.h"
#include "utf8.h"

/* The pass's name, or "pass N"; in buffer, cut to fit. */
static inline const char *hdi_pass_label(const hdi_decl *decl, uint32_t pass, char *buffer, size_t bytes)
{
    const char *name = pass < decl->pass_count ? decl->pass_exec[pass].name : NULL;
    if (name)
        snprintf(buffer, bytes, "%s", name);
    else
        snprintf(buffer, bytes, "pass %u", pass);
    return buffer;
}

static inline const char *hdi_resource_label(const hdi_decl *decl, uint32_t res, char *buffer, size_t bytes)
{
    const char *name = res < decl->res_count ? decl->res_info[res].name : NULL;
    if (name)
        snprintf(buffer, bytes, "%s", name);
    else
        snprintf(buffer, bytes, "%s %u",
                 res < decl->res_count && decl->res_flags[res] & HDI_RES_BUFFER ? "buffer" : "image", res);
    return buffer;
}

/* Writes that character; a space for a control character, and U+FFFD in place of a byte that begins none. Returns how
 * many bytes of text that were. */
int hdi_write_character(const unsigned char *text, FILE *f);
/* Text for HTML, and for the labels of Graphviz that look like it. */
void hdi_write_markup(const char *text, FILE *f);
/* A string of JSON, quotes included. It has no `<`: within a script element of a page nothing ends that element. */
void hdi_write_json_string(const char *text, FILE *f);

/* Which list the code of an hd_why is of. */
typedef enum hdi_why_kind { HDI_WHY_BARRIER, HDI_WHY_WAIT, HDI_WHY_CUT, HDI_WHY_PLACING, HDI_WHY_CULL } hdi_why_kind;
const char *hdi_why_word(hdi_why_kind kind, uint32_t code);
/* A reason as a phrase that names the passes and resources behind it; in buffer, cut to fit. */
const char *hdi_why_text(const hdi_decl *decl, hdi_why_kind kind, const hd_why *why, char *buffer, size_t bytes);
enum { HDI_WHY_BYTES = 512 };

/* Colours by pass type, for both pictures. */
static inline const char *hdi_pass_color(const hdi_decl *decl, uint32_t pass)
{
    static const char *const colors[] = {"#f4c07a", "#8fc7e8", "#b7dc9a", "#e3b4d8"};
    return colors[decl->pass_type[pass] & 3];
}

#endif
