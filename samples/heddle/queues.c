#include "command.h"

#include <string.h>

bool parse_queues(const char *list, queue_list *out)
{
    /* Families as many devices have them: graphics, transfer, compute. */
    static const struct {
        const char *word;
        hd_queue_desc queue;
    } kinds[] = {{"gfx", {HD_QUEUE_GFX, 0}}, {"compute", {HD_QUEUE_COMPUTE, 2}}, {"transfer", {HD_QUEUE_TRANSFER, 1}}};
    out->count = 0;
    for (const char *at = list;; at++) {
        size_t length = strcspn(at, ","), k = 0;
        while (k < 3 && (strlen(kinds[k].word) != length || strncmp(at, kinds[k].word, length) != 0))
            k++;
        if (k == 3 || out->count == HD_MAX_QUEUES - 1)
            return false;
        out->queue[out->count++] = kinds[k].queue;
        at += length;
        if (!*at)
            return true;
    }
}

bool parse_order(const char *word, hd_order *out)
{
    static const char *const words[] = {"overlap", "memory", "declared"};
    for (int i = 0; i < 3; i++) {
        if (strcmp(word, words[i]) == 0) {
            *out = (hd_order)i;
            return true;
        }
    }
    return false;
}
