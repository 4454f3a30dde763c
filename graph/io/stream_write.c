#include "stream.h"

#include <inttypes.h>

#include "base64.h"

/* Streams as JSON, a line an element. The leaves' integers stand in tables, which reading uses too. */

#define FIELD(type, member)                                                                                            \
    {                                                                                                                  \
        #member, offsetof(type, member), sizeof(((type *)0)->member), false, 0                                         \
    }
#define OPTIONAL(type, member, absent)                                                                                 \
    {                                                                                                                  \
        #member, offsetof(type, member), sizeof(((type *)0)->member), true, absent                                     \
    }
#define TABLE(name, ...)                                                                                               \
    static const hdi_stream_field name##_list[] = {__VA_ARGS__};                                                       \
    const hdi_stream_fields hdi_stream_##name = {name##_list, sizeof(name##_list) / sizeof(name##_list[0])}

TABLE(queue_fields, FIELD(hd_stream_queue, kind), OPTIONAL(hd_stream_queue, family, HD_NONE));
TABLE(resource_fields, OPTIONAL(hd_stream_resource, memory, HD_NONE), OPTIONAL(hd_stream_resource, offset, 0),
      FIELD(hd_stream_resource, bytes), OPTIONAL(hd_stream_resource, mips, 1), OPTIONAL(hd_stream_resource, layers, 1),
      OPTIONAL(hd_stream_resource, aspects, 0), OPTIONAL(hd_stream_resource, layout, 0),
      OPTIONAL(hd_stream_resource, flags, 0), OPTIONAL(hd_stream_resource, object, 0));
TABLE(semaphore_fields, OPTIONAL(hd_stream_semaphore, binary, 0), OPTIONAL(hd_stream_semaphore, initial, 0));
TABLE(sync_fields, OPTIONAL(hd_stream_sync, semaphore, HD_NONE), OPTIONAL(hd_stream_sync, value, 0),
      FIELD(hd_stream_sync, stages));
TABLE(barrier_fields, FIELD(hd_stream_barrier, src_stages), FIELD(hd_stream_barrier, src_access),
      FIELD(hd_stream_barrier, dst_stages), FIELD(hd_stream_barrier, dst_access),
      OPTIONAL(hd_stream_barrier, resource, HD_NONE), OPTIONAL(hd_stream_barrier, old_layout, 0),
      OPTIONAL(hd_stream_barrier, new_layout, 0), OPTIONAL(hd_stream_barrier, src_family, HD_NONE),
      OPTIONAL(hd_stream_barrier, dst_family, HD_NONE));
TABLE(access_fields, FIELD(hd_stream_access, resource), FIELD(hd_stream_access, stages),
      FIELD(hd_stream_access, access), OPTIONAL(hd_stream_access, layout, 0), OPTIONAL(hd_stream_access, flags, 0),
      OPTIONAL(hd_stream_access, scope, 0));
TABLE(submit_fields, FIELD(hd_stream_submit, queue), OPTIONAL(hd_stream_submit, thread, HD_NONE),
      OPTIONAL(hd_stream_submit, frame, 0));
TABLE(command_fields, OPTIONAL(hd_stream_command, group, 0), OPTIONAL(hd_stream_command, event, 0),
      OPTIONAL(hd_stream_command, buffer, 0), OPTIONAL(hd_stream_command, sets, 0), OPTIONAL(hd_stream_command, uses, 0),
      OPTIONAL(hd_stream_command, pair, 0), OPTIONAL(hd_stream_command, changes, 0));

const char *const hdi_stream_kinds[4] = {"access", "barrier", "set", "wait"};

static void write_string(const char *text, FILE *f)
{
    fputc('"', f);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (*c == '"' || *c == '\\')
            fprintf(f, "\\%c", *c);
        else if (*c < 0x20)
            fprintf(f, "\\u%04x", *c);
        else
            fputc(*c, f);
    }
    fputc('"', f);
}

static uint64_t value_of(const hdi_stream_field *field, const void *element)
{
    const char *at = (const char *)element + field->offset;
    return field->bytes == sizeof(uint64_t) ? *(const uint64_t *)at : *(const uint32_t *)at;
}

/* first: nothing stands before it in the object. */
static void write_fields(const hdi_stream_fields *fields, const void *element, bool first, FILE *f)
{
    for (size_t i = 0; i < fields->count; i++) {
        const hdi_stream_field *field = &fields->list[i];
        uint64_t value = value_of(field, element);
        if (field->optional && value == field->absent)
            continue;
        fprintf(f, "%s\"%s\": %" PRIu64, first ? "" : ", ", field->key, value);
        first = false;
    }
}

static void write_range(const hd_stream *s, uint32_t resource, const hd_range *range, FILE *f)
{
    if (s->resources[resource].aspects == 0) {
        fprintf(f, ", \"range\": [%" PRIu64 ", %" PRIu64 "]", range->offset, range->bytes);
        return;
    }
    fprintf(f, ", \"range\": [%u, %u, %" PRIu32 ", %" PRIu32 "]", range->mip_base, range->mip_count, range->layer_base,
            range->layer_count);
    if (range->aspect)
        fprintf(f, ", \"aspect\": %" PRIu32, range->aspect);
}

static void write_box(const hd_stream_box *box, FILE *f)
{
    const uint32_t *at = box->offset, *size = box->extent;
    if (size[0])
        fprintf(f, ", \"box\": [%" PRIu32 ", %" PRIu32 ", %" PRIu32 ", %" PRIu32 ", %" PRIu32 ", %" PRIu32 "]", at[0],
                at[1], at[2], size[0], size[1], size[2]);
}

