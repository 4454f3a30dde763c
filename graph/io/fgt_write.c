#include <stdio.h>

#include "describe.h"
#include "fgt_settings.h"

/* Writes a declaration as .fgt text, and what it is compiled with. What .fgt had from the beginning keeps its words. */

static void write_format(uint32_t format, FILE *stream)
{
    hdi_text room;
    for (int f = 0; f < HDI_FGT_FORMAT_COUNT; f++) {
        if (hdi_fgt_formats[f].format == format) {
            fputs(hdi_fgt_formats[f].word, stream);
            return;
        }
    }
    fputs(hdi_words_of(HDI_WORDS_FORMAT, format, &room), stream);
}

static void write_image(const hd_image_desc *image, FILE *stream)
{
    fprintf(stream, "%u %u ", image->width, image->height);
    write_format(image->format, stream);
    fprintf(stream, " %u %u", image->mips, image->layers);
}

static void write_resource(const hdi_decl *decl, uint32_t res, FILE *stream)
{
    hdi_resource_desc d;
    hdi_describe_resource(decl, res, &d);
    hdi_fgt_resource words = {.depth = 1, .samples = 1, .initial = HDI_LAYOUT_GENERAL};
    const hdi_fgt_words *of = &hdi_fgt_of_image;
    switch (d.kind) {
    case HDI_DESCRIBED_HISTORY:
        fprintf(stream, "history %u %u", res, d.of);
        words.skipped = d.history.skipped;
        words.key = d.history.key;
        of = &hdi_fgt_of_history;
        break;
    case HDI_DESCRIBED_BUFFER:
        fprintf(stream, "buffer %u %llu", res, (unsigned long long)d.buffer.bytes);
        words.name = d.buffer.name;
        words.usage = d.buffer.usage;
        words.sharing = d.buffer.sharing;
        of = &hdi_fgt_of_buffer;
        break;
    case HDI_DESCRIBED_IMAGE:
        fprintf(stream, "image %u ", res);
        write_image(&d.image, stream);
        words.name = d.image.name;
        words.depth = d.image.depth;
        words.samples = d.image.samples;
        words.flags = d.image.flags;
        words.usage = d.image.usage;
        words.sharing = d.image.sharing;
        break;
    case HDI_DESCRIBED_IMPORT:
        words.external = true;
        words.name = d.import.name;
        words.sharing = d.import.sharing;
        words.serial = d.import.serial;
        of = d.import.bytes ? &hdi_fgt_of_external_buffer : &hdi_fgt_of_external_image;
        if (d.import.bytes) {
            fprintf(stream, "buffer %u %llu", res, (unsigned long long)d.import.bytes);
            break;
        }
        fprintf(stream, "image %u ", res);
        write_image(&(hd_image_desc){.width = d.import.width,
                                     .height = d.import.height,
                                     .format = d.import.format,
                                     .mips = d.import.mips,
                                     .layers = d.import.layers},
                    stream);
        words.depth = d.import.depth;
        words.samples = d.import.samples;
        words.flags = d.import.flags;
        words.initial = d.import.initial_layout;
        words.final = d.import.final_layout;
        break;
    }
    hdi_fgt_write_words(of, &words, stream);
    fputc('\n', stream);
}

static const char *access_word(hd_access access)
{
    return access == HD_RESOLVE_WRITE   ? HDI_FGT_RESOLVE
           : access == HD_ACCESS_CUSTOM ? HDI_FGT_CUSTOM
                                        : hdi_access_table[access].name;
}

