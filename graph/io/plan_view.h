/* What the two pictures of a plan share. */
#ifndef HDI_PLAN_VIEW_H
#define HDI_PLAN_VIEW_H

#include <stdio.h>

#include "tables.h"

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
        snprintf(buffer, bytes, "%s %u", res < decl->res_count && decl->res_flags[res] & HDI_RES_BUFFER ? "buffer" : "image",
                 res);
    return buffer;
}

/* Text for HTML, and for the labels of Graphviz that look like it. */
static inline void hdi_write_markup(const char *text, FILE *f)
{
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (*c == '<' || *c == '>' || *c == '&' || *c == '"')
            fprintf(f, "&#%d;", *c);
        else
            fputc(*c < 0x20 ? ' ' : *c, f);
    }
}

/* Colours by pass type, for both pictures. */
static inline const char *hdi_pass_color(const hdi_decl *decl, uint32_t pass)
{
    static const char *const colors[] = {"#f4c07a", "#8fc7e8", "#b7dc9a", "#e3b4d8"};
    return colors[decl->pass_type[pass] & 3];
}

#endif
