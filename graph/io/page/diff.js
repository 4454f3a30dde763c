/* Two plans: which pass and resource of the one is which of the other, and what differs. */

/* Those of one name belong together in their order. What has no name: at both ends of the list as long as the signs
 * agree, between them those of one sign in their order. */
function matchItems(before, now, signOf) {
    const pair = (a, b) => {
        a.is = b;
        b.was = a;
    };
    const left = (list, other) => list.filter((item) => !item[other]);
    const byKey = (key) => {
        const waiting = new Map();
        left(before, 'is').forEach((item) => key(item) !== null && addTo(waiting, key(item), item));
        left(now, 'was').forEach((item) => {
            const list = key(item) !== null ? waiting.get(key(item)) : null;
            if (list && list.length)
                pair(list.shift(), item);
        });
    };
    byKey((item) => item.name || null);
    const a = before.filter((item) => !item.name), b = now.filter((item) => !item.name);
    let first = 0, last = 0;
    const least = Math.min(a.length, b.length);
    while (first < least && signOf(a[first]) === signOf(b[first]))
        first++;
    while (last < least - first && signOf(a[a.length - 1 - last]) === signOf(b[b.length - 1 - last]))
        last++;
    for (let i = 0; i < first; i++)
        pair(a[i], b[i]);
    for (let i = 1; i <= last; i++)
        pair(a[a.length - i], b[b.length - i]);
    byKey((item) => (item.name ? null : signOf(item)));
}

/* Of a sequence of numbers those that are not on a longest ascending part: what moved. */
function outOfOrder(numbers) {
    const ends = [], before = numbers.map(() => -1);
    numbers.forEach((value, i) => {
        const at = d3.bisector((j) => numbers[j]).left(ends, value);
        before[i] = at ? ends[at - 1] : -1;
        ends[at] = i;
    });
    const kept = new Set();
    for (let i = ends.length ? ends[ends.length - 1] : -1; i >= 0; i = before[i])
        kept.add(i);
    return numbers.map((value, i) => i).filter((i) => !kept.has(i));
}

function passSign(pass) {
    return pass.type + ':' + pass.uses.map((use) => use.access.name).join();
}

function resourceSign(res) {
    return [res.flags, res.width, res.height, res.format, res.buffer ? res.bytes : 0].join();
}

/* What a barrier is for, in names that both plans share. */
function barrierSign(barrier, passes, resources, partner) {
    const index = (list, at) => (list[at] ? (list[at][partner] || { id: 'x' + at }).id : '');
    const own = (list, at) => (list[at] ? (partner ? index(list, at) : at) : '');
    return [barrier.why.code, own(passes, barrier.why.pass), own(passes, barrier.why.otherPass),
            own(resources, barrier.why.res)].join();
}

function barrierChanges(m) {
    const count = new Map(), old = m.before, appeared = [];
    for (const b of old.barriers)
        b.why && addTo(count, barrierSign(b, old.passes, old.resources, null), b);
    for (const b of m.barriers) {
        const list = b.why ? count.get(barrierSign(b, m.passes, m.resources, 'was')) : null;
        if (list && list.length)
            list.shift();
        else if (b.why)
            appeared.push(b);
    }
    return { appeared, vanished: Array.from(count.values()).flat() };
}

/* How a pass differs: a word, or null. */
function passChange(pass) {
    const was = pass.was;
    if (!was)
        return 'new';
    if (!was.culled !== !pass.culled)
        return pass.culled ? 'culled now' : 'kept now';
    if (!pass.culled && queueKind(pass) !== queueKind(was))
        return 'other queue';
    if (Math.abs(pass.cost - was.cost) > 1e-6)
        return pass.cost > was.cost ? 'dearer' : 'cheaper';
    return pass.moved ? 'moved' : null;
}

function resourceChange(res) {
    const was = res.was;
    if (!was)
        return 'new';
    if (!was.placed !== !res.placed)
        return res.placed ? 'used now' : 'unused now';
    if (!res.placed || res.placed.heap === NONE)
        return null;
    if (res.placed.bytes !== was.placed.bytes)
        return res.placed.bytes > was.placed.bytes ? 'larger' : 'smaller';
    return res.placed.heap !== was.placed.heap || res.placed.offset !== was.placed.offset ? 'lies elsewhere' : null;
}

function queueKind(pass) {
    return pass.slot === NONE ? NONE : pass.model.queues[pass.queue].kind;
}

function compare(m) {
    const old = m.before;
    matchItems(old.passes, m.passes, passSign);
    matchItems(old.resources, m.resources, resourceSign);
    m.passes.forEach((p) => (p.model = m));
    old.passes.forEach((p) => (p.model = old));
    for (const queue of m.queues) {
        const both = queue.passes.filter((p) => p.was && queueKind(p) === queueKind(p.was));
        outOfOrder(both.map((p) => p.was.slot)).forEach((i) => (both[i].moved = true));
    }
    m.passes.forEach((p) => (p.change = passChange(p)));
    m.resources.forEach((r) => (r.change = resourceChange(r)));
    m.gone = { passes: old.passes.filter((p) => !p.is), resources: old.resources.filter((r) => !r.is) };
    m.barrierChanges = barrierChanges(m);
}

