#include "verify.h"

#include "bitset.h"

/* Numbers the sync nodes by queue and prepares the rows of the relation. O(nodes * queues * (stages + kinds)). */

static uint32_t batch_size(const hdi_verify *v, const hd_plan_command *c)
{
    return c->kind == HD_COMMAND_BARRIER || c->kind == HD_COMMAND_SET ? v->p.batches[c->index].barrier_count : 0;
}

static void fill_barrier(hdi_verify *v, uint32_t n, uint32_t s, uint32_t c, uint32_t b)
{
    const hd_plan_barrier *x = &v->p.barriers[b];
    uint32_t q = v->p.submits[s].queue;
    hdi_vnode *node = &v->node[n];
    *node = (hdi_vnode){.src_near = hdi_verify_expand(x->src_stages),
                        .src_far = hdi_verify_src(x->src_stages),
                        .dst_near = hdi_verify_expand(x->dst_stages),
                        .dst_far = hdi_verify_dst(x->dst_stages),
                        .src_access = x->src_access,
                        .dst_access = x->dst_access,
                        .queue = q,
                        .submit = s,
                        .command = c,
                        .barrier = b,
                        .resource = x->resource,
                        .spread_end = HDI_NONE,
                        .kind = HV_BARRIER};
    if (x->resource == HDI_NONE)
        return;
    bool image = !(v->d.res_flags[x->resource] & HDI_RES_BUFFER);
    if (image && x->old_layout != x->new_layout)
        node->flags |= HV_TRANSITION;
    if (x->src_family != x->dst_family)
        node->flags |= v->p.queues[q].family == x->src_family ? HV_RELEASE : HV_ACQUIRE;
    if (node->flags & HV_RELEASE)
        node->dst_near = node->dst_far = node->dst_access = 0;
    if (node->flags & HV_ACQUIRE)
        node->src_near = node->src_far = node->src_access = 0;
    if (node->flags) {
        node->src_far |= HV_STAGE(HV_INTO);
        node->dst_far |= HV_STAGE(HV_OUT);
    }
}

static void fill_semaphore(hdi_verify *v, uint32_t n, uint32_t s, uint8_t kind, uint64_t stages)
{
    uint32_t q = v->p.submits[s].queue;
    bool all = stages & HV_STAGE(HV_ALL_COMMANDS), host = v->p.queues[q].kind == HD_QUEUE_HOST;
    hdi_vnode *node = &v->node[n];
    *node = (hdi_vnode){.queue = q,
                        .submit = s,
                        .command = HDI_NONE,
                        .barrier = HDI_NONE,
                        .resource = HDI_NONE,
                        .spread_end = HDI_NONE,
                        .kind = kind};
    if (kind == HV_WAIT)
        node->dst_far = host ? HV_STAGE(HV_HOST) : hdi_verify_dst(stages) | (all ? HV_STAGE(HV_INTO) : 0);
    else /* a barrier to HOST before a signal of everything is what the host's wait relies on */
        node->src_far =
            host ? HV_STAGE(HV_HOST) : hdi_verify_src(stages) | (all ? HV_STAGE(HV_OUT) | HV_STAGE(HV_HOST) : 0);
}

/* What comes from node n on can come after these. */
static void end_spread(hdi_verify *v, uint32_t first, uint32_t count, uint32_t n)
{
    for (uint32_t i = first; i < first + count; i++)
        v->node[i].spread_end = v->node[i].spread_end < n ? v->node[i].spread_end : n;
}

static hd_result number_nodes(hdi_verify *v)
{
    uint32_t q_count = v->p.queue_count;
    v->queue_node = HDI_ARENA_ZEROED(&v->arena, uint32_t, (size_t)q_count + 1);
    v->submit_signal = HDI_ARENA_ARRAY(&v->arena, uint32_t, v->p.submit_count);
    v->wait_node = HDI_ARENA_ARRAY(&v->arena, uint32_t, v->p.wait_count);
    if (v->arena.failed)
        return HD_OUT_OF_MEMORY;
    for (uint32_t w = 0; w < v->p.wait_count; w++)
        v->wait_node[w] = HDI_NONE; /* of no submit */
    for (uint32_t s = 0; s < v->p.submit_count; s++) {
        const hd_plan_submit *x = &v->p.submits[s];
        uint32_t *count = &v->queue_node[x->queue + 1];
        *count += x->wait_count + (x->signal_value ? 1 : 0);
        for (uint32_t c = x->command_begin; c < x->command_begin + x->command_count; c++)
            *count += batch_size(v, &v->p.commands[c]);
    }
    uint32_t next[HD_MAX_QUEUES];
    for (uint32_t q = 0; q < q_count; q++) {
        next[q] = v->queue_at[q] = v->queue_node[q];
        v->queue_node[q + 1] += v->queue_node[q];
    }
    v->node_count = v->queue_node[q_count];
    v->node = HDI_ARENA_ARRAY(&v->arena, hdi_vnode, v->node_count);
    if (!v->node)
        return HD_OUT_OF_MEMORY;
    for (uint32_t s = 0; s < v->p.submit_count; s++) {
        const hd_plan_submit *x = &v->p.submits[s];
        uint32_t *n = &next[x->queue];
        for (uint32_t w = x->wait_begin; w < x->wait_begin + x->wait_count; w++) {
            v->wait_node[w] = *n;
            fill_semaphore(v, (*n)++, s, HV_WAIT, v->p.waits[w].stages);
        }
        end_spread(v, *n - x->wait_count, x->wait_count, *n);
        for (uint32_t c = x->command_begin; c < x->command_begin + x->command_count; c++) {
            const hd_plan_command *command = &v->p.commands[c];
            if (command->kind == HD_COMMAND_PASS) {
                v->pass_next[command->index] = *n;
                continue;
            }
            if (command->kind == HD_COMMAND_WAIT) { /* structure left its SET here */
                v->command_node[c] = v->command_node[v->command_node[c]];
                end_spread(v, v->command_node[c], v->p.batches[command->index].barrier_count, *n);
                continue;
            }
            v->command_node[c] = *n;
            for (uint32_t i = 0; i < batch_size(v, command); i++)
                fill_barrier(v, (*n)++, s, c, v->p.batches[command->index].barrier_begin + i);
            if (command->kind == HD_COMMAND_BARRIER)
                end_spread(v, v->command_node[c], batch_size(v, command), *n);
        }
        v->submit_signal[s] = x->signal_value ? *n : HDI_NONE;
        if (x->signal_value)
            fill_semaphore(v, (*n)++, s, HV_SIGNAL, x->signal_stages);
    }
    return HD_OK;
}

