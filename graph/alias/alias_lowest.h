/* Where a newcomer lies lowest in all buckets of his life. For both packers by buckets: behind their `bucket`, BOTTOM
 * and lowest_in_bucket. No guard: it is read once by each. */

/* In turn, until it is back at the one that moved it last. own: his queues. */
static HDI_INLINE uint32_t lowest_in_buckets(bucket *from, bucket *to, const hdi_newcomer *n, uint32_t queues,
                                             uint32_t own)
{
    uint32_t at = lowest_in_bucket(from, 0, BOTTOM, n, queues, own);
    if (from == to)
        return at;
    for (bucket *b = from + 1; b <= to; b++)
        b->next = 0;
    bucket *b = from + 1, *mover = from;
    do {
        uint32_t before = at;
        at = lowest_in_bucket(b, b->next, at, n, queues, own);
        mover = at == before ? mover : b;
        b = b < to ? b + 1 : from;
    } while (b != mover);
    return at;
}

static HDI_APART uint32_t lowest_on_one(bucket *from, bucket *to, const hdi_newcomer *n, uint32_t queues)
{
    return lowest_in_buckets(from, to, n, queues, 1);
}

static HDI_APART uint32_t lowest_on_two(bucket *from, bucket *to, const hdi_newcomer *n, uint32_t queues)
{
    return lowest_in_buckets(from, to, n, queues, 2);
}

static HDI_APART uint32_t lowest_on_more(bucket *from, bucket *to, const hdi_newcomer *n, uint32_t queues)
{
    return lowest_in_buckets(from, to, n, queues, (uint32_t)__builtin_popcount(n->queues));
}

static HDI_INLINE uint32_t lowest_of(bucket *from, bucket *to, const hdi_newcomer *n, uint32_t queues)
{
    uint32_t others = n->queues & (n->queues - 1);
    return !others                 ? lowest_on_one(from, to, n, queues)
           : others & (others - 1) ? lowest_on_more(from, to, n, queues)
                                   : lowest_on_two(from, to, n, queues);
}
