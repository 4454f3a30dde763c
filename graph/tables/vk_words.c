#include "vk_words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "vk_names.h"

typedef struct vk_word {
    uint64_t number;
    const char *name;
} vk_word;

#define WORD(number, name) {UINT64_C(number), #name},
#define EXTENSION_WORD(number, name, extension) {UINT64_C(number), #name "_" #extension},
static const vk_word stages[] = {HDI_STAGE_WORDS(WORD, EXTENSION_WORD)};
static const vk_word access[] = {HDI_ACCESS_WORDS(WORD, EXTENSION_WORD)};
static const vk_word image_usage[] = {HDI_IMAGE_USAGE_WORDS(WORD, EXTENSION_WORD)};
static const vk_word buffer_usage[] = {HDI_BUFFER_USAGE_WORDS(WORD, EXTENSION_WORD)};
static const vk_word image_flags[] = {HDI_IMAGE_CREATE_WORDS(WORD, EXTENSION_WORD)};
static const vk_word resolve_modes[] = {HDI_RESOLVE_WORDS(WORD)};
static const vk_word layouts[] = {HDI_LAYOUT_WORDS(WORD)};
static const vk_word loads[] = {HDI_LOAD_WORDS(WORD)};
static const vk_word stores[] = {HDI_STORE_WORDS(WORD)};
static const vk_word formats[] = {HDI_FORMAT_WORDS(WORD)};

#define LIST(list)                                                                                                     \
    {                                                                                                                  \
        list, sizeof(list) / sizeof((list)[0])                                                                         \
    }
static const struct {
    const vk_word *list;
    size_t count;
} tables[HDI_WORDS_COUNT] = {
    [HDI_WORDS_STAGES] = LIST(stages),
    [HDI_WORDS_ACCESS] = LIST(access),
    [HDI_WORDS_IMAGE_USAGE] = LIST(image_usage),
    [HDI_WORDS_BUFFER_USAGE] = LIST(buffer_usage),
    [HDI_WORDS_IMAGE_FLAGS] = LIST(image_flags),
    [HDI_WORDS_RESOLVE_MODE] = LIST(resolve_modes),
    [HDI_WORDS_LAYOUT] = LIST(layouts),
    [HDI_WORDS_LOAD] = LIST(loads),
    [HDI_WORDS_STORE] = LIST(stores),
    [HDI_WORDS_FORMAT] = LIST(formats),
};

static bool is_mask(hdi_words words)
{
    return words <= HDI_WORDS_IMAGE_FLAGS;
}

static const char *word_of(hdi_words words, uint64_t number)
{
    for (size_t i = 0; i < tables[words].count; i++) {
        if (tables[words].list[i].number == number)
            return tables[words].list[i].name;
    }
    return NULL;
}

const char *hdi_words_of(hdi_words words, uint64_t number, hdi_text *room)
{
    char *at = room->text, *const end = room->text + sizeof(room->text);
    if (!is_mask(words) || number == 0) {
        const char *word = is_mask(words) ? "none" : word_of(words, number);
        if (word)
            snprintf(at, sizeof(room->text), "%s", word);
        else
            snprintf(at, sizeof(room->text), "%" PRIu64, number);
        return room->text;
    }
    for (uint64_t left = number; left && at < end; left &= left - 1) {
        const char *word = word_of(words, left & -left);
        const char *between = left == number ? "" : "|";
        int used = word ? snprintf(at, (size_t)(end - at), "%s%s", between, word)
                        : snprintf(at, (size_t)(end - at), "%s0x%" PRIx64, between, left & -left);
        at += used;
    }
    return room->text;
}

static bool read_number(const char *text, size_t length, uint64_t *number)
{
    bool hexadecimal = length > 2 && text[0] == '0' && text[1] == 'x';
    uint64_t base = hexadecimal ? 16 : 10, value = 0;
    if (length == 0)
        return false;
    for (size_t i = hexadecimal ? 2 : 0; i < length; i++) {
        char c = text[i];
        uint64_t digit = c >= '0' && c <= '9'   ? (uint64_t)(c - '0')
                         : c >= 'a' && c <= 'f' ? (uint64_t)(c - 'a' + 10)
                                                : 99;
        if (digit >= base || value > (UINT64_MAX - digit) / base)
            return false;
        value = value * base + digit;
    }
    *number = value;
    return true;
}

static bool read_word(hdi_words words, const char *text, size_t length, uint64_t *number)
{
    for (size_t i = 0; i < tables[words].count; i++) {
        const vk_word *word = &tables[words].list[i];
        if (strlen(word->name) == length && memcmp(word->name, text, length) == 0) {
            *number = word->number;
            return true;
        }
    }
    return read_number(text, length, number);
}

bool hdi_words_read(hdi_words words, const char *text, size_t length, uint64_t *number)
{
    if (!is_mask(words))
        return read_word(words, text, length, number);
    *number = 0;
    if (length == 4 && memcmp(text, "none", 4) == 0)
        return true;
    for (size_t begin = 0; begin <= length;) {
        const char *bar = memchr(text + begin, '|', length - begin);
        size_t end = bar ? (size_t)(bar - text) : length;
        uint64_t bit;
        if (!read_word(words, text + begin, end - begin, &bit))
            return false;
        *number |= bit;
        begin = end + 1;
    }
    return true;
}