static void split(uint64_t *same, uint64_t mask, uint64_t *last)
{
    if (mask == *last)
        return;
    *last = mask;
    for (int i = 0; i < 64; i++)
        same[i] &= mask >> i & 1 ? mask : ~mask;
}

static uint64_t access_stages(const hdi_verify *v, uint32_t a)
{
    return hdi_verify_expand(v->d.access[a].stages);
}

/* Stages that every mask of the plan treats alike share a row. */
static void merge_stages(hdi_verify *v)
{
    uint64_t same[64], last = 0, all = 0;
    for (int i = 0; i < 64; i++)
        same[i] = ~UINT64_C(0);
    for (uint32_t n = 0; n < v->node_count; n++) {
        const hdi_vnode *x = &v->node[n];
        split(same, x->src_near, &last);
        split(same, x->src_far, &last);
        split(same, x->dst_near, &last);
        split(same, x->dst_far, &last);
        all |= x->src_far | x->dst_far;
    }
    for (uint32_t a = 0; a < v->d.access_count; a++) {
        split(same, access_stages(v, a), &last);
        all |= access_stages(v, a);
        for (uint64_t bits = v->d.access[a].access; bits; bits &= bits - 1)
            split(same, hdi_verify_access_stages(bits & -bits), &last);
    }
    for (uint32_t i = 0; i < 64; i++) {
        uint64_t group = same[i] & all;
        if (!(all >> i & 1) || (uint32_t)__builtin_ctzll(group) != i)
            continue;
        v->rep |= HV_STAGE(i);
        v->stage_slot[i] = (uint8_t)v->slots++;
    }
}

static uint32_t find_kind(hdi_verify *v, uint64_t stage, uint64_t bit)
{
    for (uint32_t k = 0; k < v->kinds; k++)
        if (v->kind_stage[k] == stage && v->kind_bit[k] == bit)
            return k;
    v->kind_stage[v->kinds] = stage;
    v->kind_bit[v->kinds] = bit;
    return v->kinds++;
}

static bool is_write_bit(uint64_t bit)
{
    return hdi_verify_access_meets(UINT64_C(0x10000), bit);
}

static hd_result make_kinds(hdi_verify *v)
{
    uint32_t total = 0, at = 0;
    for (uint32_t a = 0; a < v->d.access_count; a++)
        total += (uint32_t)(__builtin_popcountll(access_stages(v, a) & v->rep) *
                            __builtin_popcountll(v->d.access[a].access));
    v->use_stage = HDI_ARENA_ZEROED(&v->arena, uint64_t, v->d.access_count);
    v->kind_begin = HDI_ARENA_ZEROED(&v->arena, uint32_t, (size_t)v->d.access_count + 1);
    v->access_kind = HDI_ARENA_ARRAY(&v->arena, uint32_t, total);
    v->kind_stage = HDI_ARENA_ARRAY(&v->arena, uint64_t, total);
    v->kind_bit = HDI_ARENA_ARRAY(&v->arena, uint64_t, total);
    if (v->arena.failed)
        return HD_OUT_OF_MEMORY;
    for (uint32_t a = 0; a < v->d.access_count; a++) {
        const hdi_access_info *info = &v->d.access[a];
        v->use_stage[a] = access_stages(v, a) & v->rep;
        for (uint64_t stages = v->use_stage[a]; stages; stages &= stages - 1)
            for (uint64_t bits = info->access; bits; bits &= bits - 1) {
                uint64_t stage = stages & -stages, bit = bits & -bits;
                /* an overwrite's read bit (depth tests after a clear) has nothing to see */
                if ((hdi_verify_access_stages(bit) & stage) && (is_write_bit(bit) ? info->writes : info->reads))
                    v->access_kind[at++] = find_kind(v, stage, bit);
            }
        v->kind_begin[a + 1] = at;
    }
    return HD_OK;
}

