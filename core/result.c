#include <heddle/base.h>

#include <stdbool.h>

/* Names and sentences come from the one list in base.h, so neither can be forgotten. */

#define ENTRY_NAME(name, text) #name,
#define ENTRY_TEXT(name, text) text,
static const char *const names[] = {HD_RESULTS(ENTRY_NAME)};
static const char *const texts[] = {HD_RESULTS(ENTRY_TEXT)};
#undef ENTRY_NAME
#undef ENTRY_TEXT

static bool known(hd_result result)
{
    return (unsigned)result < HD_RESULT_COUNT;
}

const char *hd_result_name(hd_result result)
{
    return known(result) ? names[result] : "HD_RESULT_COUNT";
}

const char *hd_result_text(hd_result result)
{
    return known(result) ? texts[result] : "not a result of heddle";
}
