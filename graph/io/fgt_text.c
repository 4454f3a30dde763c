#include "fgt_text.h"

#include <stdarg.h>
#include <string.h>

/* ---- errors ---- */

bool hdi_fgt_fail(hdi_fgt_text *t, hd_result result, const char *format, ...)
{
    if (t->result != HD_OK)
        return false;
    t->result = result;
    if (!t->error || t->error_bytes == 0)
        return false;
    char sentence[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof(sentence), format, arguments);
    va_end(arguments);
    snprintf(t->error, t->error_bytes, "%s:%u: %s", t->file, t->line, sentence);
    return false;
}

bool hdi_fgt_no_memory(hdi_fgt_text *t)
{
    return hdi_fgt_fail(t, HD_OUT_OF_MEMORY, "%s", hd_result_text(HD_OUT_OF_MEMORY));
}

/* ---- fields ---- */

bool hdi_fgt_is(const hdi_fgt_field *f, const char *word)
{
    return strlen(word) == f->length && memcmp(f->text, word, f->length) == 0;
}

/* Where the field that begins at `begin` ends: at a space, but not one of a quoted name, which stands behind KEY=. */
static size_t field_end(const char *text, size_t length, size_t begin)
{
    size_t i = begin;
    while (i < length && text[i] != ' ' && text[i] != '=')
        i++;
    if (i + 1 >= length || text[i] != '=' || text[i + 1] != '"') {
        while (i < length && text[i] != ' ')
            i++;
        return i;
    }
    for (i += 2; i < length && text[i] != '"'; i++)
        i += text[i] == '\\' && i + 1 < length;
    return i < length ? i + 1 : i;
}

bool hdi_fgt_split(hdi_fgt_text *t, const char *text, size_t length)
{
    t->field_count = 0;
    for (size_t i = 0; i < length; i++) {
        if ((unsigned char)text[i] < ' ')
            return hdi_fgt_fail(t, HD_PARSE, "a control character, number %u", (unsigned)text[i]);
    }
    for (size_t begin = 0; begin <= length;) {
        const char *space = memchr(text + begin, ' ', length - begin);
        /* The kind of a line and its first field are never quoted. */
        size_t end = t->field_count >= 2 ? field_end(text, length, begin) : space ? (size_t)(space - text) : length;
        if (end < length && text[end] != ' ')
            return hdi_fgt_fail(t, HD_PARSE, "a field goes on behind its closing quote");
        if (end == begin)
            return hdi_fgt_fail(t, HD_PARSE, "fields are separated by single spaces");
        if (t->field_count == HDI_FGT_MAX_FIELDS)
            return hdi_fgt_fail(t, HD_PARSE, "a wrong count of fields: more than any declaration has");
        t->fields[t->field_count++] = (hdi_fgt_field){text + begin, end - begin};
        begin = end + 1;
    }
    return true;
}

bool hdi_fgt_expect(hdi_fgt_text *t, uint32_t count, const char *form)
{
    if (t->field_count >= count)
        return true;
    return hdi_fgt_fail(t, HD_PARSE, "a wrong count of fields: expected '%s'", form);
}

bool hdi_fgt_number(hdi_fgt_text *t, const hdi_fgt_field *f, uint64_t most, const char *what, uint64_t *out)
{
    uint64_t value = 0;
    bool fits = f->length > 0;
    for (size_t i = 0; fits && i < f->length; i++) {
        uint32_t digit = (uint32_t)(f->text[i] - '0');
        fits = digit < 10 && value <= (most - digit) / 10;
        value = value * 10 + digit;
    }
    if (!fits)
        return hdi_fgt_fail(t, HD_PARSE, "%s '%.*s' is not a number from 0 to %llu", what, HDI_FGT_SHOW(f),
                            (unsigned long long)most);
    *out = value;
    return true;
}

bool hdi_fgt_u32(hdi_fgt_text *t, uint32_t index, const char *what, uint32_t *out)
{
    uint64_t value = 0; /* gcc at -O3 does not see that fail() returns false */
    if (!hdi_fgt_number(t, &t->fields[index], UINT32_MAX, what, &value))
        return false;
    *out = (uint32_t)value;
    return true;
}

/* ---- words ---- */

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Appends the name that a quoted field stands for; false: it is none. */
static bool unquote(hdi_fgt_text *t, const hdi_fgt_field *f)
{
    if (f->length < 2 || f->text[f->length - 1] != '"')
        return false;
    for (size_t i = 1; i + 1 < f->length; i++) {
        char c = f->text[i];
        if (c == '\\') {
            c = f->text[++i];
            if (i + 1 >= f->length || (c != '"' && c != '\\' && c != 'x'))
                return false;
            if (c == 'x') {
                int high = i + 3 < f->length ? hex_digit(f->text[i + 1]) : -1, low = hex_digit(f->text[i + 2]);
                if (high < 0 || low < 0 || high + low == 0)
                    return false;
                c = (char)(high * 16 + low);
                i += 2;
            }
        }
        *t->names_end++ = c;
    }
    *t->names_end++ = 0;
    return true;
}

