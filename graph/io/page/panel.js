/* The panel on the right: the frame at a glance, or all about what is selected. */

/* el('div.name', {attributes}, children...): an element; strings become text. */
function el(what, attributes, ...children) {
    const [tag, ...classes] = what.split('.');
    const element = document.createElement(tag || 'div');
    if (classes.length)
        element.className = classes.join(' ');
    for (const [name, value] of Object.entries(attributes || {})) {
        if (name === 'onclick')
            element.addEventListener('click', value);
        else if (value !== null && value !== undefined && value !== false)
            element.setAttribute(name, value === true ? '' : value);
    }
    children.flat(Infinity).forEach((child) => {
        if (child !== null && child !== undefined && child !== false)
            element.append(child);
    });
    return element;
}

/* A button that selects what it names. */
function ref(key, text) {
    const item = itemOf(ui.model, key);
    const label = text || labelOf(ui.model, key), cut = cutLabel(label, 64);
    return el('button.ref.' + refClass(key, item), { 'data-key': key, title: cut === label ? null : label }, cut);
}

function refClass(key, item) {
    return (key[0] === 'p' || key[0] === 'v') && item ? 'pass-' + typeOf(item) : key[0] === 'r' ? 'resource' : 'part';
}

function fromPieces(pieces) {
    return el('span', null, pieces.map((piece) => (piece.key ? ref(piece.key, piece.text) : piece.text)));
}

function why(reason) {
    const pieces = whyPieces(ui.model, reason);
    if (pieces.length && !pieces[0].key)
        pieces[0].text = pieces[0].text[0].toUpperCase() + pieces[0].text.slice(1);
    return el('p.why', null, fromPieces(pieces));
}

function facts(rows) {
    return el('dl.facts', null, rows.filter((row) => row && row[1] !== null && row[1] !== '' && row[1] !== undefined)
                                    .map(([name, value]) => [el('dt', null, name), el('dd', null, value)]));
}

function block(title, ...children) {
    const inside = children.flat(Infinity).filter((child) => child);
    return inside.length ? el('section.block', null, el('h3', null, title), inside) : null;
}

function headline(kind, title, className) {
    return el('div.headline', null, el('span.kind' + (className ? '.' + className : ''), null, kind),
              el('h2', { title }, title));
}

/* A list that is cut after a few, with a button for the others. */
function shortList(items, limit, make) {
    if (!items.length)
        return null;
    const list = el('ul.list', null, items.slice(0, limit).map((item) => el('li', null, make(item))));
    if (items.length > limit) {
        const more = el('button.more', { onclick: () => {
            more.remove();
            items.slice(limit).forEach((item) => list.append(el('li', null, make(item))));
        } }, 'Show ' + d3.format(',')(items.length - limit) + ' more');
        return [list, more];
    }
    return list;
}

function bar(share, className) {
    const fill = el('span');
    fill.style.width = Math.max(0.5, Math.min(100, share * 100)) + '%';
    return el('span.bar' + (className ? '.' + className : ''), { 'aria-hidden': 'true' }, fill);
}

/* ---- barriers in words ---- */

function codes(names, mask) {
    const found = bitNames(names, mask);
    return found.length ? el('span.codes', null, found.map((name) => el('code', null, name)))
        : el('span.none', null, 'none');
}

function fromTo(a, b) {
    return el('span.fromto', null, a, el('span.arrow', { 'aria-label': 'to' }, '→'), b);
}

function barrierBlock(barrier) {
    const m = ui.model, res = m.resources[barrier.res], range = res ? rangeText(res, barrier) : '';
    const chosen = ui.barrier === barrier.id;
    return el('article.barrier' + (chosen ? '.chosen' : ''), null,
        el('div.barrier-head', null, el('span.tag.reason', null, whyWord(m, barrier.why)),
           res ? ref('r' + res.id) : el('span.muted', null, 'all memory'),
               range ? el('span.muted', null, range) : null),
        why(barrier.why),
        el('dl.masks', null,
           el('dt', null, 'stages'),
           el('dd', null, fromTo(codes(STAGE_NAMES, barrier.src_stages), codes(STAGE_NAMES, barrier.dst_stages))),
           el('dt', null, 'access'),
           el('dd', null, fromTo(codes(ACCESS_NAMES, barrier.src_access), codes(ACCESS_NAMES, barrier.dst_access))),
           barrier.old_layout !== barrier.new_layout ? [el('dt', null, 'layout'), el('dd', null,
               fromTo(el('code', null, nameOf(LAYOUT_NAMES, barrier.old_layout)),
                      el('code', null, nameOf(LAYOUT_NAMES, barrier.new_layout))))] : null,
           barrier.src_family !== barrier.dst_family ? [el('dt', null, 'family'), el('dd', null,
               fromTo(String(barrier.src_family), String(barrier.dst_family)))] : null));
}

