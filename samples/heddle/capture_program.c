#include "command.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* heddle capture -- PROGRAM: runs a program with VK_LAYER_HEDDLE_capture, which writes what it gives to Vulkan. */

extern char **environ;

#define LAYER "VK_LAYER_HEDDLE_capture"

/* What stands in the variable, with one more word. */
static bool append_variable(const char *name, const char *word)
{
    char text[4096];
    const char *before = getenv(name);
    int bytes = snprintf(text, sizeof(text), "%s%s%s", before ? before : "", before && *before ? ":" : "", word);
    return bytes < (int)sizeof(text) && setenv(name, text, 1) == 0;
}

/* The layer of this build; one that is installed is found by the loader. */
static bool find_layer(void)
{
    struct stat info;
    return stat(HEDDLE_LAYERS "/VkLayer_HEDDLE_capture.json", &info) != 0 ||
           append_variable("VK_ADD_LAYER_PATH", HEDDLE_LAYERS);
}

int capture_program(const char *path, const char *frames, char **arguments)
{
    struct stat info;
    pid_t child;
    int status = 0;
    if (!find_layer() || !append_variable("VK_INSTANCE_LAYERS", LAYER) || setenv("HEDDLE_CAPTURE_FILE", path, 1) != 0 ||
        setenv("HEDDLE_CAPTURE_FRAMES", frames, 1) != 0)
        return complain(EXIT_INPUT, "the environment of %s cannot be set", arguments[0]);
    /* Whether it can be made is known before the program runs; an old one does not count as made. */
    FILE *file = fopen(path, "wb");
    if (!file || fclose(file) != 0 || remove(path) != 0)
        return complain(EXIT_INPUT, "%s: %s", path, strerror(errno));
    int error = posix_spawnp(&child, arguments[0], NULL, NULL, arguments, environ);
    if (error)
        return complain(EXIT_INPUT, "%s: %s", arguments[0], strerror(error));
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    if (stat(path, &info) != 0)
        return complain(EXIT_INPUT, "%s made no instance of Vulkan, ended before its device, or ran without " LAYER
                        ": there is no %s",
                        arguments[0], path);
    fprintf(stderr, "%s: what %s gave to Vulkan\n", path, arguments[0]);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return EXIT_DONE;
    return complain(EXIT_INPUT, "%s ended with %s %d", arguments[0], WIFEXITED(status) ? "status" : "signal",
                    WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
}
