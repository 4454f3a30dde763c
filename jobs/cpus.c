#include "cpus.h"

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* sysconf(_SC_NPROCESSORS_ONLN) knows neither affinity nor quota: inside a container with a quota of two processors on
 * a machine of 64 it gives 64, and 64 threads then share two processors' time in slices that stop all of them at once.
 * A group is limited by each of its ancestors too, so the walk goes from the process's own cgroup to the root. */

enum { PATH_BYTES = 4096, MAX_CPUS = 8192 };

static uint32_t affinity_count(void)
{
    unsigned long mask[MAX_CPUS / (8 * sizeof(unsigned long))]; /* more than cpu_set_t's 1024 */

    memset(mask, 0, sizeof mask);
    if (sched_getaffinity(0, sizeof mask, (cpu_set_t *)mask) != 0)
        return 1;
    int count = CPU_COUNT_S(sizeof mask, (cpu_set_t *)mask);
    return count > 0 ? (uint32_t)count : 1;
}

/* The first bytes of a file as a text; false if it cannot be read. */
static bool read_text(const char *path, char *text, size_t bytes)
{
    FILE *file = fopen(path, "re");

    if (!file)
        return false;
    size_t length = fread(text, 1, bytes - 1, file);
    text[length] = '\0';
    fclose(file);
    return length > 0;
}

static uint32_t ratio(long long quota, long long period)
{
    if (quota <= 0 || period <= 0)
        return 0;
    long long cpus = (quota - 1) / period + 1;
    return cpus > MAX_CPUS ? MAX_CPUS : (uint32_t)cpus;
}

uint32_t hdi_cpus_parse_max(const char *text)
{
    long long quota = 0, period = 0;

    if (sscanf(text, "%lld %lld", &quota, &period) != 2)
        return 0; /* "max", or nothing known */
    return ratio(quota, period);
}

/* Limit of one group of either cgroup version; 0: none. */
static uint32_t group_limit(const char *folder, bool version2)
{
    char path[PATH_BYTES + 64], quota[64], period[64];

    if (version2) {
        snprintf(path, sizeof path, "%s/cpu.max", folder);
        return read_text(path, quota, sizeof quota) ? hdi_cpus_parse_max(quota) : 0;
    }
    snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", folder);
    if (!read_text(path, quota, sizeof quota))
        return 0;
    snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder);
    if (!read_text(path, period, sizeof period))
        return 0;
    return ratio(atoll(quota), atoll(period));
}

/* Smallest limit on the way from root + group up to root. */
static uint32_t walk(const char *root, const char *group, bool version2)
{
    char folder[PATH_BYTES];
    uint32_t least = 0;

    int length = snprintf(folder, sizeof folder, "%s%s", root, group);
    if (length < 0 || (size_t)length >= sizeof folder)
        return 0;
    for (;;) {
        uint32_t limit = group_limit(folder, version2);
        if (limit != 0 && (least == 0 || limit < least))
            least = limit;
        char *slash = strrchr(folder, '/');
        if (!slash || (size_t)(slash - folder) < strlen(root))
            return least;
        *slash = '\0';
    }
}

static uint32_t quota_count(void)
{
    char line[PATH_BYTES];
    uint32_t least = 0;
    FILE *file = fopen("/proc/self/cgroup", "re");

    if (!file)
        return 0;
    /* Lines are "hierarchy:controllers:path"; version 2 is "0::path". */
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':');
        char *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group)
            continue;
        *group++ = '\0';
        controllers++;
        uint32_t limit = 0;
        if (*controllers == '\0')
            limit = walk("/sys/fs/cgroup", group, true);
        else if (strcmp(controllers, "cpu,cpuacct") == 0 || strcmp(controllers, "cpu") == 0)
            limit = walk("/sys/fs/cgroup/cpu", group, false);
        if (limit != 0 && (least == 0 || limit < least))
            least = limit;
    }
    fclose(file);
    return least;
}

uint32_t hdi_cpus_usable(void)
{
    uint32_t count = affinity_count();
    uint32_t quota = quota_count();

    return quota != 0 && quota < count ? quota : count;
}

void hdi_cpus_pin(pthread_t thread, uint32_t index)
{
    cpu_set_t may, one;

    if (sched_getaffinity(0, sizeof may, &may) != 0 || CPU_COUNT(&may) == 0)
        return;
    index %= (uint32_t)CPU_COUNT(&may);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &may) || index-- > 0)
            continue;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        pthread_setaffinity_np(thread, sizeof one, &one);
        return;
    }
}