/* ---- the panel ---- */

function totals(m) {
    const waits = (plan) => d3.sum(plan.submits, (s) => s.waits.length), number = d3.format(',');
    return [['frame', (p) => p.simulated.duration, timeText],
            ['dependencies alone', (p) => p.stats.critical_path_us, timeText],
            ['passes', (p) => p.order.length, number], ['culled', (p) => p.culled.length, number],
            ['heaps', (p) => p.heapBytes, bytesText], ['without sharing', (p) => p.stats.unaliased_bytes, bytesText],
            ['alive at the peak', (p) => p.stats.peak_live_bytes, bytesText],
            ['barriers', (p) => p.barriers.length, number], ['batches', (p) => p.batches.length, number],
            ['submits', (p) => p.submits.length, number], ['semaphore waits', waits, number]]
        .map(([name, get, text]) => ({ name, before: get(m.before), now: get(m), text }));
}

function deltaText(total) {
    const by = total.now - total.before;
    if (!by)
        return 'same';
    return (by > 0 ? '+' : '−') + total.text(Math.abs(by)) +
           (total.before ? ' (' + (by > 0 ? '+' : '−') + percentText(Math.abs(by) / total.before) + ')' : '');
}

function totalsTable(m) {
    return el('table.totals', null,
        el('thead', null, el('tr', null, ['', 'before', 'now', 'change'].map((name) => el('th', null, name)))),
        el('tbody', null, totals(m).map((t) => el('tr', null, el('th', { scope: 'row' }, t.name),
            el('td', null, t.text(t.before)), el('td', null, t.text(t.now)),
            el('td.' + (t.now > t.before ? 'more-of' : t.now < t.before ? 'less-of' : 'same'), null, deltaText(t))))));
}

function changeLine(key, change, note) {
    return el('div.line', null, ref(key), el('span.muted', null, note || ''), el('span.tag.num', null, change));
}

function passNote(pass) {
    if (pass.change === 'dearer' || pass.change === 'cheaper')
        return timeText(pass.was.cost) + ' → ' + timeText(pass.cost);
    if (pass.change === 'other queue')
        return TYPE_NAMES[queueKind(pass.was)] + ' → ' + TYPE_NAMES[queueKind(pass)];
    return '';
}

function resourceNote(res) {
    return res.change === 'larger' || res.change === 'smaller'
        ? bytesText(res.was.placed.bytes) + ' → ' + bytesText(res.placed.bytes) : '';
}

function changesTab() {
    const m = ui.model, passes = m.passes.filter((p) => p.change), bars = m.barrierChanges;
    const resources = m.resources.filter((r) => r.change && r.change !== 'lies elsewhere');
    const elsewhere = m.resources.filter((r) => r.change === 'lies elsewhere');
    const oldBarrier = (b) => el('div.line', null, el('span.gone', null, whySentence(m.before, b.why)));
    return [
        headline('two plans', m.before.name === m.name ? 'What changed' : m.before.name + ' → ' + m.name),
        totalsTable(m),
        passes.length + m.gone.passes.length + resources.length + m.gone.resources.length + elsewhere.length +
            bars.appeared.length + bars.vanished.length ? null : el('p.muted', null, 'The plans do the same.'),
        block('Passes', shortList(m.gone.passes.map((p) => [p, 'gone']).concat(passes.map((p) => [p, p.change])), 40,
            ([p, change]) => changeLine((change === 'gone' ? 'v' : 'p') + p.id, change,
                                        change === 'gone' ? '' : passNote(p)))),
        block('Resources', shortList(m.gone.resources.map((r) => [r,
            'gone']).concat(resources.map((r) => [r, r.change])), 40,
            ([r, change]) => (change === 'gone' ? el('div.line', null, el('span.gone', null, r.label),
                                                     el('span.tag.num', null, change))
                                                : changeLine('r' + r.id, change, resourceNote(r))))),
        block('Lie elsewhere', shortList(elsewhere, 8, (r) => changeLine('r' + r.id, r.change,
            bytesText(r.was.placed.offset) + ' → ' + bytesText(r.placed.offset)))),
        block('New barriers', shortList(bars.appeared, 20, (b) => [ref('b' + b.batch.id), why(b.why)])),
        block('Barriers that are gone', shortList(bars.vanished, 20, oldBarrier)),
    ];
}

/* A pass of the plan before. */
function formerPassPanel(pass) {
    const old = ui.model.before;
    return [
        headline(TYPE_NAMES[pass.type] + ' pass of the plan before', pass.label, 'pass-' + typeOf(pass)),
        facts([['ran', pass.slot === NONE ? 'not: it was culled' : timeText(pass.begin) + ' – ' + timeText(pass.end)],
               ['took', timeText(pass.cost)], ['on', pass.slot === NONE ? null : old.queues[pass.queue].label],
               ['now', pass.is ? ref('p' + pass.is.id) : 'there is no such pass']]),
        block('Used', pass.uses.map((use) => el('div.use', null, el('span', null, use.res.label),
                                                el('span.muted', null, useText(use))))),
    ];
}
