#include "plan_view.h"

/* Text of plans: names come from anywhere, and may be cut in the middle of a character; JSON, HTML and the files of
 * Graphviz are UTF-8. */

/* The Unicode Standard, table 3-7. */
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

int hdi_write_character(const unsigned char *text, FILE *f)
{
    int bytes = hdi_character_bytes(text);
    if (*text < 0x20)
        fputc(' ', f);
    else if (bytes)
        fwrite(text, 1, (size_t)bytes, f);
    else
        fputs("\xef\xbf\xbd", f);
    return bytes ? bytes : 1;
}

void hdi_write_markup(const char *text, FILE *f)
{
    for (const unsigned char *c = (const unsigned char *)text; *c;) {
        if (*c == '<' || *c == '>' || *c == '&' || *c == '"')
            fprintf(f, "&#%d;", *c++);
        else
            c += hdi_write_character(c, f);
    }
}
