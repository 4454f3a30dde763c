#include <heddle/plan_tools.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file that appears whole or not at all: it is written beside its place, then renamed. */

static hd_result write_to(FILE *stream, hd_result (*write)(FILE *stream, void *user), void *user)
{
    hd_result result = write(stream, user);
    if (result == HD_OK && (fflush(stream) != 0 || ferror(stream)))
        result = HD_IO;
    if (fclose(stream) != 0 && result == HD_OK)
        result = HD_IO;
    return result;
}

/* A new file in the folder of path, whose name may be as long as there are. *name: the caller frees it. */
static int make_beside(const char *path, char **name)
{
    enum { TRIES = 1000, ROOM = 40 };
    const char *slash = strrchr(path, '/');
    const size_t folder = slash ? (size_t)(slash + 1 - path) : 0;
    int file = -1;
    *name = malloc(folder + ROOM);
    if (!*name)
        return -1;
    memcpy(*name, path, folder);
    for (unsigned i = 0; i < TRIES; i++) {
        snprintf(*name + folder, ROOM, ".heddle.%ld.%u", (long)getpid(), i);
        file = open(*name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file >= 0 || errno != EEXIST)
            break;
    }
    return file;
}

/* old: null, or the file that is replaced, whose mode stays. */
static hd_result write_beside(const char *path, const struct stat *old, hd_result (*write)(FILE *stream, void *user),
                              void *user)
{
    char *beside;
    const int file = make_beside(path, &beside);
    FILE *stream = file >= 0 && (!old || fchmod(file, old->st_mode & 07777) == 0) ? fdopen(file, "wb") : NULL;
    hd_result result = stream ? write_to(stream, write, user) : beside ? HD_IO : HD_OUT_OF_MEMORY;
    int why = errno;
    if (!stream && file >= 0)
        close(file);
    if (result == HD_OK && rename(beside, path) != 0) {
        result = HD_IO;
        why = errno;
    }
    if (result != HD_OK && file >= 0)
        unlink(beside);
    free(beside);
    errno = why;
    return result;
}

hd_result hd_file_write(const char *path, hd_result (*write)(FILE *stream, void *user), void *user)
{
    struct stat is;
    if (!path || !write)
        return HD_INVALID_ARGUMENT;
    const bool exists = stat(path, &is) == 0;
    if (exists && !S_ISREG(is.st_mode)) { /* a device or a pipe is written to, not replaced */
        FILE *stream = fopen(path, "wb");
        return stream ? write_to(stream, write, user) : HD_IO;
    }
    if (exists && access(path, W_OK) != 0)
        return HD_IO;
    char *behind = exists ? realpath(path, NULL) : NULL; /* a link stays one */
    hd_result result =
        exists && !behind ? HD_IO : write_beside(behind ? behind : path, exists ? &is : NULL, write, user);
    free(behind);
    return result;
}