/* Names are never longer than what they stand for with its key: the room is as long as the text. */
static bool read_name(hdi_fgt_text *t, const hdi_fgt_field *f, const char **out)
{
    *out = t->names_end;
    if (f->length > 0 && f->text[0] == '"')
        return unquote(t, f);
    if (f->length == 0 || memchr(f->text, '"', f->length) || memchr(f->text, '\\', f->length))
        return false;
    memcpy(t->names_end, f->text, f->length);
    t->names_end += f->length;
    *t->names_end++ = 0;
    return true;
}

static bool read_choice(const hdi_fgt_word *word, const hdi_fgt_field *f, uint32_t *out)
{
    for (uint32_t i = 0; i < HDI_FGT_CHOICES; i++) {
        if (word->choice[i] && hdi_fgt_is(f, word->choice[i])) {
            *out = i;
            return true;
        }
    }
    return false;
}

static bool read_clear(const hdi_fgt_field *f, hd_clear *out)
{
    size_t begin = 0;
    for (int i = 0; i < 4; i++) {
        const char *comma = memchr(f->text + begin, ',', f->length - begin);
        size_t end = comma ? (size_t)(comma - f->text) : f->length;
        if ((comma == NULL) != (i == 3) || !hdi_fgt_read_decimal(f->text + begin, end - begin, &out->color[i]))
            return false;
        begin = end + 1;
    }
    return true;
}

static bool read_vulkan(const hdi_fgt_word *word, const hdi_fgt_field *f, uint64_t most, uint64_t *out)
{
    return hdi_words_read(word->vulkan, f->text, f->length, out) && *out <= most;
}

/* field: where the value goes. */
static bool read_value(hdi_fgt_text *t, const hdi_fgt_word *word, const hdi_fgt_field *f, void *field)
{
    uint64_t number = 0;
    bool good = false;
    switch (word->kind) {
    case HDI_FGT_FLAG:
        *(bool *)field = true;
        return true;
    case HDI_FGT_NUMBER:
        good = hdi_fgt_number(t, f, UINT32_MAX, word->key, &number);
        *(uint32_t *)field = (uint32_t)number;
        return good;
    case HDI_FGT_LONG:
        return hdi_fgt_number(t, f, UINT64_MAX, word->key, field);
    case HDI_FGT_DECIMAL:
        return hdi_fgt_read_decimal(f->text, f->length, field) ||
               hdi_fgt_fail(t, HD_PARSE, "%s '%.*s' is not a decimal number", word->key, HDI_FGT_SHOW(f));
    case HDI_FGT_CLEAR:
        good = read_clear(f, field);
        break;
    case HDI_FGT_NAME:
        good = read_name(t, f, field);
        break;
    case HDI_FGT_CHOICE:
        good = read_choice(word, f, field);
        break;
    case HDI_FGT_VULKAN:
        good = read_vulkan(word, f, UINT32_MAX, &number);
        *(uint32_t *)field = (uint32_t)number;
        break;
    case HDI_FGT_VULKAN_LONG:
        good = read_vulkan(word, f, UINT64_MAX, field);
        break;
    }
    return good || hdi_fgt_fail(t, HD_PARSE, "unknown word '%s=%.*s': not a value of %s", word->key, HDI_FGT_SHOW(f),
                                word->key);
}

/* "[root] [cost=] ..." */
static void list_words(const hdi_fgt_words *words, char *list, size_t bytes)
{
    size_t used = 0;
    list[0] = 0;
    for (uint32_t w = 0; w < words->count && used < bytes; w++)
        used += (size_t)snprintf(list + used, bytes - used, " [%s%s]", words->word[w].key,
                                 words->word[w].kind == HDI_FGT_FLAG ? "" : "=");
}

static const hdi_fgt_word *find_word(const hdi_fgt_words *words, const hdi_fgt_field *f)
{
    for (uint32_t w = 0; w < words->count; w++) {
        size_t length = strlen(words->word[w].key);
        bool flag = words->word[w].kind == HDI_FGT_FLAG;
        if (memcmp(f->text, words->word[w].key, f->length < length ? f->length : length) == 0 &&
            (flag ? f->length == length : f->length > length && f->text[length] == '='))
            return &words->word[w];
    }
    return NULL;
}

bool hdi_fgt_read_words(hdi_fgt_text *t, uint32_t first, const hdi_fgt_words *words, void *fields)
{
    uint32_t seen = 0;
    memcpy(fields, words->absent, words->bytes);
    for (uint32_t i = first; i < t->field_count; i++) {
        const hdi_fgt_field *f = &t->fields[i];
        const hdi_fgt_word *word = find_word(words, f);
        uint32_t bit = word ? UINT32_C(1) << (word - words->word) : 0;
        if (!word || seen & bit) {
            char list[256];
            list_words(words, list, sizeof(list));
            return hdi_fgt_fail(t, HD_PARSE, "unknown word '%.*s': %s takes%s, each once", HDI_FGT_SHOW(f), words->of,
                                list);
        }
        seen |= bit;
        size_t key = strlen(word->key) + (word->kind != HDI_FGT_FLAG);
        const hdi_fgt_field value = {f->text + key, f->length - key};
        if (!read_value(t, word, &value, (char *)fields + word->offset))
            return false;
    }
    return true;
}

bool hdi_fgt_has_word(const hdi_fgt_text *t, uint32_t first, const char *word)
{
    for (uint32_t i = first; i < t->field_count; i++) {
        if (hdi_fgt_is(&t->fields[i], word))
            return true;
    }
    return false;
}
