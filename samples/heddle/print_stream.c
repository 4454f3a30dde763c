#include "command.h"

#include "vk_words.h"

/* A captured stream to read: what each submit waits for, what its commands touch and order, what it signals. */

void print_resource(const hd_stream *s, uint32_t index)
{
    const hd_stream_resource *r = &s->resources[index];
    printf("%s %u", r->aspects ? "image" : "buffer", index);
    if (r->name != HD_NONE)
        printf(" '%s'", s->strings[r->name]);
}

static void print_range(const hd_stream *s, uint32_t resource, const hd_range *range)
{
    if (s->resources[resource].aspects == 0) {
        printf(" bytes %llu..%llu", (unsigned long long)range->offset,
               (unsigned long long)(range->offset + range->bytes));
        return;
    }
    printf(" mips %u..%u layers %u..%u", range->mip_base, range->mip_base + range->mip_count, range->layer_base,
           range->layer_base + range->layer_count);
    if (range->aspect)
        printf(" %s", range->aspect == HD_ASPECT_DEPTH ? "depth" : "stencil");
}

static void print_box(const hd_stream_box *box)
{
    static const char axes[] = "xyz";
    for (int i = 0; i < 3 && box->extent[0]; i++) {
        if (i < 2 || box->offset[i] || box->extent[i] > 1)
            printf(" %c %u..%u", axes[i], box->offset[i], box->offset[i] + box->extent[i]);
    }
}

static void print_access(const hd_stream *s, const hd_stream_access *a)
{
    printf("      ");
    print_resource(s, a->resource);
    print_range(s, a->resource, &a->range);
    print_box(&a->box);
    printf(": ");
    print_accesses(a->access);
    printf(" in ");
    print_stages(a->stages);
    if (s->resources[a->resource].aspects)
        printf(", layout %s", HDI_LAYOUT_TEXT(a->layout));
    printf("%s%s%s%s\n", a->flags & HD_STREAM_DECLARED ? ", declared" : "", a->flags & HD_STREAM_LOST ? ", lost" : "",
           a->flags & HD_STREAM_OBSERVED ? ", seen" : "", a->flags & HD_STREAM_BOUND ? ", bound" : "");
}

static void print_barrier(const hd_stream *s, const hd_stream_barrier *b)
{
    printf("      ");
    if (b->resource == HD_NONE) {
        printf("all memory");
    } else {
        print_resource(s, b->resource);
        print_range(s, b->resource, &b->range);
        if (s->resources[b->resource].aspects)
            printf(", layout %s -> %s", HDI_LAYOUT_TEXT(b->old_layout), HDI_LAYOUT_TEXT(b->new_layout));
        if (b->src_family != b->dst_family)
            printf(", family %u -> %u", b->src_family, b->dst_family);
    }
    printf(": ");
    print_stages(b->src_stages);
    printf(" (");
    print_accesses(b->src_access);
    printf(") -> ");
    print_stages(b->dst_stages);
    printf(" (");
    print_accesses(b->dst_access);
    printf(")\n");
}

static void print_syncs(const hd_stream *s, const char *word, uint32_t begin, uint32_t count)
{
    for (uint32_t i = begin; i < begin + count; i++) {
        if (s->syncs[i].semaphore == HD_NONE)
            continue;
        printf("   %s semaphore %u", word, s->syncs[i].semaphore);
        if (!s->semaphores[s->syncs[i].semaphore].binary)
            printf(" value %llu", (unsigned long long)s->syncs[i].value);
        printf(" in ");
        print_stages(s->syncs[i].stages);
        printf("\n");
    }
}

/* ", 96 bytes, names 4 vkCreateImage, 7 vkAllocateDescriptorSets" */
static void print_data(const hd_stream *s, uint32_t number)
{
    const hd_stream_data *data = &s->datas[number];
    printf(", %u bytes", data->byte_count);
    for (uint32_t i = 0; i < data->ref_count; i++) {
        uint32_t object = s->refs[data->ref_begin + i];
        printf("%s%u %s", i ? ", " : ", names ", object, s->strings[s->objects[object].name]);
    }
}

static void print_command(const hd_stream *s, uint32_t number, const hd_stream_command *c)
{
    printf("   %u %s", number, s->strings[c->name]);
    if (c->label != HD_NONE)
        printf(" of '%s'", s->strings[c->label]);
    if (c->kind == HD_STREAM_SET || c->kind == HD_STREAM_WAIT)
        printf(", event %u", c->event);
    if (c->changes)
        printf(", changes %u %s", c->changes, s->strings[s->objects[c->changes].name]);
    if (c->data)
        print_data(s, c->data);
    printf("\n");
    for (uint32_t i = c->begin; i < c->begin + c->count; i++) {
        if (c->kind == HD_STREAM_ACCESS)
            print_access(s, &s->accesses[i]);
        else
            print_barrier(s, &s->barriers[i]);
    }
}

void print_stream(const hd_stream *s)
{
    static const char *const kinds[] = {"gfx", "compute", "transfer", "host"};
    for (uint32_t o = 1; o < s->object_count; o++) {
        printf("object %u %s%s", o, s->strings[s->objects[o].name], o == s->device ? ", the device" : "");
        if (s->objects[o].data)
            print_data(s, s->objects[o].data);
        printf("\n");
    }
    for (uint32_t x = 0; x < s->submit_count; x++) {
        const hd_stream_submit *submit = &s->submits[x];
        printf("submit %u %s, queue %u (%s), frame %u\n", x, s->strings[submit->name], submit->queue,
               kinds[s->queues[submit->queue].kind & 3], submit->frame);
        print_syncs(s, "waits for", submit->wait_begin, submit->wait_count);
        for (uint32_t c = 0; c < submit->command_count; c++)
            print_command(s, c, &s->commands[submit->command_begin + c]);
        print_syncs(s, "signals", submit->signal_begin, submit->signal_count);
    }
}
