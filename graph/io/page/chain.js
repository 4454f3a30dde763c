/* What orders two passes: a shortest chain of barriers, signals and waits, by the relation of hd_plan_chains. A node is
 * a barrier, a signal or a wait; it hangs on an earlier one of its queue when the stages that the one releases meet
 * those that the other waits for. Stages are bits of BigInt masks, groups taken apart. */

const HOST_BIT = 14, INTO_BIT = 62, OUT_BIT = 63; /* INTO, OUT: layout transitions wait for and release semaphores */
const bit = (number) => 1n << BigInt(number);
const ofBits = (...numbers) => numbers.reduce((mask, number) => mask | bit(number), 0n);
const GRAPHICS_ORDER = [1, 36, 37, 3, 4, 5, 6, 24, 22, 8, 7, 9, 10];
const GRAPHICS_STAGES = 0x7f8n | ofBits(1, 36, 37) | ((0x7fn << 18n) & ~bit(21));
const GROUP_STAGES = ofBits(0, 13, 2, 12, 15, 16, 38);
const ALL_STAGES = (bit(48) - 1n) & ~(GROUP_STAGES | bit(HOST_BIT));
const GROUPS = [[16, ALL_STAGES], [15, GRAPHICS_STAGES], [12, 0xfn << 32n], [2, ofBits(36, 37)],
                [38, ofBits(3, 4, 5, 6, 19, 20)]];

function expandStages(stages) {
    const mask = BigInt(stages);
    return GROUPS.reduce((all, [group, members]) => (mask & bit(group) ? all | members : all), mask & ~GROUP_STAGES);
}

/* A first scope holds the stages before those it names, too; a second scope those behind. */
function scopeStages(stages, first) {
    const named = BigInt(stages);
    let mask = expandStages(stages), on = false;
    const indirect = mask & bit(1);
    for (const stage of first ? GRAPHICS_ORDER.slice().reverse() : GRAPHICS_ORDER) {
        on = on || (mask & bit(stage)) !== 0n;
        if (on)
            mask |= bit(stage);
    }
    if (first && mask & bit(11))
        mask |= bit(1);
    if (!first && indirect)
        mask |= bit(11);
    return named & bit(first ? 13 : 0) ? mask | ALL_STAGES : mask;
}

function barrierNode(m, barrier, place) {
    const batch = barrier.batch, res = m.resources[barrier.res], family = m.queues[batch.queue].family;
    const node = { kind: 'barrier', item: barrier, queue: batch.queue, submit: batch.submit, gather: place,
        spread: place,
                   src: scopeStages(barrier.src_stages, true), dst: scopeStages(barrier.dst_stages, false),
                       res: barrier.res };
    const moves = res && barrier.src_family !== barrier.dst_family;
    node.changes = Boolean(res && (moves || (!res.buffer && barrier.old_layout !== barrier.new_layout)));
    if (moves && family === barrier.src_family)
        node.dst = 0n;
    else if (moves)
        node.src = 0n;
    if (node.changes) {
        node.src |= bit(INTO_BIT);
        node.dst |= bit(OUT_BIT);
    }
    return node;
}

