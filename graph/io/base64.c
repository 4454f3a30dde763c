#include "base64.h"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

enum { GROUPS = 1024 }; /* written at once */

void hdi_base64_write(const uint8_t *bytes, size_t count, FILE *file)
{
    char text[GROUPS * 4];
    for (size_t at = 0; at < count;) {
        size_t characters = 0;
        for (; at < count && characters < sizeof(text); at += 3, characters += 4) {
            size_t left = count - at;
            uint32_t three = (uint32_t)bytes[at] << 16 | (uint32_t)(left > 1 ? bytes[at + 1] : 0) << 8 |
                             (left > 2 ? bytes[at + 2] : 0);
            text[characters] = digits[three >> 18];
            text[characters + 1] = digits[three >> 12 & 63];
            text[characters + 2] = left > 1 ? digits[three >> 6 & 63] : '=';
            text[characters + 3] = left > 2 ? digits[three & 63] : '=';
        }
        fwrite(text, 1, characters, file);
    }
}

size_t hdi_base64_bytes(const char *text, size_t characters)
{
    size_t padding = characters < 4 ? 0 : (text[characters - 1] == '=') + (text[characters - 2] == '=');
    return characters / 4 * 3 - padding;
}

bool hdi_base64_read(const char *text, size_t characters, uint8_t *out)
{
    uint8_t value[256] = {0}; /* 1 + the digit's */
    for (uint8_t i = 0; i < 64; i++)
        value[(unsigned char)digits[i]] = i + 1;
    size_t bytes = hdi_base64_bytes(text, characters), made = 0;
    for (size_t at = 0; at + 4 <= characters; at += 4) {
        uint32_t four = 0;
        for (size_t k = 0; k < 4; k++) {
            uint8_t digit = value[(unsigned char)text[at + k]];
            if (!digit && made + k <= bytes) /* padding stands for what is not there */
                return false;
            four = four << 6 | (digit ? digit - 1u : 0);
        }
        for (int shift = 16; shift >= 0 && made < bytes; shift -= 8)
            out[made++] = (uint8_t)(four >> shift);
    }
    return characters % 4 == 0;
}