static void write_syncs(const hd_stream *s, const char *key, uint32_t begin, uint32_t count, FILE *f)
{
    if (count == 0)
        return;
    fprintf(f, ", \"%s\": [", key);
    for (uint32_t i = 0; i < count; i++) {
        fputs(i ? ", {" : "{", f);
        write_fields(&hdi_stream_sync_fields, &s->syncs[begin + i], true, f);
        fputc('}', f);
    }
    fputc(']', f);
}

/* What the call was given, behind other members. */
static void write_data(const hd_stream *s, uint32_t number, FILE *f)
{
    if (!number)
        return;
    const hd_stream_data *data = &s->datas[number];
    for (uint32_t i = 0; i < data->ref_count; i++)
        fprintf(f, "%s%" PRIu32, i ? ", " : ", \"refs\": [", s->refs[data->ref_begin + i]);
    fputs(data->ref_count ? "], \"data\": \"" : ", \"data\": \"", f);
    hdi_base64_write(s->bytes + data->byte_begin, data->byte_count, f);
    fputc('"', f);
}

static void write_objects(const hd_stream *s, FILE *f)
{
    if (s->object_count < 2)
        return;
    fprintf(f, "],\n \"device\": %" PRIu32 ", \"objects\": [", s->device);
    for (uint32_t i = 1; i < s->object_count; i++) {
        fputs(i > 1 ? ",\n  {\"name\": " : "\n  {\"name\": ", f);
        write_string(s->strings[s->objects[i].name], f);
        write_data(s, s->objects[i].data, f);
        fputc('}', f);
    }
}

static void write_command(const hd_stream *s, const hd_stream_command *command, FILE *f)
{
    fprintf(f, "{\"kind\": \"%s\", \"name\": ", hdi_stream_kinds[command->kind & 3]);
    write_string(s->strings[command->name], f);
    if (command->label != HD_NONE) {
        fputs(", \"label\": ", f);
        write_string(s->strings[command->label], f);
    }
    write_fields(&hdi_stream_command_fields, command, false, f);
    write_data(s, command->data, f);
    fprintf(f, ", \"list\": [");
    for (uint32_t i = command->begin; i < command->begin + command->count; i++) {
        fputs(i > command->begin ? ",\n     {" : "\n     {", f);
        if (command->kind == HD_STREAM_ACCESS) {
            write_fields(&hdi_stream_access_fields, &s->accesses[i], true, f);
            write_range(s, s->accesses[i].resource, &s->accesses[i].range, f);
            write_box(&s->accesses[i].box, f);
        } else {
            write_fields(&hdi_stream_barrier_fields, &s->barriers[i], true, f);
            if (s->barriers[i].resource != HD_NONE)
                write_range(s, s->barriers[i].resource, &s->barriers[i].range, f);
        }
        fputc('}', f);
    }
    fputs("]}", f);
}

static void write_submit(const hd_stream *s, const hd_stream_submit *submit, FILE *f)
{
    fputs("  {\"name\": ", f);
    write_string(s->strings[submit->name], f);
    write_fields(&hdi_stream_submit_fields, submit, false, f);
    write_syncs(s, "waits", submit->wait_begin, submit->wait_count, f);
    if (submit->command_count) {
        fputs(", \"commands\": [", f);
        for (uint32_t i = 0; i < submit->command_count; i++) {
            fputs(i ? ",\n    " : "\n    ", f);
            write_command(s, &s->commands[submit->command_begin + i], f);
        }
        fputc(']', f);
    }
    write_syncs(s, "signals", submit->signal_begin, submit->signal_count, f);
    fputc('}', f);
}

hd_result hd_stream_write(const hd_stream *s, FILE *f)
{
    if (!s || !f)
        return HD_INVALID_ARGUMENT;
    fprintf(f, "{\"capture\": 1, \"unseen\": %" PRIu64 ",\n \"queues\": [", s->unseen);
    for (uint32_t i = 0; i < s->queue_count; i++) {
        fputs(i ? ", {" : "{", f);
        write_fields(&hdi_stream_queue_fields, &s->queues[i], true, f);
        fputc('}', f);
    }
    fputs("],\n \"semaphores\": [", f);
    for (uint32_t i = 0; i < s->semaphore_count; i++) {
        fputs(i ? ", {" : "{", f);
        write_fields(&hdi_stream_semaphore_fields, &s->semaphores[i], true, f);
        fputc('}', f);
    }
    write_objects(s, f);
    fputs("],\n \"resources\": [", f);
    for (uint32_t i = 0; i < s->resource_count; i++) {
        fputs(i ? ",\n  {" : "\n  {", f);
        write_fields(&hdi_stream_resource_fields, &s->resources[i], true, f);
        if (s->resources[i].name != HD_NONE) {
            fputs(", \"name\": ", f);
            write_string(s->strings[s->resources[i].name], f);
        }
        fputc('}', f);
    }
    fputs("],\n \"submits\": [", f);
    for (uint32_t i = 0; i < s->submit_count; i++) {
        fputs(i ? ",\n" : "\n", f);
        write_submit(s, &s->submits[i], f);
    }
    fputs("]}\n", f);
    return fflush(f) == 0 && !ferror(f) ? HD_OK : HD_IO;
}
