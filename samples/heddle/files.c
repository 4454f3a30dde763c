#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <pthread.h>
#include <signal.h>
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
    char *text = read_whole_file(path, &bytes), error[ERROR_BYTES] = "";
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

/* A signal that ends the command takes its unfinished files along. The thread that makes and renames them does that:
 * it is in the midst of neither, because it holds signals back meanwhile. Workers take none, but a driver's threads
 * may. */
static char *volatile unfinished[MAX_OUTPUTS];
static pthread_t their_thread;

static void end_by_signal(int number)
{
    if (!pthread_equal(pthread_self(), their_thread)) {
        pthread_kill(their_thread, number);
        return;
    }
    for (int i = 0; i < MAX_OUTPUTS; i++) {
        if (unfinished[i])
            unlink(unfinished[i]);
    }
    signal(number, SIG_DFL);
    raise(number); /* it comes when this returns */
}

void clean_up_on_signals(void)
{
    static const int ends[] = {SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTERM, SIGXCPU};
    their_thread = pthread_self();
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        if (signal(ends[i], end_by_signal) == SIG_IGN) /* as under nohup */
            signal(ends[i], SIG_IGN);
    }
    signal(SIGXFSZ, SIG_IGN); /* a file that is too large is a write that fails */
}

static sigset_t hold_signals(void)
{
    sigset_t every, before;
    sigfillset(&every);
    pthread_sigmask(SIG_BLOCK, &every, &before);
    return before;
}