const BATCH_WORDS = { [COMMAND_BARRIER]: 'vkCmdPipelineBarrier2', [COMMAND_SET]: 'vkCmdSetEvent2',
                      [COMMAND_WAIT]: 'vkCmdWaitEvents2' };

function batchPanel(batch) {
    const m = ui.model, sides = [];
    if (batch.prev)
        sides.push(' after ', ref('p' + batch.prev.id));
    if (batch.next)
        sides.push(' before ', ref('p' + batch.next.id));
    return [
        headline(BATCH_WORDS[batch.kind], countText(batch.barriers.length, 'barrier'), 'sync'),
        el('p.where', null, 'On ', m.queues[batch.queue].label, sides, ', in ', ref('s' + batch.submit), '.'),
        el('div.barriers', null, batch.barriers.slice(0, 60).map(barrierBlock)),
        batch.barriers.length > 60 ? el('p.muted', null, 'and ' + (batch.barriers.length - 60) + ' more') : null,
    ];
}

/* ---- submits and heaps ---- */

function submitPanel(submit) {
    const m = ui.model;
    return [
        headline('submit', 'submit ' + submit.id + ' on ' + m.queues[submit.queue].label, 'sync'),
        facts([['runs', timeText(submit.begin) + ' – ' + timeText(submit.end)],
               ['passes', String(submit.passes.length)], ['barrier batches', String(submit.batches.length)],
               ['signals', submit.signal_value ? el('span', null, 'value ' + submit.signal_value + ' at ',
                                                    codes(STAGE_NAMES, submit.signal_stages))
                                                        : 'nothing waits for it']]),
        block('Why it starts here', why(submit.why)),
        block('Why it ends here', why(submit.ends)),
        block('Waits', submit.waits.map((wait) => el('article.barrier', null,
            el('div.barrier-head', null, el('span.tag.reason', null, 'semaphore wait'),
               wait.source ? ref('s' + wait.source.id) : null,
               el('span.muted', null, m.queues[wait.queue] ? 'on ' + m.queues[wait.queue].label : '')),
            why(wait.why),
            el('dl.masks', null, el('dt', null, 'stages'), el('dd', null, codes(STAGE_NAMES, wait.stages)))))),
        block('Passes', shortList(submit.passes, 30, passLine)),
    ];
}

function heapPanel(heap) {
    const m = ui.model, unshared = d3.sum(heap.tenants, (r) => r.placed.bytes);
    const largest = heap.tenants.slice().sort((a, b) => b.placed.bytes - a.placed.bytes);
    return [
        headline('heap', 'heap ' + heap.id + ', ' + bytesText(heap.bytes), 'memory'),
        facts([['kind', heapWords(heap)], ['memory', String(heap.memory)],
               ['resources', String(heap.tenants.length)], ['without sharing', bytesText(unshared)],
               ['saved', unshared > heap.bytes ? bytesText(unshared - heap.bytes) + ' (' +
                         percentText(1 - heap.bytes / unshared) + ')' : null]]),
        block('Largest', shortList(largest, 30, (r) => resourceLine(r, heap.bytes))),
    ];
}

/* ---- lines of lists ---- */

function passLine(pass) {
    const where = pass.slot === NONE ? 'culled' : timeText(pass.end - pass.begin);
    return el('div.line', null, ref('p' + pass.id), el('span.muted.num', null, where));
}

function resourceLine(res, total) {
    const size = res.placed && res.placed.heap !== NONE ? res.placed.bytes : 0;
    return el('div.line.barred', null, ref('r' + res.id), bar(total ? size / total : 0),
              el('span.muted.num', null, size ? bytesText(size) : 'import'));
}

/* ---- a pass ---- */

