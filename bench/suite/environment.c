#include "suite.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/* What a time depends on beside the code. */

/* The rest of the first line of a file that begins with a word; "" where there is none. */
static void read_line(const char *path, const char *word, char *out, size_t bytes)
{
    char line[512];
    FILE *file = fopen(path, "r");
    out[0] = 0;
    while (file && fgets(line, sizeof(line), file)) {
        if (strncmp(line, word, strlen(word)) != 0)
            continue;
        const char *at = line + strlen(word);
        at += strspn(at, " \t:");
        snprintf(out, bytes, "%.*s", (int)strcspn(at, "\n"), at);
        break;
    }
    if (file)
        fclose(file);
}

json_t *hbs_environment(void)
{
    char text[512], date[32];
    struct utsname system;
    time_t now = time(NULL);
    double load[3] = {0};
    json_t *e = json_object();
    read_line("/proc/cpuinfo", "model name", text, sizeof(text));
    json_object_set_new(e, "processor", json_string(text));
    json_object_set_new(e, "processors", json_integer(sysconf(_SC_NPROCESSORS_ONLN)));
    read_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "", text, sizeof(text));
    json_object_set_new(e, "governor", json_string(text[0] ? text : "unknown"));
    if (uname(&system) == 0)
        json_object_set_new(e, "system", json_sprintf("%s %s", system.sysname, system.release));
#if defined(__clang__)
    json_object_set_new(e, "compiler", json_string("clang " __clang_version__));
#elif defined(__GNUC__)
    json_object_set_new(e, "compiler", json_string("gcc " __VERSION__));
#endif
    json_object_set_new(e, "flags", json_string(HBS_FLAGS));
    if (getloadavg(load, 3) > 0)
        json_object_set_new(e, "load", json_real(load[0]));
    strftime(date, sizeof(date), "%Y-%m-%d", gmtime(&now));
    json_object_set_new(e, "date", json_string(date));
    return e;
}
