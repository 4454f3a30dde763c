#include "vk_device.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "vk_words.h"

/* Vulkan's own names, for sentences. */

const char *hdi_vk_format_name(uint32_t format, hdi_vk_text *room)
{
    hdi_text word;
    hdi_words_of(HDI_WORDS_FORMAT, format, &word);
    bool known = word.text[0] < '0' || word.text[0] > '9';
    snprintf(room->text, sizeof(room->text), known ? "VK_FORMAT_%s" : "VkFormat %s", word.text);
    return room->text;
}

const char *hdi_vk_usage_names(uint32_t usage, hdi_vk_text *room)
{
    hdi_text word;
    size_t used = 0;
    room->text[0] = 0;
    for (uint32_t left = usage; left && used < sizeof(room->text); left &= left - 1) {
        const char *between = left == usage ? "" : " | ",
                   *name = hdi_words_of(HDI_WORDS_IMAGE_USAGE, left & -left, &word);
        bool known = name[0] != '0';
        int more = snprintf(room->text + used, sizeof(room->text) - used, "%s%s%s%s", between,
                            known ? "VK_IMAGE_USAGE_" : "", name, known ? "_BIT" : "");
        used += more > 0 ? (size_t)more : 0;
    }
    return room->text;
}
