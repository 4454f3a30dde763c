#include "plan_view.h"

/* Text of plans: names come from anywhere, and may be cut in the middle of a character; JSON, HTML and the files of
 * Graphviz are UTF-8. */

/* The Unicode Standard, table 3-7. */
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

void hdi_write_json_string(const char *text, FILE *f)
{
    fputc('"', f);
    for (const unsigned char *c = (const unsigned char *)text; *c;) {
        int bytes = hdi_character_bytes(c);
        if (*c == '"' || *c == '\\')
            fprintf(f, "\\%c", *c);
        else if (*c < 0x20 || *c == '<')
            fprintf(f, "\\u%04x", *c);
        else if (bytes)
            fwrite(c, 1, (size_t)bytes, f);
        else
            fputs("\\ufffd", f);
        c += bytes ? bytes : 1;
    }
    fputc('"', f);
}
