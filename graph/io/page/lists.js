/* The other tabs of the panel: all passes, resources and synchronization as text; the lists grow while one scrolls. */

const PIECE = 120;

/* Rows that are made when they come into sight. */
function longList(items, make, empty) {
    if (items.length === 0)
        return el('p.muted.empty', null, empty);
    const list = el('div.rows', { role: 'list' });
    let shown = 0;
    const grow = () => {
        items.slice(shown, shown + PIECE).forEach((item) => {
            const row = make(item);
            row.setAttribute('role', 'listitem');
            list.append(row);
        });
        shown = Math.min(items.length, shown + PIECE);
        if (shown < items.length)
            list.append(end);
        else
            end.remove();
    };
    const end = el('button.more', { onclick: grow }, 'Show more');
    new IntersectionObserver((entries) => entries.some((e) => e.isIntersecting) && grow()).observe(end);
    grow();
    return list;
}

function chips(name, choices, chosen, choose) {
    return el('div.chips', { role: 'radiogroup', 'aria-label': name }, choices.map(([value, text]) =>
        el('button.chip' + (value === chosen ? '.on' : ''), { role: 'radio', 'aria-checked': String(value === chosen),
                                                              onclick: () => choose(value) }, text)));
}

const listState = { passes: 'time', resources: 'size', sync: 'all' };

function setList(name, value) {
    listState[name] = value;
    showTab();
}

/* ---- passes ---- */

const PASS_ORDERS = {
    time: (a, b) => a.begin - b.begin || a.id - b.id,
    cost: (a, b) => b.end - b.begin - (a.end - a.begin) || a.id - b.id,
    name: (a, b) => d3.ascending(a.label, b.label) || a.id - b.id,
};

function passesTab() {
    const m = ui.model, how = listState.passes, culled = how === 'culled';
    const list = (culled ? m.culled : m.passes.filter(passShown)).slice().sort(PASS_ORDERS[how] || PASS_ORDERS.time);
    const took = (p) => p.end - p.begin, most = d3.max(list, took) || 1;
    return [
        chips('Order', [['time', 'by time'], ['cost', 'by cost'], ['name', 'by name'],
                        ['culled', 'culled ' + m.culled.length]],
              how, (value) => setList('passes', value)),
        longList(list, (p) => (p.slot === NONE
            ? el('div.row.culled', null, ref('p' + p.id), p.culled ? why(p.culled) : null)
            : el('div.row.line.barred', null, ref('p' + p.id), bar(took(p) / most, 'pass-' + typeOf(p)),
                 el('span.muted.num', null, timeText(took(p))))),
                     culled ? 'No pass is culled.' : 'No pass is let through by the filters.'),
    ];
}

/* ---- resources: where the memory goes ---- */

const heldBytes = (res) => (res.placed && res.placed.heap !== NONE ? res.placed.bytes : 0);
const RESOURCE_ORDERS = {
    size: (a, b) => heldBytes(b) - heldBytes(a) || a.id - b.id,
    time: (a, b) => a.u0 - b.u0 || a.id - b.id,
    name: (a, b) => d3.ascending(a.label, b.label) || a.id - b.id,
};

function resourcesTab() {
    const m = ui.model, list = m.resources.filter(resShown).sort(RESOURCE_ORDERS[listState.resources]);
    const most = d3.max(list, heldBytes) || 1, saved = m.stats.unaliased_bytes - m.heapBytes;
    return [
        el('div.summary', null,
           el('p', null, el('strong', null, bytesText(m.heapBytes)), ' in ' + countText(m.heaps.length, 'heap') + '. ',
              saved > 0 ? ['Aliasing saves ', el('strong', null, bytesText(saved)),
                           ' of ' + bytesText(m.stats.unaliased_bytes) + '. '] : '',
              'At its peak the frame has ' + bytesText(m.stats.peak_live_bytes) + ' alive: ',
              bytesText(Math.max(0, m.heapBytes - m.stats.peak_live_bytes)) + ' of the heaps are waste.'),
           m.heaps.map((heap) => el('div.line.barred', null, ref('h' + heap.id),
                                    bar(heap.bytes / m.heapBytes, 'memory'),
                                    el('span.muted.num', null, bytesText(heap.bytes))))),
        chips('Order', [['size', 'by size'], ['time', 'by first use'], ['name', 'by name']], listState.resources,
              (value) => setList('resources', value)),
        longList(list, (r) => {
            const row = resourceLine(r, most);
            row.classList.add('row');
            row.append(el('span.muted.sub', null, formatText(r) + ' · ' + sizeText(r)));
            return row;
        }, 'No resource is let through by the filters.'),
    ];
}

/* ---- synchronization ---- */

function syncItems() {
    const items = [];
    for (const submit of ui.model.submits) {
        items.push({ submit });
        submit.batches.forEach((batch) => items.push({ batch }));
    }
    return items;
}

function batchShown(batch) {
    const how = listState.sync;
    return how === 'all' || batch.barriers.some((b) => whyWord(ui.model, b.why) === how);
}

function syncTab() {
    const m = ui.model, reasons = Array.from(new Set(m.barriers.filter((b) => b.why).map((b) => whyWord(m, b.why))));
    const waits = listState.sync === 'waits', all = listState.sync === 'all';
    const items = syncItems().filter((item) => (item.submit ? all || (waits && item.submit.waits.length)
                                                : !waits && batchShown(item.batch)));
    return [
        chips('Reason', [['all', 'all'], ['waits', 'semaphore waits']].concat(reasons.map((r) => [r, r])),
              listState.sync,
              (value) => setList('sync', value)),
        longList(items, (item) => (item.submit ? submitRow(item.submit) : batchRow(item.batch)),
                 'There is nothing to wait for.'),
    ];
}

function submitRow(submit) {
    const m = ui.model;
    return el('div.row.submit', null,
        el('div.line', null, ref('s' + submit.id), el('span.muted', null, m.queues[submit.queue].label),
           el('span.muted.num', null, submit.signal_value ? 'signals ' + submit.signal_value : '')),
        why(submit.why),
        submit.waits.map((wait) => el('div.wait', null, el('span.tag.reason', null, 'waits'),
            wait.source ? [' for ', ref('s' + wait.source.id), ' '] : ' ', why(wait.why))));
}

function batchRow(batch) {
    const m = ui.model, shown = batch.barriers.filter((b) => listState.sync === 'all' ||
                                                      whyWord(m, b.why) === listState.sync);
    const counts = d3.nest().key((b) => whyWord(m, b.why)).rollup((list) => list.length).entries(shown);
    return el('div.row.batch', null,
        el('div.line', null, ref('b' + batch.id), batch.next
           ? el('span.muted', null, 'before ', ref('p' + batch.next.id)) : null,
           el('span.muted.num', null, countText(batch.barriers.length, 'barrier'))),
        shown.slice(0, 2).map((b) => why(b.why)),
        shown.length > 2 ? el('p.muted.why', null, counts.map((c) => c.values + ' × ' + c.key).join(', ')) : null);
}

const TABS = [['selection', 'Selection', selectionPanel], ['passes', 'Passes', passesTab],
              ['resources', 'Resources', resourcesTab], ['sync', 'Sync', syncTab]];
const CHANGES_TAB = ['changes', 'Changes', changesTab];
