/* What is connected with what: producers and consumers, resources that had the same bytes before and after, passes that
 * run side by side. All is worked out for one thing at a time, when it is selected. */

function rangesEqual(a, b) {
    const x = a.range, y = b.range;
    return x === y || (x && y && x.first === y.first && x.count === y.count && x.layer === y.layer &&
                       x.layers === y.layers && x.aspect === y.aspect);
}

/* Two uses of one resource touch the same bytes or texels. */
function meet(a, b) {
    const x = a.range, y = b.range;
    if (!x || !y)
        return true;
    if (x.first >= y.first + y.count || y.first >= x.first + x.count)
        return false;
    if (a.res.buffer)
        return true;
    return x.layer < y.layer + y.layers && y.layer < x.layer + x.layers &&
           (!x.aspect || !y.aspect || (x.aspect & y.aspect) !== 0);
}

function covers(a, b) {
    return !a.range || rangesEqual(a, b);
}

/* Uses of a resource in the order in which the plan runs them; among culled passes in order of declaration. */
function usesAround(use) {
    const culled = use.pass.slot === NONE;
    const list = culled ? use.res.uses.slice().sort((a, b) => a.pass.id - b.pass.id) : use.res.uses;
    return { list, at: list.indexOf(use), culled };
}

function producersOf(use) {
    const { list, at, culled } = usesAround(use);
    const found = [];
    for (let i = at - 1; use.reads && i >= 0; i--) {
        const other = list[i];
        if (other.pass === use.pass || !other.writes || !meet(use, other) || (!culled && other.pass.slot === NONE))
            continue;
        found.push(other);
        if (covers(other, use) && !other.reads)
            break;
    }
    return found;
}

function consumersOf(use) {
    const { list, at, culled } = usesAround(use);
    const found = [];
    for (let i = at + 1; use.writes && i < list.length; i++) {
        const other = list[i];
        if (other.pass === use.pass || !meet(use, other) || (!culled && other.pass.slot === NONE))
            continue;
        if (other.reads)
            found.push(other);
        if (other.writes && covers(other, use))
            break;
    }
    return found;
}

function addTo(map, key, value) {
    if (!map.has(key))
        map.set(key, []);
    map.get(key).push(value);
}

/* Passes that a pass reads from and that read from it, each with the resources between. */
function neighboursOf(pass) {
    const from = new Map(), to = new Map();
    for (const use of pass.uses) {
        producersOf(use).forEach((other) => addTo(from, other.pass, use.res));
        consumersOf(use).forEach((other) => addTo(to, other.pass, use.res));
    }
    return { from, to };
}

/* Passes of other queues that run while this one does. */
function besideOf(m, pass) {
    if (pass.slot === NONE)
        return [];
    const found = [];
    for (const queue of m.queues) {
        if (queue.id === pass.queue)
            continue;
        for (const other of queue.passes) {
            if (other.begin < pass.end && other.end > pass.begin)
                found.push(other);
        }
    }
    return found;
}

/* Resources that lie in some of the same bytes, before and after in time. */
function tenantsOf(m, res) {
    const place = res.placed, heap = place && m.heaps[place.heap];
    const before = [], after = [];
    for (const other of heap ? heap.tenants : []) {
        const there = other.placed;
        if (other === res || there.offset >= place.offset + place.bytes || place.offset >= there.offset + there.bytes)
            continue;
        (firstSlot(other) < firstSlot(res) ? before : after).push(other);
    }
    before.sort((a, b) => firstSlot(b) - firstSlot(a));
    after.sort((a, b) => firstSlot(a) - firstSlot(b));
    return { before, after };
}

function firstSlot(res) {
    return res.uses.length && res.uses[0].pass.slot !== NONE ? res.uses[0].pass.slot : Infinity;
}

/* ---- what lights up ---- */

/* Roles: self; from: comes before it, as a producer or a former tenant; to: comes after; with: is used by it. */
function litBy(m, key) {
    const lit = { passes: new Map(), resources: new Map(), batches: new Set(), submits: new Set() };
    const item = itemOf(m, key);
    if (!item)
        return null;
    lightKinds[key[0]](m, item, lit);
    return lit;
}

const lightKinds = {
    p(m, pass, lit) {
        const { from, to } = neighboursOf(pass);
        from.forEach((list, other) => lit.passes.set(other.id, 'from'));
        to.forEach((list, other) => lit.passes.set(other.id, 'to'));
        lit.passes.set(pass.id, 'self');
        for (const use of pass.uses)
            lit.resources.set(use.res.id, use.writes ? 'to' : 'from');
        for (const batch of m.batches) {
            if (batch.next === pass || batch.barriers.some((b) => b.why.pass === pass.id))
                lit.batches.add(batch.id);
        }
        if (pass.submit !== NONE)
            lit.submits.add(pass.submit);
    },
    r(m, res, lit) {
        for (const use of res.uses)
            lit.passes.set(use.pass.id, use.writes ? 'from' : 'to');
        const { before, after } = tenantsOf(m, res);
        before.forEach((other) => lit.resources.set(other.id, 'from'));
        after.forEach((other) => lit.resources.set(other.id, 'to'));
        lit.resources.set(res.id, 'self');
        res.barriers.forEach((b) => lit.batches.add(b.batch.id));
    },
    b(m, batch, lit) {
        for (const b of batch.barriers) {
            if (b.why.otherPass !== NONE)
                lit.passes.set(b.why.otherPass, 'from');
            if (b.why.res !== NONE)
                lit.resources.set(b.why.res, 'with');
            if (b.why.otherRes !== NONE)
                lit.resources.set(b.why.otherRes, 'from');
        }
        for (const b of batch.barriers) {
            if (b.why.pass !== NONE)
                lit.passes.set(b.why.pass, 'to');
        }
        lit.batches.add(batch.id);
    },
    s(m, submit, lit) {
        for (const wait of submit.waits) {
            if (wait.source) {
                lit.submits.add(wait.source.id);
                wait.source.passes.forEach((p) => lit.passes.set(p.id, 'from'));
            }
        }
        submit.passes.forEach((p) => lit.passes.set(p.id, 'self'));
        submit.batches.forEach((b) => lit.batches.add(b.id));
        lit.submits.add(submit.id);
    },
    v(m, pass, lit) {
        if (pass.is)
            lit.passes.set(pass.is.id, 'self');
    },
    h(m, heap, lit) {
        heap.tenants.forEach((res) => lit.resources.set(res.id, 'with'));
    },
};

/* ---- keys: p pass, r resource, b batch, s submit, h heap, v pass of the plan before ---- */

function itemOf(m, key) {
    const lists = { p: m.passes, r: m.resources, b: m.batches, s: m.submits, h: m.heaps,
                    v: m.before && m.before.passes };
    return (key && lists[key[0]] && lists[key[0]][Number(key.slice(1))]) || null;
}

function labelOf(m, key) {
    const item = itemOf(m, key);
    if (!item)
        return '';
    const words = { b: 'barrier batch ', s: 'submit ', h: 'heap ' };
    return words[key[0]] ? words[key[0]] + item.id : item.label;
}
