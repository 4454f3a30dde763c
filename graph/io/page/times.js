/* Which times are shown: those of the simulation, or measured ones where the page has them; and where all then stands
 * on the axis. */

/* Keeps what the simulation found, so that one can go back to it. */
function keepSimulated(m) {
    m.simulated = { duration: m.duration, critical: m.critical };
    m.passes.forEach((p) => (p.simulated = [p.begin, p.end]));
    m.submits.forEach((s) => (s.simulated = [s.begin, s.end]));
}

function showSimulated(m) {
    Object.assign(m, m.simulated);
    m.passes.forEach((p) => ([p.begin, p.end] = p.simulated));
    m.submits.forEach((s) => ([s.begin, s.end] = s.simulated));
    standCulled(m);
}

/* Spans begin where the commands of a pass could begin at the earliest, so they may overlap on a queue: there each
 * begins where the one before it ended. A pass without a span takes no time. */
function showMeasured(m) {
    const first = d3.min(m.spans, (span) => span.begin), measured = new Map(m.spans.map((span) => [span.pass, span]));
    const free = m.queues.map(() => 0), last = m.queues.map(() => null);
    for (const s of m.submits) {
        s.behind = last[s.queue];
        for (const wait of s.waits) {
            if (wait.source && (!s.behind || wait.source.end > s.behind.end))
                s.behind = wait.source;
        }
        s.passes.forEach((p) => {
            const span = measured.get(p.id);
            p.begin = Math.max(free[s.queue], span ? span.begin - first : 0);
            p.end = free[s.queue] = Math.max(p.begin, span ? span.end - first : 0);
        });
        s.begin = s.passes.length ? s.passes[0].begin : free[s.queue];
        s.end = free[s.queue];
        last[s.queue] = s;
    }
    m.duration = d3.max(m.submits, (s) => s.end) || 0;
    m.critical = new Set();
    for (let s = last.reduce((a, b) => (b && (!a || b.end > a.end) ? b : a), null); s; s = s.behind)
        s.passes.forEach((p) => m.critical.add(p));
    standCulled(m);
}

/* ---- where things stand on the axis ---- */

/* By time, or by order: a column a pass, by begin. Sets a0 and a1 of passes, submits and batches, and of resources from
 * their first to their last use. The axis is at least so long. */
function layOut(m, byOrder, least) {
    const all = m.passes.slice().sort((a, b) => a.begin - b.begin || a.slot - b.slot || a.id - b.id);
    all.forEach((p, rank) => {
        p.a0 = byOrder ? rank : p.begin;
        p.a1 = byOrder ? rank + 1 : p.end;
    });
    m.byStart = all;
    m.extent = Math.max(byOrder ? all.length : m.span, least) || 1;
    for (const s of m.submits) {
        s.a0 = s.passes.length ? s.passes[0].a0 : byOrder ? m.extent : s.begin;
        s.a1 = s.passes.length ? s.passes[s.passes.length - 1].a1 : byOrder ? m.extent : s.end;
    }
    for (const b of m.batches)
        b.a0 = b.next ? b.next.a0 : b.prev ? b.prev.a1 : m.submits[b.submit].a0;
    for (const r of m.resources)
        layOutResource(m, r);
}

function layOutResource(m, r) {
    const kept = r.uses.filter((use) => use.pass.slot !== NONE), uses = kept.length ? kept : r.uses;
    const persistent = r.flags & (RES_HISTORY | RES_HAS_HISTORY | RES_EXTERNAL);
    r.u0 = uses.length ? d3.min(uses, (use) => use.pass.a0) : 0;
    r.u1 = uses.length ? d3.max(uses, (use) => use.pass.a1) : 0;
    r.a0 = persistent ? 0 : r.u0;
    r.a1 = persistent ? m.extent : r.u1;
}

/* ---- a second set of times below each lane: of the plan before, or simulated ones beside the measured ---- */

function ghostsOf(m, mode) {
    if (mode === 'order')
        return null;
    if (m.before) {
        return m.queues.map((queue) => {
            const same = m.queues.filter((q) => q.kind === queue.kind), rank = same.indexOf(queue);
            const old = m.before.queues.filter((q) => q.kind === queue.kind)[rank];
            return old ? old.passes.map((p) => ({ key: 'v' + p.id, a0: p.begin, a1: p.end, type: typeOf(p),
                gone: !p.is })) : [];
        });
    }
    if (mode !== 'measured')
        return null;
    const by = m.ghostScale;
    return m.queues.map((queue) => queue.passes.map((p) => ({ key: 'p' + p.id, a0: p.simulated[0] * by,
                                                              a1: p.simulated[1] * by, type: typeOf(p),
                                                                  gone: false })));
}

function showTimes(m, mode) {
    if (mode === 'measured')
        showMeasured(m);
    else if (mode === 'simulated')
        showSimulated(m);
    const ratio = m.duration / m.simulated.duration; /* costs that are far off are drawn to the same length */
    m.ghostScale = mode === 'measured' && isFinite(ratio) && (ratio > 3 || ratio < 1 / 3) ? ratio : 1;
    m.ghosts = ghostsOf(m, mode);
    layOut(m, mode === 'order', (m.ghosts && d3.max(m.ghosts.flat(), (ghost) => ghost.a1)) || 0);
    if (m.before) {
        layOut(m.before, false, 0);
        usageSteps(m.before);
    }
    for (const queue of m.queues)
        queue.busy = d3.sum(queue.passes, (p) => p.end - p.begin);
    usageSteps(m);
}
