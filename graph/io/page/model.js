/* The plan as objects that know one another, and the times at which its passes run. */

const NONE = -1;
const PASS_ROOT = 1, PASS_OWN_RENDERING = 2;
const RES_BUFFER = 1, RES_HISTORY = 2, RES_EXTERNAL = 4, RES_HAS_HISTORY = 8, RES_HOST = 16;
const COMMAND_PASS = 0, COMMAND_BARRIER = 1, COMMAND_SET = 2, COMMAND_WAIT = 3;
const HEAP_HOST = 1, HEAP_PERSISTENT = 2;
const ATTACHMENT_COLOR = 1, ATTACHMENT_DEPTH = 2, ATTACHMENT_RESOLVE = 3;
const TYPE_NAMES = ['graphics', 'compute', 'transfer', 'host'];

/* Rows of numbers to objects, by the names of their columns. */
function readTable(table) {
    const columns = table.columns.split(',');
    return table.rows.map((row, id) => {
        const object = { id };
        for (let c = 0; c < columns.length; c++)
            object[columns[c]] = row[c];
        return object;
    });
}

function whyOf(list, row) {
    return { list, code: row.code, pass: row.pass, otherPass: row.other_pass, res: row.resource,
             otherRes: row.other_resource };
}

/* A word for what a use does: what the grid writes into its cells. */
function useKind(use) {
    if (use.access.attachment === ATTACHMENT_RESOLVE)
        return 'resolve';
    if (use.reads && use.writes)
        return 'both';
    if (use.writes)
        return use.access.attachment && use.load === 1 ? 'clear' : 'write';
    return 'read';
}

function readDeclaration(raw, m) {
    const access = readTable(raw.access), ranges = readTable(raw.ranges);
    m.resources = readTable(raw.resources);
    for (const r of m.resources) {
        r.buffer = (r.flags & RES_BUFFER) !== 0;
        r.label = (r.name || (r.buffer ? 'buffer ' : 'image ') + r.id) + (r.flags & RES_HISTORY ? ' (last frame)' : '');
        r.uses = [];
        r.barriers = [];
        r.placed = null;
    }
    m.uses = readTable(raw.uses);
    m.passes = readTable(raw.passes);
    m.passes.forEach((p, i) => {
        p.label = p.name || 'pass ' + p.id;
        p.uses = m.uses.slice(p.use_begin, i + 1 < m.passes.length ? m.passes[i + 1].use_begin : m.uses.length);
        p.queue = p.submit = p.command = p.slot = NONE;
        p.culled = p.scope = p.batch = null;
        for (const use of p.uses) {
            use.pass = p;
            use.res = m.resources[use.res];
            use.access = access[use.access];
            use.range = use.range === NONE ? null : ranges[use.range];
            use.reads = use.access.reads === 1;
            use.writes = use.access.writes === 1;
            use.kind = useKind(use);
        }
    });
}

function readMemory(raw, m) {
    m.heaps = readTable(raw.heaps);
    for (const heap of m.heaps)
        heap.tenants = [];
    for (const row of readTable(raw.placed)) {
        const res = m.resources[row.id];
        row.why = whyOf('placing', row);
        if (!res)
            continue;
        res.placed = row;
        if (row.heap !== NONE && m.heaps[row.heap])
            m.heaps[row.heap].tenants.push(res);
    }
    for (const heap of m.heaps)
        heap.tenants.sort((a, b) => a.placed.offset - b.placed.offset || a.id - b.id);
}

/* Batches stand before the pass that follows them on their queue. */
function readCommands(raw, m) {
    const waits = readTable(raw.waits), ends = readTable(raw.submit_ends), batches = readTable(raw.batches);
    m.barriers = readTable(raw.barriers);
    m.batches = [];
    m.commands = readTable(raw.commands);
    m.submits = readTable(raw.submits);
    m.order = [];
    const lastPass = m.queues.map(() => null);
    for (const s of m.submits) {
        s.why = whyOf('cut', s);
        s.ends = whyOf('cut', ends[s.id]);
        s.waits = waits.slice(s.wait_begin, s.wait_begin + s.wait_count);
        s.passes = [];
        s.batches = [];
        s.waits.forEach((wait) => {
            wait.submit = s;
            wait.why = whyOf('reason', wait);
        });
        let open = [];
        for (let c = s.command_begin; c < s.command_begin + s.command_count; c++) {
            const command = m.commands[c];
            if (command.kind === COMMAND_PASS) {
                const p = m.passes[command.index];
                if (p.slot !== NONE)
                    continue;
                Object.assign(p, { queue: s.queue, submit: s.id, command: c, slot: m.order.length, before: open });
                for (const batch of open)
                    batch.next = p;
                open = [];
                lastPass[s.queue] = p;
                s.passes.push(p);
                m.order.push(p);
                continue;
            }
            const of = batches[command.index];
            const batch = { id: m.batches.length, command: c, kind: command.kind, event: command.event, queue: s.queue,
                            submit: s.id, prev: lastPass[s.queue], next: null,
                            barriers: m.barriers.slice(of.barrier_begin, of.barrier_begin + of.barrier_count) };
            for (const barrier of batch.barriers) {
                barrier.batch = batch;
                barrier.why = whyOf('reason', barrier);
            }
            command.batch = batch;
            open.push(batch);
            s.batches.push(batch);
            m.batches.push(batch);
        }
    }
    for (const b of m.barriers) {
        const res = m.resources[b.res] || (b.why && m.resources[b.why.res]);
        if (res && b.batch)
            res.barriers.push(b);
    }
}

