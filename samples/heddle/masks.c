#include "command.h"

#include "vk_words.h"

/* Masks of stages and accesses in the words of Vulkan. */

void print_stages(uint64_t mask)
{
    hdi_text room;
    fputs(hdi_words_of(HDI_WORDS_STAGES, mask, &room), stdout);
}

void print_accesses(uint64_t mask)
{
    hdi_text room;
    fputs(hdi_words_of(HDI_WORDS_ACCESS, mask, &room), stdout);
}
