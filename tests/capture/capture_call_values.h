/* What tests of calls as bytes share. A handle of the tests is its object times 16 plus 5, so that a handle that was
 * not translated shows; those that end otherwise are not known. */
#ifndef HDT_CAPTURE_CALL_VALUES_H
#define HDT_CAPTURE_CALL_VALUES_H

#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "capture/call_tables.h"

#define HANDLE(object) ((void *)(uintptr_t)((object)*16 + 5))
#define GARBAGE ((void *)(uintptr_t)0xdeadbeef00) /* what nothing may follow */

static inline uint32_t object_of(void *user, uint32_t type, uint64_t handle)
{
    (void)user;
    cr_expect_neq(type, 0, "a handle has a type");
    return handle % 16 == 5 ? (uint32_t)(handle / 16) : 0;
}

static inline uint64_t handle_of(void *user, uint32_t type, uint32_t object)
{
    (void)user;
    cr_expect_neq(type, 0);
    return (uint64_t)object * 16 + 5;
}

static hdi_call_writer writer;
static hdi_arena arena;

static inline void call_begin(void)
{
    if (!hdi_call_find("vkCmdDraw"))
        cr_skip_test("built without vk.xml");
    writer = (hdi_call_writer){.object = object_of};
    hdi_arena_init(&arena, &(hd_allocator){0});
}

static inline void call_end(void)
{
    hdi_call_writer_free(&writer);
    hdi_arena_free(&arena);
}

static inline const hdi_call_type *type_of(const char *name)
{
    const hdi_call_type *type = hdi_call_type_find(name);
    cr_assert(type, "%s", name);
    return type;
}

static inline void *read_from(const hdi_call_writer *w, const hdi_call_type *type)
{
    hdi_call_reader reader = {.bytes = w->bytes,
                              .refs = w->refs,
                              .byte_count = w->byte_count,
                              .ref_count = w->ref_count,
                              .arena = &arena,
                              .handle = handle_of,
                              .commands = 77};
    void *value = hdi_call_read(&reader, type);
    cr_assert(value && !reader.failed, "%s is read", type->name);
    cr_expect_eq(reader.at, w->byte_count, "%s to its end", type->name);
    return value;
}

/* Writes, reads, writes again: the same bytes, unless null in place of what is not known makes others ignored. What was
 * read. */
static inline void *round_trip(const char *name, const void *value)
{
    const hdi_call_type *type = type_of(name);
    hdi_call_writer again = {.object = object_of};
    writer.byte_count = writer.ref_count = 0;
    writer.unknown = false;
    hdi_call_write(&writer, type, value);
    cr_assert_not(writer.failed);
    void *back = read_from(&writer, type);
    if (writer.unknown)
        return back;
    hdi_call_write(&again, type, back);
    cr_assert_eq(again.byte_count, writer.byte_count, "%s: %u bytes, then %u", name, writer.byte_count,
                 again.byte_count);
    cr_expect_arr_eq(again.bytes, writer.bytes, writer.byte_count);
    cr_assert_eq(again.ref_count, writer.ref_count);
    for (uint32_t i = 0; i < again.ref_count; i++)
        cr_assert_eq(again.refs[i], writer.refs[i]);
    cr_expect_not(again.unknown);
    hdi_call_writer_free(&again);
    return back;
}

#endif