static void let_signals(const sigset_t *before)
{
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

static void forget_unfinished(const char *path)
{
    for (int i = 0; i < MAX_OUTPUTS; i++) {
        if (unfinished[i] == path)
            unfinished[i] = NULL;
    }
}

/* A new name in the folder of the file that it is to become. It does not hang on that one's, which may be as long as a
 * name can be. */
static char *new_name(const char *becomes)
{
    const char *slash = strrchr(becomes, '/');
    size_t folder = slash ? (size_t)(slash + 1 - becomes) : 0;
    char *name = malloc(folder + sizeof(".heddle.XXXXXX"));
    if (name) {
        memcpy(name, becomes, folder);
        strcpy(name + folder, ".heddle.XXXXXX");
    }
    return name;
}

/* A file that has no name until it is complete, where the system has such files: nothing is left of a process that is
 * killed. */
static int make_nameless(const output *out)
{
    char *folder = strdup(out->becomes);
    int descriptor = folder && access("/proc/self/fd", X_OK) == 0
                         ? open(dirname(folder), O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR)
                         : -1;
    free(folder);
    return descriptor;
}

/* mkstemp, but the file is on the list of outputs from the moment in which it exists. */
static int make_temporary(outputs *all, output *out)
{
    out->temporary = new_name(out->becomes);
    if (!out->temporary)
        return -1;
    sigset_t before = hold_signals();
    int descriptor = mkstemp(out->temporary), why = errno;
    if (descriptor >= 0) {
        unfinished[out - all->item] = out->temporary;
    } else {
        free(out->temporary);
        out->temporary = NULL;
    }
    let_signals(&before);
    errno = why;
    return descriptor;
}

bool is_same_file(const char *a, const char *b)
{
    struct stat one, other;
    if (strcmp(a, "-") == 0 || strcmp(b, "-") == 0) /* standard output */
        return strcmp(a, b) == 0;
    bool has_one = stat(a, &one) == 0, has_other = stat(b, &other) == 0;
    if (has_one && has_other)
        return S_ISREG(one.st_mode) && one.st_dev == other.st_dev && one.st_ino == other.st_ino;
    char *copies[4] = {strdup(a), strdup(b), strdup(a), strdup(b)}; /* dirname and basename change theirs */
    bool same = !has_one && !has_other && copies[0] && copies[1] && copies[2] && copies[3] &&
                strcmp(basename(copies[0]), basename(copies[1])) == 0 && stat(dirname(copies[2]), &one) == 0 &&
                stat(dirname(copies[3]), &other) == 0 && one.st_dev == other.st_dev && one.st_ino == other.st_ino;
    for (int i = 0; i < 4; i++)
        free(copies[i]);
    return same;
}

bool is_graph_too(const char *graph, const char *path)
{
    return is_same_file(strcmp(graph, "-") == 0 ? "/dev/stdin" : graph, path);
}

static void close_output(output *out, bool remove_it)
{
    if (out->stream)
        fclose(out->stream);
    if (out->target && out->target != stdout && out->target != stderr)
        fclose(out->target);
    if (out->temporary && remove_it)
        unlink(out->temporary);
    forget_unfinished(out->temporary);
    free(out->temporary);
    free(out->becomes);
    *out = (output){0};
}

/* A new file in the folder of the one that it is to become: of the file behind a link, which stays one, and must have
 * one. *why: null, or a sentence that says more than errno. */
static FILE *open_beside(outputs *all, output *out, const char *path, const char **why)
{
    struct stat is;
    out->becomes = realpath(path, NULL);
    if (out->becomes) {
        if (access(out->becomes, W_OK) != 0)
            return NULL;
    } else {
        if (lstat(path, &is) == 0) {
            *why = errno == ENOENT ? "it is a link to a file that does not exist" : NULL;
            return NULL;
        }
        out->becomes = strdup(path);
    }
    int descriptor = out->becomes ? make_nameless(out) : -1;
    if (out->becomes && descriptor < 0)
        descriptor = make_temporary(all, out);
    return descriptor < 0 ? NULL : fdopen(descriptor, "wb");
}

/* Standard output or error where they go to this file: a new one in its place would take what else is written there
 * away. */
static FILE *standard_stream(const struct stat *is)
{
    FILE *const streams[] = {stdout, stderr};
    for (int i = 0; i < 2; i++) {
        struct stat own;
        if (fstat(fileno(streams[i]), &own) == 0 && own.st_dev == is->st_dev && own.st_ino == is->st_ino)
            return streams[i];
    }
    return NULL;
}

FILE *open_output(outputs *all, const char *path)
{
    output *out = &all->item[all->count];
    struct stat is;
    const char *why = NULL;
    *out = (output){.path = path};
    bool is_standard = strcmp(path, "-") == 0, exists = !is_standard && stat(path, &is) == 0;
    out->target = is_standard ? stdout : exists ? standard_stream(&is) : NULL;
    if (!out->target && exists && !S_ISREG(is.st_mode)) /* a device or a pipe is written to, not replaced */
        out->target = fopen(path, "wb");
    else if (!out->target)
        out->stream = open_beside(all, out, path, &why);
    if (out->target)
        out->stream = tmpfile();
    if (!out->stream) {
        complain(0, "%s: %s", path, why ? why : strerror(errno));
        close_output(out, true);
        return NULL;
    }
    all->count++;
    return out->stream;
}

void drop_outputs(outputs *all)
{
    for (int i = 0; i < all->count; i++)
        close_output(&all->item[i], true);
    all->count = 0;
}

static bool copy(FILE *from, FILE *to)
{
    char buffer[1 << 14];
    size_t got;
    rewind(from);
    while ((got = fread(buffer, 1, sizeof(buffer), from)) > 0) {
        if (fwrite(buffer, 1, got, to) != got)
            return false;
    }
    return fflush(to) == 0 && !ferror(from);
}

/* New files are made so that only their owner reads them. */
static bool give_mode(const output *out)
{
    struct stat old;
    mode_t mask = umask(0);
    umask(mask);
    return fchmod(fileno(out->stream), stat(out->becomes, &old) == 0 ? old.st_mode & 07777 : 0666 & ~mask) == 0;
}

/* Gives a file without a name its own, or, where that is taken, another one beside it. */
static bool give_name(output *out)
{
    enum { TRIES = 100 };
    char from[64];
    snprintf(from, sizeof(from), "/proc/self/fd/%d", fileno(out->stream));
    if (linkat(AT_FDCWD, from, AT_FDCWD, out->becomes, AT_SYMLINK_FOLLOW) == 0)
        return true;
    out->temporary = errno == EEXIST ? new_name(out->becomes) : NULL;
    for (unsigned i = 0; out->temporary && i < TRIES; i++) {
        snprintf(out->temporary + strlen(out->temporary) - 6, 7, "%06x", ((unsigned)getpid() * TRIES + i) & 0xffffff);
        if (linkat(AT_FDCWD, from, AT_FDCWD, out->temporary, AT_SYMLINK_FOLLOW) == 0)
            return true;
        if (errno != EEXIST)
            break;
    }
    int why = errno;
    free(out->temporary);
    out->temporary = NULL;
    errno = why;
    return false;
}

/* Puts the new file where it belongs, and keeps the one that it takes the place of where the system can. */
static bool put_in_place(output *out)
{
    struct stat old;
    if (!out->temporary && !give_name(out))
        return false;
    if (!out->temporary)
        return true;
    if (lstat(out->becomes, &old) == 0 && S_ISREG(old.st_mode) &&
        renameat2(AT_FDCWD, out->temporary, AT_FDCWD, out->becomes, RENAME_EXCHANGE) == 0)
        return out->exchanged = true;
    return rename(out->temporary, out->becomes) == 0;
}

/* As if it had never been written. */
static void take_back(output *out)
{
    if (!out->exchanged)
        unlink(out->becomes);
    else if (rename(out->temporary, out->becomes) == 0)
        out->exchanged = false;
}

bool commit_outputs(outputs *all)
{
    bool good = true;
    for (int i = 0; good && i < all->count; i++) {
        output *out = &all->item[i];
        good = fflush(out->stream) == 0 && (out->target ? copy(out->stream, out->target) : give_mode(out));
        if (!good)
            complain(0, "%s: %s", out->path, strerror(errno));
    }
    int renamed = 0;
    sigset_t before = hold_signals(); /* all together */
    for (; good && renamed < all->count; renamed++) {
        output *out = &all->item[renamed];
        if (out->becomes && !put_in_place(out)) {
            complain(0, "%s: %s", out->path, strerror(errno));
            good = false;
            break;
        }
    }
    for (int i = 0; !good && i < renamed; i++) {
        if (all->item[i].becomes)
            take_back(&all->item[i]);
    }
    let_signals(&before);
    for (int i = 0; i < all->count; i++)
        close_output(&all->item[i], good ? all->item[i].exchanged : i >= renamed);
    all->count = 0;
    return good;
}
