#include "sections.h"

#include <stdio.h>
#include <string.h>

/* Parts that measure something else than the compile. */

int hbs_section(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(int argc, char **argv);
        const char *what;
    } sections[] = {
        {"quality", hbs_quality, "what plans cost: barriers, submits, waits, heaps, makespans; exact, as CSV"},
        {"verify", hbs_verify, "what verifying a plan costs"},
        {"execute", hbs_execute, "what executing costs on a driver that does nothing"},
#ifdef HBS_DRAWS
        {"record", hbs_record, "recording many draws by 1 to 16 workers, passes whole or in parts"},
#endif
        {"jobs", hbs_jobs, "what the job pool costs and gains"},
    };
    enum { COUNT = sizeof(sections) / sizeof(sections[0]) };
    for (int i = 0; i < COUNT; i++) {
        if (strcmp(argv[0], sections[i].name) == 0)
            return sections[i].run(argc, argv);
    }
    fprintf(stderr, "heddle-bench: there is no section '%s'; there are:\n", argv[0]);
    for (int i = 0; i < COUNT; i++)
        fprintf(stderr, "  %-8s %s\n", sections[i].name, sections[i].what);
    return 1;
}