/* Waits by the signal that they wait for. */
static hd_result list_waits(hdi_verify *v)
{
    v->signal_wait = HDI_ARENA_ARRAY(&v->arena, uint32_t, v->p.submit_count);
    v->next_wait = HDI_ARENA_ARRAY(&v->arena, uint32_t, v->p.wait_count);
    if (v->arena.failed)
        return HD_OUT_OF_MEMORY;
    for (uint32_t s = 0; s < v->p.submit_count; s++)
        v->signal_wait[s] = HDI_NONE;
    for (uint32_t w = v->p.wait_count; w-- > 0;) {
        if (v->wait_node[w] == HDI_NONE)
            continue;
        v->next_wait[w] = v->signal_wait[v->wait_signal[w]];
        v->signal_wait[v->wait_signal[w]] = w;
    }
    return HD_OK;
}

static bool leads_to_host(const hdi_vnode *x)
{
    return x->kind == HV_BARRIER && x->resource == HDI_NONE && (x->dst_near & HV_STAGE(HV_HOST)) &&
           hdi_verify_access_meets(x->dst_access, HV_HOST_READ);
}

static hd_result make_rows(hdi_verify *v)
{
    uint32_t queues = v->p.queue_count;
    v->kind_column = HDI_ARENA_ARRAY(&v->arena, uint32_t, v->kinds);
    if (!v->kind_column)
        return HD_OUT_OF_MEMORY;
    v->columns = v->slots;
    for (uint32_t k = 0; k < v->kinds; k++)
        v->kind_column[k] = hdi_verify_write_bit(v->kind_bit[k]) ? v->columns++ : HDI_NONE;
    v->row_words = queues * v->columns;
    size_t words = v->row_words;
    v->pred = HDI_ARENA_ZEROED(&v->arena, uint32_t, v->node_count * words);
    v->reach = HDI_ARENA_ZEROED(&v->arena, uint32_t, queues * v->slots * words);
    v->seen = HDI_ARENA_ZEROED(&v->arena, uint32_t, queues * v->kinds * words);
    v->row = HDI_ARENA_ARRAY(&v->arena, uint32_t, words);
    v->to_host = HDI_ARENA_ARRAY(&v->arena, uint32_t, v->node_count);
    v->host_at = HDI_ARENA_ARRAY(&v->arena, uint32_t, (size_t)queues * queues);
    for (uint32_t q = 0; q < queues; q++) {
        if (v->p.queues[q].kind != HD_QUEUE_HOST)
            continue;
        v->host_shown[q] = HDI_ARENA_ZEROED(&v->arena, uint64_t, hdi_bit_words(v->node_count));
        v->host_row[q] = HDI_ARENA_ZEROED(&v->arena, uint32_t, words);
    }
    if (v->arena.failed)
        return HD_OUT_OF_MEMORY;
    for (uint32_t q = 0, count = 0; q < queues; q++) {
        for (uint32_t host = 0; host < queues; host++)
            v->host_at[host * queues + q] = count;
        for (uint32_t n = v->queue_node[q]; n < v->queue_node[q + 1]; n++)
            if (leads_to_host(&v->node[n]))
                v->to_host[count++] = n;
        v->to_host_begin[q + 1] = count;
    }
    return HD_OK;
}

/* Nodes on each segment, in the order of the plan on each queue. */
static hd_result list_segment_nodes(hdi_verify *v)
{
    v->seg_node_begin = HDI_ARENA_ZEROED(&v->arena, uint32_t, (size_t)v->seg_count + 2);
    if (!v->seg_node_begin)
        return HD_OUT_OF_MEMORY;
    for (int fill = 0; fill < 2; fill++) {
        for (uint32_t n = 0; n < v->node_count; n++) {
            if (v->node[n].resource == HDI_NONE)
                continue;
            HV_EACH_SEG(hdi_verify_rect(v, v->node[n].resource, &v->p.barriers[v->node[n].barrier].range), s)
            {
                if (fill)
                    v->seg_node[v->seg_node_begin[s + 1]++] = n;
                else
                    v->seg_node_begin[s + 2]++;
            }
        }
        for (uint32_t s = 0; s < v->seg_count && !fill; s++)
            v->seg_node_begin[s + 2] += v->seg_node_begin[s + 1];
        if (!fill)
            v->seg_node = HDI_ARENA_ARRAY(&v->arena, uint32_t, v->seg_node_begin[v->seg_count + 1]);
        if (!v->seg_node)
            return HD_OUT_OF_MEMORY;
    }
    return HD_OK;
}

hd_result hdi_verify_nodes(hdi_verify *v)
{
    hd_result result = number_nodes(v);
    if (result != HD_OK)
        return result;
    merge_stages(v);
    result = make_kinds(v);
    if (result == HD_OK)
        result = list_waits(v);
    if (result == HD_OK)
        result = make_rows(v);
    return result == HD_OK ? list_segment_nodes(v) : result;
}
