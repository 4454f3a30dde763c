#include "utf8.h"

int hdi_character_bytes(const unsigned char *text)
{
    unsigned char lead = text[0], low = 0x80, high = 0xbf;
    int count = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
    if (lead == 0xe0)
        low = 0xa0; /* no character in more bytes than it needs, */
    else if (lead == 0xed)
        high = 0x9f; /* no half of a surrogate pair, */
    else if (lead == 0xf0)
        low = 0x90;
    else if (lead == 0xf4)
        high = 0x8f; /* none beyond the last */
    for (int i = 1; i < count; i++, low = 0x80, high = 0xbf) {
        if (text[i] < low || text[i] > high)
            return 0;
    }
    return count;
}

void hdi_utf8_clean(char *text)
{
    for (unsigned char *c = (unsigned char *)text; *c;) {
        int bytes = hdi_character_bytes(c);
        if (!bytes)
            *c = '?';
        c += bytes ? bytes : 1;
    }
}