/* Nodes in the order of the plan; place counts commands, with room before and behind each submit. */
function chainNodes(m) {
    const nodes = [], signals = new Map(), sets = new Map();
    let place = 0;
    for (const submit of m.submits) {
        const host = m.queues[submit.queue].kind === 3;
        place++;
        for (const wait of submit.waits) {
            const all = BigInt(wait.stages) & bit(16);
            nodes.push({ kind: 'wait', item: wait, queue: submit.queue, submit: submit.id, gather: place,
                spread: place, src: 0n,
                         dst: host ? bit(HOST_BIT) : scopeStages(wait.stages, false) | (all ? bit(INTO_BIT) : 0n) });
        }
        for (let c = submit.command_begin; c < submit.command_begin + submit.command_count; c++) {
            const command = m.commands[c];
            command.place = ++place;
            if (command.kind === COMMAND_WAIT)
                (sets.get(command.event) || []).forEach((node) => (node.spread = place));
            if (command.kind === COMMAND_PASS || command.kind === COMMAND_WAIT)
                continue;
            const made = command.batch.barriers.map((barrier) => barrierNode(m, barrier, place));
            if (command.kind === COMMAND_SET)
                sets.set(command.event, made);
            nodes.push(...made);
        }
        place++;
        if (submit.signal_value) {
            const all = BigInt(submit.signal_stages) & bit(16);
            const node = { kind: 'signal', item: submit, queue: submit.queue, submit: submit.id, gather: place,
                spread: place,
                           src: host ? bit(HOST_BIT) : scopeStages(submit.signal_stages, true) |
                                                       (all ? bit(OUT_BIT) | bit(HOST_BIT) : 0n), dst: 0n };
            signals.set(submit, node);
            nodes.push(node);
        }
    }
    nodes.forEach((node) => (node.source = node.kind === 'wait' ? signals.get(node.item.source) : null));
    return nodes;
}

function hangsOn(node, before) {
    if (node.kind === 'wait')
        return node.source === before;
    if (before.kind === 'signal' || before.queue !== node.queue || before.spread >= node.gather)
        return false;
    return (before.dst & node.src) !== 0n || (before.changes && node.changes && before.res === node.res);
}

/* The nodes of a shortest chain between two ends, or null. An end: queue, place, stages, res. Only what stands between
 * the two places can be on it. */
function shortestChain(nodes, first, second) {
    const between = nodes.filter((n) => n.spread >= first.place && n.gather <= second.place);
    const leaves = (n) => n.queue === first.queue && n.kind !== 'wait' && n.gather >= first.place &&
        (first.stages ? (first.stages & ~n.src) === 0n : n.kind === 'signal' || n.res === first.res);
    const arrives = (n) => n.queue === second.queue && n.kind !== 'signal' && n.spread <= second.place &&
        (second.stages ? (second.stages & ~n.dst) === 0n : n.kind === 'wait' || n.res === second.res);
    let left = between.filter((n) => !leaves(n)), edge = between.filter(leaves);
    edge.forEach((n) => (n.from = null));
    while (edge.length) {
        const end = edge.find(arrives);
        if (end) {
            const chain = [];
            for (let n = end; n; n = n.from)
                chain.unshift(n);
            return chain;
        }
        const next = [];
        left = left.filter((n) => {
            n.from = edge.find((before) => hangsOn(n, before)) || null;
            if (n.from)
                next.push(n);
            return !n.from;
        });
        edge = next;
    }
    return null;
}

/* ---- pairs of uses that conflict ---- */

function sharesBytes(a, b) {
    const x = a.res.placed, y = b.res.placed;
    return x && y && x.heap !== NONE && x.heap === y.heap && x.offset < y.offset + y.bytes &&
        y.offset < x.offset + x.bytes;
}

function conflictsOf(a, b) {
    return a.uses.flatMap((x) => b.uses.filter((y) => (x.writes || y.writes) &&
                                               (x.res === y.res ? meet(x, y) : sharesBytes(x, y)))
                                       .map((y) => [x, y]));
}

function endOf(m, pass, uses) {
    return { queue: pass.queue, place: m.commands[pass.command].place, res: uses.length === 1 ? uses[0].res.id : NONE,
             stages: uses.reduce((mask, use) => mask | expandStages(use.access.stages), 0n) };
}

/* Chains for a pair of uses: one for all their stages where there is one, else one for each pair of stages. */
function chainsOf(nodes, first, second) {
    const whole = shortestChain(nodes, first, second);
    if (whole)
        return [whole];
    const each = (stages) => bitNames([], stages).map((text) => bit(Number(text.slice(4))));
    return each(first.stages).flatMap((x) => each(second.stages).map(
        (y) => shortestChain(nodes, { ...first, stages: x }, { ...second, stages: y })));
}

