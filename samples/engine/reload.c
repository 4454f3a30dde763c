#include "engine.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* Step 9: shaders that change while the engine runs. A task of the engine's pool compiles what has changed and makes
 * the pipelines. They take over at the start of a frame; the old ones go once the frames in flight are done with them.
 * heddle need not be told: a plan knows resources, not shaders. */

extern char **environ;

#define WATCH_EVERY 8 /* frames */

static int64_t change_time(const struct engine *engine, const char *name)
{
    char path[4096];
    struct stat about;
    snprintf(path, sizeof path, "%s/%s", engine->shaders, name);
    if (stat(path, &about) != 0)
        return 0;
    return (int64_t)about.st_mtim.tv_sec * 1000000000 + about.st_mtim.tv_nsec;
}

/* Bits of the shaders whose files have changed since the last call; the first call sees none. What they include counts
 * for all. */
static uint32_t changed_shaders(struct engine *engine)
{
    struct programs *programs = &engine->programs;
    uint32_t changed = 0;
    for (uint32_t i = 1; program_shader_name(i); i++) {
        int64_t time = change_time(engine, program_shader_name(i)), *last = &programs->shader[i].changed;
        if (time && *last && time != *last)
            changed |= 1u << i;
        *last = time ? time : *last;
    }
    int64_t time = change_time(engine, "common.glsl");
    if (time && programs->common_changed && time != programs->common_changed)
        changed = ~1u;
    programs->common_changed = time ? time : programs->common_changed;
    return changed;
}

/* ---- in a task ---- */

/* The compiler's first line that says what is wrong. */
static void say_error(struct engine *engine, const char *name, const char *log)
{
    char line[512] = "glslangValidator did not run";
    FILE *file = fopen(log, "r");
    while (file && fgets(line, sizeof line, file) && !strstr(line, "ERROR")) {
    }
    if (file)
        fclose(file);
    line[strcspn(line, "\n")] = '\0';
    journal_say(&engine->journal, HD_LOG_INFO, "engine", "%s stays as it was: %s", name, line);
    printf("reload          %s stays as it was: %s\n", name, line);
}

static bool run_compiler(const char *from, const char *to, const char *log)
{
    const char *arguments[] = {"glslangValidator", "--quiet", "--target-env", "vulkan1.3", "-V", from, "-o", to, NULL};
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    posix_spawn_file_actions_adddup2(&files, 1, 2);
    pid_t child;
    int status = 1;
    bool ran = posix_spawnp(&child, arguments[0], &files, NULL, (char **)arguments, environ) == 0;
    posix_spawn_file_actions_destroy(&files);
    while (ran && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return ran && status == 0;
}

static bool read_words(const char *path, struct shader *shader)
{
    FILE *file = fopen(path, "rb");
    struct stat about;
    uint32_t *words = NULL;
    bool read = file && fstat(fileno(file), &about) == 0 && about.st_size > 0 && about.st_size % 4 == 0 &&
                (words = malloc((size_t)about.st_size)) &&
                fread(words, 1, (size_t)about.st_size, file) == (size_t)about.st_size;
    if (file)
        fclose(file);
    if (!read) {
        free(words);
        return false;
    }
    free(shader->compiled);
    shader->words = shader->compiled = words;
    shader->bytes = (size_t)about.st_size;
    return true;
}

static bool compile(struct engine *engine, uint32_t i)
{
    char from[4096], to[4096], log[4096];
    const char *name = program_shader_name(i);
    snprintf(from, sizeof from, "%s/%s", engine->shaders, name);
    snprintf(to, sizeof to, "%s/%s.spv", engine->out, name);
    snprintf(log, sizeof log, "%s/%s.log", engine->out, name);
    bool good = run_compiler(from, to, log) && read_words(to, &engine->programs.shader[i]);
    if (!good)
        say_error(engine, name, log);
    remove(to);
    remove(log);
    return good;
}

static void reload(void *user)
{
    struct engine *engine = user;
    struct programs *programs = &engine->programs;
    uint32_t compiled = 0;
    for (uint32_t i = 1; program_shader_name(i); i++) {
        if (!(programs->reload_shaders & 1u << i))
            continue;
        if (compile(engine, i))
            compiled |= 1u << i;
        else
            programs->refused++;
    }
    for (uint32_t id = 0; id < PROGRAM_COUNT; id++)
        if (program_uses(id, compiled))
            atomic_store(&programs->program[id].next, program_build(engine, id));
    atomic_store(&programs->reload_ended, true);
}

/* ---- at the start of a frame ---- */

static void swap_pipelines(struct engine *engine, uint32_t frame)
{
    struct programs *programs = &engine->programs;
    uint32_t before = programs->swapped;
    for (uint32_t id = 0; id < PROGRAM_COUNT; id++) {
        VkPipeline next = atomic_exchange(&programs->program[id].next, VK_NULL_HANDLE);
        if (!next)
            continue;
        programs->retired[programs->retired_count++] = (struct retired){programs->program[id].pipeline, frame};
        programs->program[id].pipeline = next;
        programs->swapped++;
    }
    if (programs->swapped > before)
        printf("reload          %u pipelines taken over\n", programs->swapped - before);
}

/* To execute frame f waits for frame f - FRAMES_IN_FLIGHT: before frame f is declared, those up to
 * f - FRAMES_IN_FLIGHT - 1 have finished. */
static void drop_retired(struct engine *engine, uint32_t frame)
{
    struct programs *programs = &engine->programs;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < programs->retired_count; i++) {
        struct retired *retired = &programs->retired[i];
        if (frame >= retired->frame + FRAMES_IN_FLIGHT)
            vkDestroyPipeline(engine->device.device, retired->pipeline, NULL);
        else
            programs->retired[kept++] = *retired;
    }
    programs->retired_count = kept;
}

void programs_update(struct engine *engine, uint32_t frame, bool all)
{
    struct programs *programs = &engine->programs;
    drop_retired(engine, frame);
    if (programs->reload && atomic_load(&programs->reload_ended)) {
        threads_join(&engine->threads, programs->reload);
        programs->reload = NULL;
        swap_pipelines(engine, frame);
    }
    if (programs->reload || (frame % WATCH_EVERY != 0 && !all))
        return;
    uint32_t changed = changed_shaders(engine);
    programs->reload_shaders = all ? ~1u : changed;
    if (!programs->reload_shaders)
        return;
    atomic_store(&programs->reload_ended, false);
    programs->reload = threads_run(&engine->threads, reload, engine, false);
}

void programs_wait(struct engine *engine)
{
    if (engine->programs.reload)
        threads_join(&engine->threads, engine->programs.reload);
    engine->programs.reload = NULL;
}

void programs_free_shaders(struct programs *programs)
{
    for (uint32_t i = 0; i < MAX_SHADERS; i++)
        free(programs->shader[i].compiled);
}