function passPanel(pass) {
    const m = ui.model, { from, to } = neighboursOf(pass), beside = besideOf(m, pass);
    const kept = pass.slot !== NONE, took = pass.end - pass.begin;
    const out = [headline(TYPE_NAMES[pass.type] + ' pass', pass.label, 'pass-' + typeOf(pass))];
    if (!kept)
        out.push(el('div.notice', null, el('strong', null, 'Culled: '),
                    whySentence(m, pass.culled || { list: 'cull', code: 0 }),
                    pass.culled ? culledRefs(pass.culled) : null));
    out.push(facts([
        kept ? ['runs', timeText(pass.begin) + ' – ' + timeText(pass.end)] : null,
        ['takes', timeText(took) + (kept && m.duration ? ', ' + percentText(took / m.duration) + ' of the frame' : '')],
        m.spans && kept ? ['simulated', timeText(pass.cost)] : null,
        pass.was ? ['before', pass.was.slot === NONE ? 'it was culled' : [ref('v' + pass.was.id, 'ran'), ' ' +
                    timeText(pass.was.begin) + ' – ' + timeText(pass.was.end)]] : null,
        pass.change ? ['changed', el('span.tag', null, pass.change)] : null,
        kept ? ['on', el('span', null, m.queues[pass.queue].label + ', ', ref('s' + pass.submit))] : null,
        kept && m.critical.has(pass) ? ['path', el('span.tag.critical', null, 'critical path')] : null,
        pass.flags & PASS_ROOT ? ['kept', 'a root: never culled'] : null,
        pass.pin ? ['pinned to', ['', 'graphics', 'compute', 'transfer'][pass.pin]] : null,
    ]));
    out.push(neighbourGraph(pass, from, to));
    out.push(passPictures(pass));
    out.push(block('Uses', pass.uses.map(useLine)));
    if (kept) {
        out.push(block('Waits for', waitsBefore(pass)));
        out.push(block('Runs beside', beside.length ? shortList(beside, 8, passLine)
                                                    : el('p.muted', null, 'Nothing on other queues runs meanwhile.')));
        out.push(scopeBlock(pass));
    }
    return out;
}

function culledRefs(reason) {
    const keys = whyPieces(ui.model, reason).filter((piece) => piece.key);
    return keys.length ? el('div.refs', null, keys.map((piece) => ref(piece.key, piece.text))) : null;
}

function useLine(use) {
    const range = rangeText(use.res, use.range);
    return el('div.use', null, el('span.use-kind.' + use.kind, { title: KIND_WORDS[use.kind] },
                                  { read: 'R', write: 'W', clear: 'C', both: 'RW', resolve: '⇲' }[use.kind]),
              ref('r' + use.res.id), el('span.muted', null, (use.access.name || 'custom').replace(/_/g, ' ') +
                                                             (range ? ' · ' + range : '')));
}

/* Batches right before a pass, and the semaphore waits of a submit that it begins. */
function waitsBefore(pass) {
    const m = ui.model, submit = m.submits[pass.submit], parts = [];
    if (submit.passes[0] === pass) {
        submit.waits.forEach((wait) => parts.push(el('article.barrier', null,
            el('div.barrier-head', null, el('span.tag.reason', null, 'semaphore wait'), ref('s' + submit.id)),
                why(wait.why))));
    }
    pass.before.forEach((batch) => parts.push(el('div.line', null, ref('b' + batch.id, 'barrier batch ' + batch.id),
                                                 el('span.muted.num', null,
                                                    countText(batch.barriers.length, 'barrier'))),
                                              batch.barriers.slice(0, 12).map(barrierBlock)));
    return parts.length ? parts : el('p.muted', null, 'Nothing: no barrier and no wait stands right before it.');
}

function scopeBlock(pass) {
    const m = ui.model, scope = pass.scope, apart = apartPieces(m, pass);
    if (!scope)
        return null;
    const shared = scope.passes.filter((other) => other !== pass);
    return block('Rendering scope',
        shared.length ? el('p.why', null, 'Shared with ',
                           shared.slice(0, 12).map((other) => [ref('p' + other.id), ' '])) : null,
        apart ? el('p.why', null, el('span.muted', null, 'Not merged with the pass before: '), fromPieces(apart))
            : null,
        el('table.ops', null,
           el('thead', null, el('tr', null, ['attachment', 'load', 'store'].map((name) => el('th', null, name)))),
           el('tbody', null, scope.attachments.map((a) => {
               const use = attachmentUse(scope, a);
               return use ? el('tr', null, el('td', null, ref('r' + use.res.id)),
                               el('td', null, el('code', null, nameOf(LOAD_NAMES, a.load)),
                                  el('span.muted', null, loadReason(a, use))),
                               el('td', null, el('code', null, nameOf(STORE_NAMES, a.store)),
                                  el('span.muted', null, fromPieces(storePieces(scope, a, use))))) : null;
           }))));
}

/* ---- a resource ---- */

