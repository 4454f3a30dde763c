/* Keys, and the list that says so. */

const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/* The next thing in a direction, as keys walk through the view that has the focus. */
function step(view, [dx, dy]) {
    const m = ui.model, item = itemOf(m, ui.selected), kind = ui.selected ? ui.selected[0] : '';
    if (view === queueView || (view === gridView && dx)) {
        if (kind !== 'p')
            return m.order.length ? 'p' + m.byStart[0].id : null;
        if (view === gridView)
            return keyNear(m.byStart, item, dx);
        const lists = m.queues.map((q) => q.passes).concat(m.culled.length ? [m.culled] : []);
        const at = item.slot === NONE ? lists.length - 1 : item.queue;
        if (dx)
            return keyNear(lists[at], item, dx);
        for (let to = at + dy; lists[to]; to += dy) {
            if (lists[to].length)
                return 'p' + lists[to][Math.min(firstBehind(lists[to], item.a0 + 1e-9), lists[to].length - 1)].id;
        }
        return null;
    }
    const list = view === gridView ? gridView.rows : m.heaps.flatMap((heap) => heap.tenants);
    return kind === 'r' ? keyNear(list, item, dx + dy, 'r') : list.length ? 'r' + list[0].id : null;
}

function keyNear(list, item, by, letter) {
    const next = list[list.indexOf(item) + by];
    return next ? (letter || 'p') + next.id : null;
}

function attachKeys(surface, view) {
    surface.canvas.addEventListener('keydown', (event) => {
        if (!STEPS[event.key] || event.ctrlKey || event.metaKey || event.altKey)
            return;
        const key = step(view, STEPS[event.key]);
        if (key) {
            select(key, { reveal: true, add: event.shiftKey });
            say(describe(key));
        }
        event.preventDefault();
    });
}

const KEYS = [
    [['/'], 'find a pass or resource', () => byId('find').focus()],
    [['+', '=', 'w'], 'zoom in', () => axis.zoom((GUTTER + axis.width) / 2, 0.8)],
    [['-', 's'], 'zoom out', () => axis.zoom((GUTTER + axis.width) / 2, 1.25)],
    [['a'], 'pan to the left', () => axis.pan(-80)],
    [['d'], 'pan to the right', () => axis.pan(80)],
    [['0'], 'all of the frame', () => axis.fit()],
    [['f'], 'the selection', () => focusSelection()],
    [['o'], 'axis: time or order', () => setMode(axis.byOrder ? ui.modes[0][1] : 'order')],
    [['t'], 'light or dark', () => switchTheme()],
    [['1', '2', '3', '4', '5'], 'tabs of the panel',
     (key) => TABS[Number(key) - 1] && openTab(TABS[Number(key) - 1][0])],
    [['Escape'], 'select nothing', () => select(null)],
    [['?'], 'this list', () => showHelp()],
];

function focusSelection() {
    const item = itemOf(ui.model, ui.selected);
    if (item && item.a0 !== undefined) {
        const a1 = item.a1 === undefined ? item.a0 : item.a1, room = (a1 - item.a0 || axis.extent / 50) * 0.5;
        axis.fly(item.a0 - room, a1 + room);
    }
}

function setUpKeys() {
    document.addEventListener('keydown', (event) => {
        if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT)$/.test(event.target.tagName))
            return;
        if (event.key === 'Enter' && event.target.tagName === 'CANVAS')
            return byId('panel').focus();
        const found = KEYS.find(([keys]) => keys.includes(event.key));
        if (found && !byId('keys').open) {
            found[2](event.key);
            event.preventDefault();
        }
    });
}

function showHelp() {
    const sign = (className, text) => el('li', null, el('i.sign.' + className), text);
    byId('keys').replaceChildren(
        el('h2', null, 'Keys'),
        el('dl', null, KEYS.map(([keys, text]) => [el('dt', null, keys.slice(0, 4).map((key) => el('kbd', null, key))),
                                                   el('dd', null, text)]),
           el('dt', null, el('kbd', null, '←'), el('kbd', null, '→'), el('kbd', null, '↑'), el('kbd', null, '↓')),
           el('dd', null, 'in a view that has the focus: the next pass or resource')),
        el('h2', null, 'Pointer'),
        el('p', null, 'Wheel: zoom (in the grid: scroll; with Ctrl: zoom; with Shift: pan; in memory with Alt: zoom ' +
                      'offsets). Drag: pan. Double click: zoom there. Click: select. Shift-click a second pass: what ' +
                      'orders the two.'),
        el('h2', null, 'Signs'),
        el('ul.signs', null, sign('batch', 'a batch of barriers'),
           sign('critical', 'the critical path: what the frame takes its time from'),
           sign('idle', 'a queue with nothing to do'),
               sign('from', 'comes before the selection: producers, former tenants'),
           sign('to', 'comes after it: consumers, next tenants')),
        el('form', { method: 'dialog' }, el('button.primary', null, 'Close')));
    byId('keys').showModal();
}
