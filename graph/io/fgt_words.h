/* Words of the .fgt format that reader and writer share. Access words stand in the access table. */
#ifndef HDI_FGT_WORDS_H
#define HDI_FGT_WORDS_H

#include <stdint.h>

#define HDI_FGT_FORMAT_COUNT 7
typedef struct hdi_fgt_format {
    const char *word;
    uint32_t format; /* VkFormat */
} hdi_fgt_format;
extern const hdi_fgt_format hdi_fgt_formats[HDI_FGT_FORMAT_COUNT];

/* Indexed by hd_pass_type and by hd_queue_kind alike. */
extern const char *const hdi_fgt_kinds[4];

#endif
