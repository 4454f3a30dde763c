#include <stdio.h>

#include "fgt_words.h"
#include "tables.h"

const hdi_fgt_format hdi_fgt_formats[HDI_FGT_FORMAT_COUNT] = {
    {"rgba8", 37}, {"bgra8", 44}, {"rgba16f", 97}, {"rg16f", 83}, {"r8", 9}, {"r32f", 100}, {"d32f", 126},
};

const char *const hdi_fgt_kinds[4] = {"gfx", "compute", "transfer", "host"};

/* Writes a declaration as .fgt text. What the format has no word for (other formats, depth, samples, custom accesses,
 * reads of older versions, whose place in the file would change what they read, costs that are not read) makes it
 * HD_UNSUPPORTED before anything is written. */

/* The largest cost that is read; and more decimals than any number needs to be told from its neighbours. */
static const float MOST_COST = 1e12f;
enum { MOST_DECIMALS = 48 };

static const char *format_word(uint32_t format)
{
    for (int f = 0; f < HDI_FGT_FORMAT_COUNT; f++) {
        if (hdi_fgt_formats[f].format == format)
            return hdi_fgt_formats[f].word;
    }
    return NULL;
}

static bool can_write(const hdi_decl *decl)
{
    for (uint32_t r = 0; r < decl->res_count; r++) {
        const hdi_res_info *info = &decl->res_info[r];
        if (!(decl->res_flags[r] & HDI_RES_BUFFER) &&
            (!format_word(info->format) || info->depth != 1 || info->samples != 1))
            return false;
    }
    if (decl->late_count)
        return false;
    for (uint32_t p = 0; p < decl->pass_count; p++) {
        if (decl->pass_cost[p] > MOST_COST)
            return false;
    }
    for (uint32_t u = 0; u < decl->use_count; u++) {
        bool ranged = decl->use_range[u] != HDI_NONE && !(decl->res_flags[decl->use_res[u]] & HDI_RES_BUFFER);
        if (!decl->access[decl->use_access[u]].name || (ranged && decl->range[decl->use_range[u]].aspect))
            return false;
    }
    return true;
}

static void write_resource(const hdi_decl *decl, uint32_t res, FILE *stream)
{
    const hdi_res_info *info = &decl->res_info[res];
    uint32_t flags = decl->res_flags[res];
    const char *external = flags & HDI_RES_EXTERNAL ? " external" : "";
    if (flags & HDI_RES_HISTORY)
        fprintf(stream, "history %u %u%s\n", res, decl->res_pair[res],
                decl->res_import[res].skipped == HD_SKIPPED_RESTART ? " skipped=restart" : "");
    else if (flags & HDI_RES_BUFFER)
        fprintf(stream, "buffer %u %llu%s\n", res, (unsigned long long)info->bytes, external);
    else
        fprintf(stream, "image %u %u %u %s %u %u%s\n", res, info->width, info->height, format_word(info->format),
                info->mips, info->layers, external);
}

/* Decimal, whatever the locale, in the fewest digits that read back as the same number. */
static void write_cost(float cost, FILE *stream)
{
    double scale = 1, value = 0; /* as the reader has them */
    int decimals = 0;
    for (;; decimals++, scale *= 10) {
        value = (double)(uint64_t)((double)cost * scale + 0.5);
        float back = (float)(value / scale);
        if (decimals == MOST_DECIMALS || (!(back < cost) && !(back > cost)))
            break;
    }
    char digits[MOST_DECIMALS + 24];
    int before = snprintf(digits, sizeof(digits), "%0*llu", decimals + 1, (unsigned long long)value) - decimals;
    fprintf(stream, " cost=%.*s%s%s", before, digits, decimals ? "." : "", digits + before);
}

static void write_pass(const hdi_decl *decl, uint32_t pass, FILE *stream)
{
    fprintf(stream, "pass %u %s", pass, hdi_fgt_kinds[decl->pass_type[pass]]);
    if (decl->pass_flags[pass] & HDI_PASS_ROOT)
        fputs(" root", stream);
    if (decl->pass_cost[pass] < 10.0f || decl->pass_cost[pass] > 10.0f)
        write_cost(decl->pass_cost[pass], stream);
    if (decl->pass_pin[pass] != HD_PIN_NONE)
        fprintf(stream, " on=%s", hdi_fgt_kinds[decl->pass_pin[pass] - HD_PIN_GFX]);
    fputc('\n', stream);
    for (uint32_t u = decl->pass_use_begin[pass]; u < decl->pass_use_begin[pass + 1]; u++) {
        uint32_t res = decl->use_res[u];
        fprintf(stream, "use %u %u %s", pass, res, decl->access[decl->use_access[u]].name);
        if (decl->use_range[u] != HDI_NONE) {
            const hd_range *range = &decl->range[decl->use_range[u]];
            if (decl->res_flags[res] & HDI_RES_BUFFER)
                fprintf(stream, " @%llu %llu", (unsigned long long)range->offset, (unsigned long long)range->bytes);
            else
                fprintf(stream, " %u %u %u %u", range->mip_base, range->mip_count, range->layer_base,
                        range->layer_count);
        }
        fputc('\n', stream);
    }
}

hd_result hd_graph_write_fgt(const hd_graph *graph, FILE *stream)
{
    if (!graph || !stream)
        return HD_INVALID_ARGUMENT;
    hdi_decl decl = hdi_graph_decl(graph);
    if (!can_write(&decl))
        return HD_UNSUPPORTED;
    /* A name is one field, and not empty. */
    const char *name = hd_graph_name(graph);
    fputs(*name ? "graph " : "graph -", stream);
    for (const char *c = name; *c; c++)
        fputc((unsigned char)*c <= ' ' ? '-' : *c, stream);
    fputc('\n', stream);
    for (uint32_t r = 0; r < decl.res_count; r++)
        write_resource(&decl, r, stream);
    for (uint32_t p = 0; p < decl.pass_count; p++)
        write_pass(&decl, p, stream);
    return fflush(stream) == 0 && !ferror(stream) ? HD_OK : HD_IO;
}
