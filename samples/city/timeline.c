#include "city.h"

#include <string.h>

/* --overlay: a row a queue, a bar a pass, of the newest frame that is known to have finished. */

static void bar(uint32_t *texels, int x0, int x1, int y0, int y1, uint32_t color)
{
    for (int y = y0; y < y1; y++) {
        for (int x = x0 < 0 ? 0 : x0; x < x1 && x < SHEET_WIDTH; x++)
            texels[y * SHEET_WIDTH + x] = color;
    }
}

void timeline_draw(const struct city *city, uint32_t *texels)
{
    static const char *const kinds[] = {"graphics", "compute", "transfer", "host"};
    static const uint32_t colors[] = {0xff58a8f0u, 0xffe0a050u, 0xff70d080u, 0xffc080d0u};
    const int left = 76, top = 8, row = 25;
    const struct kit *kit = &city->kit;
    hd_vk_times times;
    for (int i = 0; i < SHEET_WIDTH * SHEET_HEIGHT; i++)
        texels[i] = 0xb8181210u;
    if (hd_vk_times_get(kit->vk, 0, &times) != HD_OK)
        return;
    uint64_t begin = UINT64_MAX, end = 0;
    for (uint32_t i = 0; i < times.span_count; i++) {
        const hd_vk_span *s = &times.spans[i];
        if (s->kind != HD_VK_SPAN_PASS)
            continue;
        begin = s->begin_ns < begin ? s->begin_ns : begin;
        end = s->end_ns > end ? s->end_ns : end;
    }
    double scale = end > begin ? (double)(SHEET_WIDTH - left - 8) / (double)(end - begin) : 0.0;
    for (uint32_t q = 0; q <= kit->info.queue_count && q < 4; q++) {
        uint32_t kind = q < kit->info.queue_count ? kit->info.queues[q].kind : HD_QUEUE_HOST;
        text_draw(texels, SHEET_WIDTH, SHEET_HEIGHT, 8, top + (int)q * row + 7, 2, kinds[kind], colors[kind]);
    }
    uint64_t busy[HD_MAX_QUEUES] = {0}; /* a pass's bar begins where the one before it on its queue ends */
    for (uint32_t i = 0; i < times.span_count; i++) {
        const hd_vk_span *s = &times.spans[i];
        bool host = s->kind == HD_VK_SPAN_HOST_PASS;
        if ((!host && s->kind != HD_VK_SPAN_PASS) || s->queue >= 4 || s->end_ns <= begin)
            continue;
        uint64_t from = s->begin_ns > begin ? s->begin_ns : begin;
        from = from > busy[s->queue] ? from : busy[s->queue];
        busy[s->queue] = s->end_ns;
        uint32_t kind = host ? HD_QUEUE_HOST : kit->info.queues[s->queue].kind;
        int x0 = left + (int)((double)(from - begin) * scale), x1 = left + (int)((double)(s->end_ns - begin) * scale);
        int y = top + (int)s->queue * row;
        bar(texels, x0, x1 > x0 ? x1 : x0 + 1, y, y + row - 5,
            i % 2 ? colors[kind] : (colors[kind] >> 1 & 0x7f7f7fu) | 0xff202020u);
    }
}
