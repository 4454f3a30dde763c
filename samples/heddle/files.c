#include "command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char *read_whole_file(const char *path, size_t *bytes)
{
    bool is_stdin = strcmp(path, "-") == 0;
    FILE *file = is_stdin ? stdin : fopen(path, "rb");
    if (!file) {
        complain(0, "%s: %s", path, strerror(errno));
        return NULL;
    }
    char *text = NULL;
    size_t size = 0, capacity = 0;
    for (bool more = true; more;) {
        if (size == capacity) {
            capacity = capacity ? capacity * 2 : 1 << 16;
            char *grown = realloc(text, capacity);
            if (!grown) {
                complain(0, "%s: %s", path, hd_result_text(HD_OUT_OF_MEMORY));
                break;
            }
            text = grown;
        }
        size_t got = fread(text + size, 1, capacity - size, file);
        size += got;
        more = got > 0;
    }
    bool good = feof(file) && !ferror(file);
    if (!good)
        complain(0, "%s: %s", path, errno ? strerror(errno) : hd_result_text(HD_IO));
    if (!is_stdin)
        fclose(file);
    if (!good) {
        free(text);
        return NULL;
    }
    *bytes = size;
    return text;
}

hd_graph *read_graph(const char *path, int *status)
{
    size_t bytes;
    char *text = read_whole_file(path, &bytes), error[512] = "";
    *status = EXIT_INPUT;
    if (!text)
        return NULL;
    hd_graph *graph = NULL;
    hd_result result = hd_graph_create(NULL, &graph);
    if (result == HD_OK)
        result = hd_graph_read_fgt(graph, text, bytes, path, error, sizeof(error));
    else
        snprintf(error, sizeof(error), "%s: %s", path, hd_result_text(result));
    free(text);
    if (result == HD_OK) {
        *status = EXIT_DONE;
        return graph;
    }
    fprintf(stderr, "%s\n", error);
    hd_graph_destroy(graph);
    return NULL;
}

/* ---- outputs ---- */

FILE *open_output(outputs *all, const char *path)
{
    output *out = &all->item[all->count];
    *out = (output){.path = path};
    if (strcmp(path, "-") == 0) {
        out->stream = tmpfile();
    } else {
        size_t size = strlen(path) + 16;
        out->temporary = malloc(size);
        if (out->temporary) {
            snprintf(out->temporary, size, "%s.XXXXXX", path);
            int descriptor = mkstemp(out->temporary);
            out->stream = descriptor < 0 ? NULL : fdopen(descriptor, "wb");
        }
    }
    if (!out->stream) {
        complain(0, "%s: %s", path, strerror(errno));
        free(out->temporary);
        return NULL;
    }
    all->count++;
    return out->stream;
}

static void close_output(output *out, bool remove_it)
{
    if (out->stream)
        fclose(out->stream);
    if (out->temporary && remove_it)
        unlink(out->temporary);
    free(out->temporary);
    *out = (output){0};
}

void drop_outputs(outputs *all)
{
    for (int i = 0; i < all->count; i++)
        close_output(&all->item[i], true);
    all->count = 0;
}

static bool copy_to_stdout(FILE *from)
{
    char buffer[1 << 14];
    size_t got;
    rewind(from);
    while ((got = fread(buffer, 1, sizeof(buffer), from)) > 0) {
        if (fwrite(buffer, 1, got, stdout) != got)
            return false;
    }
    return fflush(stdout) == 0 && !ferror(from);
}

bool commit_outputs(outputs *all)
{
    mode_t mask = umask(0);
    umask(mask);
    bool good = true;
    for (int i = 0; good && i < all->count; i++) {
        output *out = &all->item[i];
        good = fflush(out->stream) == 0;
        if (good && out->temporary) /* mkstemp makes files that only their owner reads */
            good = fchmod(fileno(out->stream), 0666 & ~mask) == 0;
        if (good && !out->temporary)
            good = copy_to_stdout(out->stream);
        if (!good)
            complain(0, "%s: %s", out->path, strerror(errno));
    }
    int renamed = 0;
    for (; good && renamed < all->count; renamed++) {
        const output *out = &all->item[renamed];
        if (out->temporary && rename(out->temporary, out->path) != 0) {
            complain(0, "%s: %s", out->path, strerror(errno));
            good = false;
            break;
        }
    }
    for (int i = 0; !good && i < renamed; i++) {
        if (all->item[i].temporary)
            unlink(all->item[i].path);
    }
    for (int i = 0; i < all->count; i++)
        close_output(&all->item[i], !good && i >= renamed);
    all->count = 0;
    return good;
}
