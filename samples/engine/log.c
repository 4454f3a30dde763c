#include "engine.h"

#include <stdarg.h>
#include <string.h>

/* Step 5: the log. heddle writes one line at a time, from any thread; so does the validation layer, through the
 * engine's own messenger (device.c). Both end here. */

void journal_open(struct journal *journal, const char *path)
{
    pthread_mutex_init(&journal->lock, NULL);
    journal->file = path ? fopen(path, "w") : NULL;
}

void journal_close(struct journal *journal)
{
    if (journal->file)
        fclose(journal->file);
    pthread_mutex_destroy(&journal->lock);
}

void journal_say(struct journal *journal, hd_log_level level, const char *from, const char *format, ...)
{
    char text[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    pthread_mutex_lock(&journal->lock);
    if (strcmp(from, "validation") == 0)
        journal->validation++;
    else if (level == HD_LOG_ERROR)
        journal->errors++;
    else if (level == HD_LOG_WARNING)
        journal->warnings++;
    if (level == HD_LOG_ERROR && !journal->first_error[0])
        snprintf(journal->first_error, sizeof journal->first_error, "%.500s", text);
    if (level != HD_LOG_INFO)
        fprintf(stderr, "engine: %s: %s\n", from, text);
    if (journal->file)
        fprintf(journal->file, "%s %s: %s\n", (const char *[]){"ERROR", "WARN ", "info "}[level], from, text);
    pthread_mutex_unlock(&journal->lock);
}

static void from_heddle(hd_log_level level, const char *text, void *user)
{
    journal_say(user, level, "heddle", "%s", text);
}

hd_log journal_for_heddle(struct journal *journal)
{
    return (hd_log){from_heddle, journal};
}