function resourcePanel(res) {
    const m = ui.model, place = res.placed, heap = place && m.heaps[place.heap], tenants = tenantsOf(m, res);
    return [
        headline(res.buffer ? 'buffer' : 'image', res.label, 'resource'),
        facts([
            ['size', sizeText(res)], ['format', res.buffer ? null : el('code', null, formatText(res))],
            place && heap ? ['memory', el('span', null,
                                          bytesText(place.bytes) + ' at ' + bytesText(place.offset) + ' of ',
                                          ref('h' + heap.id))] : null,
            ['content', res.flags & RES_HISTORY ? 'a history: what the frame before left'
                      : res.flags & RES_HAS_HISTORY ? 'kept for the next frame, which reads it as a history'
                      : res.flags & RES_EXTERNAL ? 'an import: kept outside' : null],
            ['pair', res.pair !== NONE ? ref('r' + res.pair) : null],
            ['usage', codes(res.buffer ? BUFFER_USAGE_NAMES : IMAGE_USAGE_NAMES, res.usage)],
            ['sharing', place ? (place.flags & 1 ? 'concurrent' : 'exclusive') : null],
        ]),
        resourcePictures(res),
        place ? block('Why it lies there', why(place.why)) : el('div.notice', null, 'No pass that is kept uses it.'),
        tenants.before.length + tenants.after.length ? block('Shares bytes with',
            tenants.before.length ? [el('h4', null, 'before'), shortList(tenants.before, 6, (r) => tenantLine(r))]
                : null,
            tenants.after.length ? [el('h4', null, 'after'), shortList(tenants.after, 6, (r) => tenantLine(r))] : null)
                : null,
        block('Used by', shortList(res.uses, 24, (use) => el('div.use', null,
            el('span.use-kind.' + use.kind, null, { read: 'R', write: 'W', clear: 'C', both: 'RW',
                resolve: '⇲' }[use.kind]),
            ref('p' + use.pass.id), el('span.muted', null, (use.access.name || 'custom').replace(/_/g, ' ') +
                (rangeText(res, use.range) ? ' · ' + rangeText(res, use.range) : ''))))),
        block('Barriers', shortList(res.barriers, 10, (b) => [
            el('div.line', null, ref('b' + b.batch.id, 'barrier batch ' + b.batch.id)), barrierBlock(b)])),
    ];
}

function tenantLine(res) {
    return el('div.line', null, ref('r' + res.id), el('span.muted.num', null, bytesText(res.placed.bytes)));
}

/* ---- two passes ---- */

function orderPanel(a, b) {
    return [headline('two passes', 'What orders them', 'sync'), el('div.pair', null, ref('p' + a.id), ref('p' + b.id)),
            chainBlocks(a, b)];
}

const PANELS = { p: passPanel, r: resourcePanel, b: batchPanel, s: submitPanel, h: heapPanel, v: formerPassPanel };

function selectionPanel() {
    const m = ui.model, item = itemOf(m, ui.selected), second = itemOf(m, ui.second);
    if (!item)
        return framePanel();
    if (second)
        return orderPanel(item, second);
    return PANELS[ui.selected[0]](item);
}

/* ---- nothing selected: the frame at a glance ---- */

function framePanel() {
    const m = ui.model, count = d3.map();
    m.barriers.forEach((b) => b.why && count.set(whyWord(m, b.why), (count.get(whyWord(m, b.why)) || 0) + 1));
    const reasons = count.entries().sort((a, b) => b.value - a.value);
    const took = (p) => p.end - p.begin, dear = m.order.slice().sort((a, b) => took(b) - took(a));
    const large = m.resources.filter((r) => r.placed &&
                                     r.placed.heap !== NONE).sort((a, b) => b.placed.bytes - a.placed.bytes);
    const most = dear.length ? took(dear[0]) : 1;
    return [
        headline('frame', 'At a glance'),
        el('p.muted.intro', null, 'Select anything to see what it is connected with; shift-click a second pass to see ' +
                                  'what orders the two.'),
        block('Longest passes', shortList(dear.slice(0, 6), 6, (p) => el('div.line.barred', null, ref('p' + p.id),
            bar(took(p) / most, 'pass-' + typeOf(p)), el('span.muted.num', null, timeText(took(p)))))),
        block('Largest resources', shortList(large.slice(0, 6), 6, (r) => resourceLine(r, large[0].placed.bytes))),
        block('Barriers by reason', reasons.map((r) => el('div.line.barred', null, el('button.ref.part', {
            'data-reason': r.key }, r.key), bar(r.value / reasons[0].value, 'sync'),
                el('span.muted.num', null, String(r.value))))),
        block('Culled', m.culled.length ? shortList(m.culled, 5, (p) => [ref('p' + p.id), why(p.culled)])
                                        : el('p.muted', null, 'No pass is culled.')),
    ];
}