/* All that orders two passes: for each pair of uses that conflict (or for the two as a whole) its chains, null where
 * there is none. how: culled, host, scope (rasterization order) or links. */
function orderOf(m, one, other) {
    if (one.slot === NONE || other.slot === NONE)
        return { how: 'culled', parts: [] };
    const [a, b] = one.slot < other.slot ? [one, other] : [other, one];
    const pairs = conflictsOf(a, b), parts = pairs.length ? pairs : [null];
    const host = a.queue === b.queue && m.queues[a.queue].kind === 3;
    const nodes = m.chainNodes || (m.chainNodes = chainNodes(m));
    return { how: host ? 'host' : 'links', a, b, parts: parts.map((uses) => {
        if (host)
            return { uses, chains: [[]], host };
        if (uses && a.scope && a.scope === b.scope && uses[0].res === uses[1].res && uses[0].access.attachment &&
            uses[1].access.attachment)
            return { uses, chains: [[]], scope: true };
        const ends = [endOf(m, a, uses ? [uses[0]] : a.uses), endOf(m, b, uses ? [uses[1]] : b.uses)];
        if (!uses && !(ends[0].stages && ends[1].stages))
            return { uses, chains: [null] };
        return { uses, chains: chainsOf(nodes, ends[0], ends[1]) };
    }) };
}

/* As hd_plan_chains counts: links with both passes, 0 where there are none. */
function chainLengths(a, b) {
    const m = ui.model, order = orderOf(m, m.passes[a], m.passes[b]);
    return order.parts.flatMap((part) => part.chains.map((chain) => (chain && chain.length ? chain.length + 2 : 0)));
}

function chainBlocks(one, other) {
    const order = orderOf(ui.model, one, other), { a, b, parts } = order;
    if (order.how === 'culled')
        return el('div.notice', null, 'One of them is culled: it does not run.');
    if (order.how === 'host')
        return el('p.why', null, 'Both are host passes: one thread runs them one after another.');
    return [parts[0].uses ? null : el('p.why', null, 'Nothing that they use conflicts.'),
            parts.slice(0, 12).map((part) => part.chains.slice(0, part.uses ? 12 : 1).map(
                (chain) => chainBlock(a, b, part.uses, part.scope ? 'scope' : chain)))];
}

function chainBlock(a, b, uses, chain) {
    const title = !uses ? null : el('div.barrier-head', null, ref('r' + uses[0].res.id),
        el('span.muted', null, KIND_WORDS[uses[0].kind] + ', then ' + KIND_WORDS[uses[1].kind]),
        uses[1].res === uses[0].res ? null : ['in bytes of ', ref('r' + uses[1].res.id)]);
    const links = chain === 'scope' ? el('p.why', null, 'Attachments of one rendering scope: rasterization order.')
        : !chain ? el('p.why', null, uses ? 'No chain orders these uses.' : 'They may run at the same time.')
        : el('ol.chain', null, el('li', null, ref('p' + a.id)), chain.map((node) => el('li', null, linkOf(node))),
             el('li', null, ref('p' + b.id)));
    return el('article.barrier', null, title, links);
}

function linkOf(node) {
    if (node.kind === 'barrier')
        return [ref('b' + node.item.batch.id, 'barrier'),
                el('span.muted', null, ' ' + whyWord(ui.model, node.item.why)),
                el('div.small', null, fromTo(codes(STAGE_NAMES, node.item.src_stages),
                                             codes(STAGE_NAMES, node.item.dst_stages)))];
    const signal = node.kind === 'signal';
    return [ref('s' + node.submit, 'submit ' + node.submit), el('span.muted', null, signal
        ? ' signals ' + node.item.signal_value : ' waits for ' + node.item.value),
            el('div.small', null, codes(STAGE_NAMES, signal ? node.item.signal_stages : node.item.stages))];
}