function readScopes(raw, m) {
    const attachments = readTable(raw.attachments);
    m.scopes = readTable(raw.scopes);
    for (const scope of m.scopes) {
        scope.passes = [];
        for (let c = scope.command_begin; c < scope.command_begin + scope.command_count; c++) {
            const p = m.commands[c] && m.commands[c].kind === COMMAND_PASS ? m.passes[m.commands[c].index] : null;
            if (p) {
                p.scope = scope;
                scope.passes.push(p);
            }
        }
        scope.attachments = attachments.slice(scope.attachment_begin, scope.attachment_begin + scope.attachment_count);
    }
}

/* The submit that a wait waits for: the first on that queue whose signal is not smaller. */
function linkWaits(m) {
    const signals = m.queues.map(() => []);
    for (const s of m.submits) {
        if (s.signal_value)
            signals[s.queue].push(s);
    }
    for (const s of m.submits) {
        for (const wait of s.waits) {
            const list = signals[wait.queue] || [];
            const at = d3.bisector((x) => x.signal_value).left(list, wait.value);
            wait.source = list[at] || null;
        }
    }
}

/* Passes one after another on their queues, submits not before what they wait for: as hd_plan_stats_get plays them.
 * Each submit knows what it started behind: a submit that it waits for, or the one before on its queue. */
function simulate(m) {
    const last = m.queues.map(() => null);
    for (const s of m.submits) {
        let now = last[s.queue] ? last[s.queue].end : 0;
        s.behind = last[s.queue];
        for (const wait of s.waits) {
            if (wait.source && wait.source.end > now) {
                now = wait.source.end;
                s.behind = wait.source;
            }
        }
        s.begin = now;
        for (const p of s.passes) {
            p.begin = now;
            now = p.end = now + p.cost;
        }
        s.end = now;
        last[s.queue] = s;
    }
    let end = null;
    for (const s of m.submits)
        end = !end || s.end > end.end ? s : end;
    m.duration = end ? end.end : 0;
    m.critical = new Set();
    for (let s = end; s; s = s.behind)
        s.passes.forEach((p) => m.critical.add(p));
}

function readCulled(m, raw) {
    m.culled = [];
    for (const row of readTable(raw.culled)) {
        const p = m.passes[row.id];
        if (!p)
            continue;
        p.culled = whyOf('cull', row);
        m.culled.push(p);
    }
    m.passes.forEach((p) => (p.before = p.before || []));
}

/* Culled passes have no time: they stand behind the pass declared before them, in a lane of their own. */
function standCulled(m) {
    let kept = 0, free = 0;
    for (const p of m.passes) {
        if (p.slot !== NONE) {
            kept = p.end;
        } else {
            p.begin = Math.max(kept, free);
            p.end = free = p.begin + p.cost;
        }
    }
    m.span = Math.max(m.duration, free);
}

function collectUses(m) {
    for (const p of m.order)
        p.uses.forEach((use) => use.res.uses.push(use));
    for (const p of m.passes) {
        if (p.slot === NONE)
            p.uses.forEach((use) => use.res.uses.push(use));
    }
}

function readPlan(raw) {
    const m = { name: raw.name, hash: raw.hash, stats: raw.stats, words: raw.words, queues: readTable(raw.queues) };
    m.queues.forEach((q) => {
        q.label = TYPE_NAMES[q.kind] + (m.queues.filter((o) => o.kind === q.kind).length > 1 ? ' ' + q.id : '');
    });
    readDeclaration(raw, m);
    readMemory(raw, m);
    readCommands(raw, m);
    readScopes(raw, m);
    linkWaits(m);
    simulate(m);
    readCulled(m, raw);
    standCulled(m);
    keepSimulated(m);
    collectUses(m);
    m.queues.forEach((q) => (q.passes = m.order.filter((p) => p.queue === q.id)));
    m.heapBytes = d3.sum(m.heaps, (heap) => heap.bytes);
    readPictures(raw, m);
    m.spans = raw.spans ? readTable(raw.spans) : null;
    m.before = raw.before ? readPlan(raw.before) : null;
    if (m.before)
        compare(m);
    return m;
}