static void write_use(const hdi_decl *decl, uint32_t pass, uint32_t use, FILE *stream)
{
    hdi_use_desc d;
    hdi_describe_use(decl, use, &d);
    const bool is_buffer = decl->res_flags[d.resource] & HDI_RES_BUFFER, ranged = decl->use_range[use] != HDI_NONE;
    const bool custom = d.use.access == HD_ACCESS_CUSTOM;
    const hd_range *range = &d.use.range;
    fprintf(stream, "use %u %u %s", pass, d.resource, access_word(d.use.access));
    if (ranged && is_buffer)
        fprintf(stream, " @%llu %llu", (unsigned long long)range->offset, (unsigned long long)range->bytes);
    else if (ranged)
        fprintf(stream, " %u %u %u %u", range->mip_base, range->mip_count, range->layer_base, range->layer_count);
    const hdi_fgt_use words = {.aspect = ranged && !is_buffer ? range->aspect : 0,
                               .load = d.use.load,
                               .of = d.resolve_of,
                               .mode = d.use.resolve_mode,
                               .before = d.before,
                               .layout = d.custom.layout,
                               .usage = d.custom.usage,
                               .does = (d.custom.reads ? HDI_FGT_READS : 0u) | (d.custom.writes ? HDI_FGT_WRITES : 0u),
                               .stages = d.custom.stages,
                               .access = d.custom.access,
                               .format = d.use.format,
                               .clear = d.use.clear};
    hdi_fgt_write_words(d.use.access == HD_RESOLVE_WRITE ? &hdi_fgt_of_resolve
                        : custom                         ? is_buffer ? &hdi_fgt_of_custom_buffer : &hdi_fgt_of_custom
                        : is_buffer                      ? &hdi_fgt_of_use_buffer
                                                         : &hdi_fgt_of_use,
                        &words, stream);
    fputc('\n', stream);
}

static void write_pass(const hdi_decl *decl, uint32_t pass, FILE *stream)
{
    hd_pass_desc d;
    hdi_describe_pass(decl, pass, &d);
    const hdi_fgt_pass words = {.name = d.name,
                                .root = d.root,
                                .cost = d.cost_us,
                                .pin = d.pin,
                                .rendering = d.no_rendering,
                                .splits = d.splits};
    fprintf(stream, "pass %u %s", pass, hdi_fgt_kinds[d.type]);
    hdi_fgt_write_words(&hdi_fgt_of_pass, &words, stream);
    fputc('\n', stream);
    for (uint32_t u = decl->pass_use_begin[pass]; u < decl->pass_use_begin[pass + 1]; u++)
        write_use(decl, pass, u, stream);
}

/* NAME is one field, and not empty; what that cannot hold stands in a word. */
static void write_name(const char *name, FILE *stream)
{
    bool differs = *name == 0;
    fputs(*name ? "graph " : "graph -", stream);
    for (const char *c = name; *c; c++) {
        const bool bad = (unsigned char)*c <= ' ';
        fputc(bad ? '-' : *c, stream);
        differs |= bad;
    }
    hdi_fgt_write_words(&hdi_fgt_of_graph, &(hdi_fgt_graph){differs ? name : NULL}, stream);
    fputc('\n', stream);
}

/* Words are found by these numbers. */
static bool can_write(const hd_compile_desc *desc)
{
    bool good = (uint32_t)desc->order <= HD_ORDER_DECLARED && (!desc->queues || desc->queue_count < HD_MAX_QUEUES);
    for (uint32_t q = 0; good && desc->queues && q < desc->queue_count; q++)
        good = (uint32_t)desc->queues[q].kind <= HD_QUEUE_TRANSFER;
    return good;
}

hd_result hd_graph_write_fgt_with(const hd_graph *graph, const hd_compile_desc *desc, FILE *stream)
{
    if (!graph || hdi_graph_is_list(graph) || !stream || (desc && !can_write(desc)))
        return HD_INVALID_ARGUMENT;
    hdi_decl decl = hdi_graph_decl(graph);
    write_name(hd_graph_name(graph), stream);
    for (uint32_t r = 0; r < decl.res_count; r++)
        write_resource(&decl, r, stream);
    for (uint32_t p = 0; p < decl.pass_count; p++)
        write_pass(&decl, p, stream);
    if (desc)
        hdi_fgt_write_settings(&decl, desc, stream);
    return fflush(stream) == 0 && !ferror(stream) ? HD_OK : HD_IO;
}

hd_result hd_graph_write_fgt(const hd_graph *graph, FILE *stream)
{
    return hd_graph_write_fgt_with(graph, NULL, stream);
}
