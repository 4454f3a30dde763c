/* The page: what is selected, pointer and keys, figures on top, ruler, tabs, light and dark. */

const ui = {
    model: null, selected: null, second: null, lit: null, hover: null, barrier: null, cursor: -1, critical: true,
    tab: 'selection', shownPanel: null,
    filter: { types: new Set(), queues: new Set(), kinds: new Set(), text: '' },
};
const byId = (id) => document.getElementById(id);

/* ---- selection ---- */

/* options: reveal: bring it into sight; add: as the second of two passes; stay: keep the tab. */
function select(key, options) {
    const how = options || {};
    if (key && !itemOf(ui.model, key))
        return;
    if (how.add && key && key[0] === 'p' && ui.selected && ui.selected[0] === 'p' && ui.selected !== key) {
        ui.second = key;
    } else {
        ui.selected = key;
        ui.second = null;
    }
    ui.lit = ui.selected ? litBy(ui.model, ui.selected) : null;
    if (ui.second) {
        ui.lit.passes.set(itemOf(ui.model, ui.second).id, 'self');
    }
    if (gridView.relatedOnly)
        gridView.arrange();
    if (key && how.reveal)
        reveal(key);
    if (!how.stay || ui.tab === 'selection')
        openTab('selection');
    history.replaceState(null, '', ui.selected ? '#' + ui.selected + (ui.second ? '+' + ui.second : '') : '#');
    repaint();
}

function reveal(key) {
    const item = itemOf(ui.model, key);
    if (item.a0 !== undefined)
        axis.reveal(key[0] === 'r' ? item.u0 : item.a0, key[0] === 'r' ? item.u1 : item.a1 === undefined ? item.a0 : item.a1);
    const res = key[0] === 'r' ? item : key[0] === 'p' && item.uses.length ? item.uses[0].res : null;
    if (res)
        gridView.reveal(res);
}

function say(text) {
    byId('said').textContent = text;
}

function describe(key) {
    const m = ui.model, item = itemOf(m, key);
    if (!item)
        return '';
    if (key[0] === 'p')
        return item.label + ', ' + (item.culled ? 'culled ' : '') + TYPE_NAMES[item.type] + ' pass' +
               (item.slot === NONE ? '' : ', from ' + timeText(item.begin) + ', takes ' + timeText(item.cost));
    if (key[0] === 'r')
        return item.label + ', ' + (item.buffer ? 'buffer, ' : 'image, ' + formatText(item) + ', ') + sizeText(item);
    if (key[0] === 'b')
        return countText(item.barriers.length, 'barrier') + (item.next ? ' before ' + item.next.label : '');
    return labelOf(m, key) + (key[0] === 's' ? ' on ' + m.queues[item.queue].label : ', ' + bytesText(item.bytes));
}

/* ---- tabs ---- */

function openTab(name) {
    ui.tab = name;
    Array.from(byId('tabs').children).forEach((tab) => {
        const on = tab.dataset.tab === name;
        tab.setAttribute('aria-selected', String(on));
        tab.tabIndex = on ? 0 : -1;
    });
    showTab();
    byId('panel').scrollTop = 0;
}

function showTab() {
    const make = TABS.find((tab) => tab[0] === ui.tab)[2];
    byId('panel').replaceChildren(...[make()].flat(Infinity).filter((child) => child));
    byId('panel').setAttribute('aria-label', TABS.find((tab) => tab[0] === ui.tab)[1]);
}

function setUpTabs() {
    byId('tabs').replaceChildren(...TABS.map(([name, text]) => el('button', {
        role: 'tab', 'data-tab': name, 'aria-controls': 'panel', onclick: () => openTab(name) }, text)));
    byId('tabs').addEventListener('keydown', (event) => {
        const at = TABS.findIndex((tab) => tab[0] === ui.tab), by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (!by)
            return;
        openTab(TABS[(at + by + TABS.length) % TABS.length][0]);
        byId('tabs').querySelector('[aria-selected=true]').focus();
        event.stopPropagation();
    });
    byId('panel').addEventListener('click', (event) => {
        const target = event.target.closest('[data-key], [data-reason]');
        if (!target)
            return;
        if (target.dataset.reason) {
            listState.sync = target.dataset.reason;
            openTab('sync');
        } else {
            select(target.dataset.key, { reveal: true, add: event.shiftKey });
        }
    });
    byId('panel').addEventListener('mouseover', (event) => {
        const target = event.target.closest('[data-key]');
        setHover(target ? target.dataset.key : null);
    });
    byId('panel').addEventListener('mouseleave', () => setHover(null));
}

/* ---- figures on top ---- */

function figure(name, value, note, open) {
    return el('button.figure', { onclick: open }, el('span.name', null, name), el('span.value', null, value),
              el('span.note', null, note));
}

function setUpFigures() {
    const m = ui.model, saved = m.stats.unaliased_bytes - m.heapBytes, kept = m.order.length;
    const waits = d3.sum(m.submits, (s) => s.waits.length);
    const list = (tab, name, value) => () => {
        if (name)
            listState[name] = value;
        openTab(tab);
    };
    byId('figures').replaceChildren(
        figure('Passes', d3.format(',')(kept), m.culled.length ? m.culled.length + ' of ' + m.passes.length + ' culled' : 'none culled',
               list('passes', 'passes', m.culled.length ? 'culled' : 'time')),
        figure('Frame', timeText(m.duration), 'dependencies alone ' + timeText(m.stats.critical_path_us),
               list('passes', 'passes', 'cost')),
        figure('Memory', bytesText(m.heapBytes), saved > 0 ? 'aliasing saves ' + bytesText(saved) + ' of ' +
               bytesText(m.stats.unaliased_bytes) : 'nothing is shared', list('resources', 'resources', 'size')),
        figure('Barriers', d3.format(',')(m.barriers.length), 'in ' + countText(m.batches.length, 'batch'),
               list('sync', 'sync', 'all')),
        figure('Submits', d3.format(',')(m.submits.length), countText(waits, 'semaphore wait'), list('sync', 'sync', 'waits')));
    byId('name').textContent = m.name;
    byId('name').title = m.name;
    byId('subtitle').textContent = 'plan ' + m.hash.slice(0, 8);
    byId('subtitle').title = 'hash of the plan: ' + m.hash;
    document.title = m.name + ' · heddle';
}

/* ---- ruler and overview ---- */

function drawRuler(ctx, width, height) {
    ctx.fillStyle = colors.panel;
    ctx.fillRect(0, 0, width, height);
    setFont(ctx, 10.5);
    ctx.fillStyle = colors.muted;
    ctx.fillText(axis.byOrder ? 'passes by their begin' : 'simulated time', 16, height - 12);
    for (const at of axis.ticks()) {
        const x = Math.round(axis.x(at));
        if (x < GUTTER)
            continue;
        ctx.fillStyle = colors.line;
        ctx.fillRect(x, height - 7, 1, 7);
        ctx.fillStyle = colors.muted;
        ctx.fillText(axis.tickText(at), x + 4, height - 9);
    }
    drawOverview(ctx, width);
}

/* All of the frame in little: how busy each queue is. */
function drawOverview(ctx, width) {
    const m = ui.model, room = width - GUTTER - EDGE, top = 6, high = 24, rows = m.queues.length || 1, tall = high / rows;
    ctx.fillStyle = colors.sunken;
    ctx.fillRect(GUTTER, top, room, high);
    for (const queue of m.queues) {
        ctx.fillStyle = colors[TYPE_NAMES[queue.kind]];
        let painted = -1;
        for (const pass of queue.passes) {
            const x0 = GUTTER + room * pass.a0 / m.extent, x1 = GUTTER + room * pass.a1 / m.extent;
            if (x1 < painted + 0.5)
                continue;
            painted = Math.max(x1, x0 + 0.5);
            ctx.fillRect(x0, top + queue.id * tall + 1, Math.max(0.5, painted - x0 - 0.4), Math.max(1, tall - 2));
        }
    }
}

let brush = null;

function setUpOverview() {
    const svg = d3.select('#overview');
    brush = d3.svg.brush().on('brush', () => {
        const [lo, hi] = brush.extent();
        if (brush.empty())
            axis.fit();
        else if (hi - lo > axis.least())
            axis.set(lo, hi);
    });
    svg.append('g').attr('class', 'brush');
    axis.listeners.push(fitBrush);
}

function fitBrush() {
    const room = Math.max(10, axis.width - GUTTER - EDGE);
    d3.select('#overview').attr({ width: axis.width, height: 36 });
    brush.x(d3.scale.linear().domain([0, axis.extent]).range([GUTTER, GUTTER + room])).extent([axis.lo, axis.hi]);
    /* Where all is shown there is nothing to move: a drag begins a new stretch. */
    d3.select('#overview').classed('all', axis.hi - axis.lo >= axis.extent);
    d3.select('#overview .brush').call(brush).selectAll('rect').attr({ y: 5, height: 26 });
}

/* ---- pointer ---- */

function setHover(key) {
    if (key === ui.hover)
        return;
    ui.hover = key;
    repaint();
}

function showTip(key, x, y) {
    const tip = byId('tip');
    tip.hidden = !key;
    if (!key)
        return;
    const [first, ...others] = describe(key).split(', ');
    tip.replaceChildren(el('strong', null, itemOf(ui.model, key).label ? labelOf(ui.model, key) : first),
                        el('span', null, itemOf(ui.model, key).label ? describe(key).slice(labelOf(ui.model, key).length + 2)
                                                                     : others.join(', ')));
    const item = itemOf(ui.model, key);
    if (key[0] === 'p' && item.culled)
        tip.append(el('span', null, whySentence(ui.model, item.culled)));
    if (key[0] === 'b')
        item.barriers.slice(0, 3).forEach((b) => tip.append(el('span', null, whySentence(ui.model, b.why))));
    const box = tip.getBoundingClientRect();
    tip.style.left = Math.min(x + 14, innerWidth - box.width - 8) + 'px';
    tip.style.top = (y + 18 + box.height > innerHeight ? y - box.height - 10 : y + 18) + 'px';
}

/* Wheel: zooms, or scrolls where there is more below; with control it zooms, with shift it pans. Drag: pans. */
function attachPointer(surface, view) {
    const canvas = surface.canvas;
    let drag = null;
    canvas.addEventListener('wheel', (event) => {
        event.preventDefault();
        const unit = event.deltaMode === 1 ? 20 : 1, dx = event.deltaX * unit, dy = event.deltaY * unit;
        if (event.altKey && view === memoryView) {
            memoryView.zoom = Math.max(1, Math.min(200, memoryView.zoom * Math.pow(1.002, -dy)));
            repaint();
        } else if (event.ctrlKey || event.metaKey || (view !== gridView && !event.shiftKey && Math.abs(dy) >= Math.abs(dx))) {
            axis.zoom(event.offsetX, Math.pow(1.0018, dy));
        } else if (event.shiftKey || Math.abs(dx) > Math.abs(dy)) {
            axis.pan(dx || dy);
        } else {
            view.scroll(dy, surface.height);
            repaint();
        }
    }, { passive: false });
    canvas.addEventListener('pointerdown', (event) => {
        if (event.button !== 0)
            return;
        drag = { x: event.clientX, y: event.clientY, moved: false };
        canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener('pointermove', (event) => {
        if (drag && (drag.moved || Math.abs(event.clientX - drag.x) + Math.abs(event.clientY - drag.y) > 4)) {
            drag.moved = true;
            canvas.classList.add('grabbing');
            axis.pan(drag.x - event.clientX);
            if (view.scroll)
                view.scroll(drag.y - event.clientY, surface.height);
            drag.x = event.clientX;
            drag.y = event.clientY;
            showTip(null);
            return repaint();
        }
        const key = view.pick(event.offsetX, event.offsetY);
        ui.cursor = event.offsetX;
        canvas.classList.toggle('pointing', !!key);
        setHover(key);
        showTip(key, event.clientX, event.clientY);
        repaint();
    });
    const end = (event) => {
        canvas.classList.remove('grabbing');
        const click = drag && !drag.moved && event.type === 'pointerup';
        drag = null;
        if (click)
            select(view.pick(event.offsetX, event.offsetY), { add: event.shiftKey });
    };
    canvas.addEventListener('pointerup', end);
    canvas.addEventListener('pointercancel', end);
    canvas.addEventListener('pointerleave', () => {
        ui.cursor = -1;
        setHover(null);
        showTip(null);
        repaint();
    });
    canvas.addEventListener('dblclick', (event) => {
        const item = itemOf(ui.model, view.pick(event.offsetX, event.offsetY));
        if (item && item.a1 !== undefined)
            axis.fly(item.a0 - (item.a1 - item.a0) * 0.6, item.a1 + (item.a1 - item.a0) * 0.6);
        else
            axis.fit();
    });
}

/* ---- keys ---- */

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
    [['o'], 'axis: time or order', () => setMode(!axis.byOrder)],
    [['t'], 'light or dark', () => switchTheme()],
    [['1', '2', '3', '4'], 'tabs of the panel', (key) => openTab(TABS[Number(key) - 1][0])],
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
        el('dl', null, KEYS.map(([keys, text]) => [el('dt', null, keys.slice(0, 4).map((key) => el('kbd', null, key))), el('dd', null, text)]),
           el('dt', null, el('kbd', null, '←'), el('kbd', null, '→'), el('kbd', null, '↑'), el('kbd', null, '↓')),
           el('dd', null, 'in a view that has the focus: the next pass or resource')),
        el('h2', null, 'Pointer'),
        el('p', null, 'Wheel: zoom (in the grid: scroll; with Ctrl: zoom; with Shift: pan; in memory with Alt: zoom offsets). ' +
                      'Drag: pan. Double click: zoom there. Click: select. Shift-click a second pass: what orders the two.'),
        el('h2', null, 'Signs'),
        el('ul.signs', null, sign('batch', 'a batch of barriers'), sign('critical', 'the critical path: what the frame takes its time from'),
           sign('idle', 'a queue with nothing to do'), sign('from', 'comes before the selection: producers, former tenants'),
           sign('to', 'comes after it: consumers, next tenants')),
        el('form', { method: 'dialog' }, el('button.primary', null, 'Close')));
    byId('keys').showModal();
}

/* ---- modes, light and dark ---- */

function setMode(byOrder) {
    axis.byOrder = byOrder;
    layOut(ui.model, byOrder);
    usageSteps(ui.model);
    axis.extent = ui.model.extent;
    gridView.arrange();
    Array.from(byId('axis-mode').children).forEach((button, i) => button.setAttribute('aria-checked', String((i === 1) === byOrder)));
    axis.set(0, axis.extent);
    repaint();
}

function setTheme(theme) {
    document.documentElement.dataset.theme = theme;
    byId('theme').textContent = theme === 'dark' ? '☀' : '☾';
    byId('theme').title = theme === 'dark' ? 'Light (t)' : 'Dark (t)';
    readColors();
    repaint();
}

function switchTheme() {
    setTheme(document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark');
}

function setUpTheme() {
    const dark = matchMedia('(prefers-color-scheme: dark)');
    setTheme(dark.matches ? 'dark' : 'light');
    dark.addEventListener('change', () => setTheme(dark.matches ? 'dark' : 'light'));
    byId('theme').addEventListener('click', switchTheme);
    let before = null;
    addEventListener('beforeprint', () => {
        before = document.documentElement.dataset.theme;
        setTheme('light');
        paintNow();
    });
    addEventListener('afterprint', () => setTheme(before || 'light'));
}

/* ---- views ---- */

function legend(section, entries) {
    byId(section).querySelector('.legend').replaceChildren(...entries.map(([className, text]) =>
        el('span', null, el('i.swatch.' + className), text)));
}

function setUpControls() {
    const m = ui.model, types = ['graphics', 'compute', 'transfer', 'host'].filter((t) => m.order.some((p) => typeOf(p) === t));
    legend('queues', types.map((t) => ['pass-' + t, t]).concat([['batch', 'barriers'], ['critical', 'critical path']]));
    legend('memory', MEMORY_KINDS.filter(([kind]) => m.resources.some((r) => r.placed && memoryKind(r) === kind))
                                 .map(([kind, text]) => ['res-' + kind, text]));
    legend('grid', [['cell-read', 'reads'], ['cell-write', 'writes'], ['cell-both', 'reads and writes']]);
    const critical = el('button.toggle', { 'aria-pressed': 'true' }, 'Critical path');
    critical.addEventListener('click', () => {
        ui.critical = !ui.critical;
        critical.setAttribute('aria-pressed', String(ui.critical));
        repaint();
    });
    byId('queues').querySelector('.controls').append(critical);
    const related = el('button.toggle', { 'aria-pressed': 'false' }, 'Only what is connected');
    related.addEventListener('click', () => {
        gridView.relatedOnly = !gridView.relatedOnly;
        related.setAttribute('aria-pressed', String(gridView.relatedOnly));
        gridView.arrange();
        repaint();
    });
    byId('grid').querySelector('.controls').append(related);
    ['queues', 'memory', 'grid'].forEach((name) => {
        const large = el('button.enlarge', { 'aria-pressed': 'false', title: 'Only this view', 'aria-label': 'Only this view' }, '⤢');
        large.addEventListener('click', () => {
            const on = byId('views').dataset.only === name;
            byId('views').dataset.only = on ? '' : name;
            large.setAttribute('aria-pressed', String(!on));
        });
        byId(name).querySelector('.controls').append(large);
    });
    byId('axis-mode').replaceChildren(...[['Time', false], ['Order', true]].map(([text, byOrder]) =>
        el('button', { role: 'radio', 'aria-checked': String(!byOrder), onclick: () => setMode(byOrder) }, text)));
    byId('help').addEventListener('click', showHelp);
}

function setUpSplitter() {
    const bar = byId('splitter');
    const set = (width) => document.documentElement.style.setProperty('--side', Math.max(260, Math.min(innerWidth * 0.6, width)) + 'px');
    bar.addEventListener('pointerdown', (event) => bar.setPointerCapture(event.pointerId));
    bar.addEventListener('pointermove', (event) => bar.hasPointerCapture(event.pointerId) && set(innerWidth - event.clientX));
    bar.addEventListener('keydown', (event) => {
        const by = { ArrowLeft: 24, ArrowRight: -24 }[event.key];
        if (by)
            set(byId('side').offsetWidth + by);
    });
}

function setUpViews() {
    byId('queues').querySelector('.stage').style.height = queueView.height() + 'px';
    makeSurface(byId('ruler'), drawRuler);
    [['queues', queueView], ['memory', memoryView], ['grid', gridView]].forEach(([name, view]) => {
        view.surface = makeSurface(byId(name).querySelector('.stage'), view.draw);
        attachPointer(view.surface, view);
        attachKeys(view.surface, view);
    });
    axis.listeners.push(() => gridView.follow(), repaint);
    new ResizeObserver(fitBrush).observe(byId('ruler'));
}

/* ---- how fast: frames while the view pans, as the page itself sees them ---- */

function measure(frames) {
    return new Promise((done) => {
        const lo = axis.lo, hi = axis.hi, times = [], paints = [];
        axis.set(axis.extent * 0.2, axis.extent * 0.6);
        let last = 0, n = 0;
        const next = (now) => {
            if (last)
                times.push(now - last);
            last = now;
            paints.push(paintNow.last || 0);
            if (n++ === frames) {
                axis.set(lo, hi);
                return done({ fps: 1000 / d3.median(times), worst: d3.max(times), paint: d3.median(paints), opened: ui.opened });
            }
            axis.pan(n % 40 < 20 ? 9 : -9);
            requestAnimationFrame(next);
        };
        requestAnimationFrame(next);
    });
}

function start() {
    ui.model = readPlan(JSON.parse(byId('data').textContent));
    setUpTheme();
    layOut(ui.model, false);
    usageSteps(ui.model);
    axis.extent = ui.model.extent;
    setUpTabs();
    setUpFigures();
    setUpControls();
    setUpFilters();
    setUpSearch();
    setUpOverview();
    setUpViews();
    setUpSplitter();
    setUpKeys();
    setMode(false);
    const [first, second] = location.hash.slice(1).split('+');
    openTab('selection');
    if (first)
        select(first, { reveal: true });
    if (second)
        select(second, { add: true });
    paintNow();
    ui.opened = performance.now();
}

/* Where the middle of a pass, batch or submit is on the screen, in the view of the queues. */
function placeOf(key) {
    const item = itemOf(ui.model, key), box = queueView.surface.canvas.getBoundingClientRect();
    const x = axis.x(key[0] === 'b' ? item.a0 : (item.a0 + item.a1) / 2);
    const y = item.queue === NONE ? queueView.culledTop() + 12
            : queueView.laneTop(item.queue) + { b: 6, s: LANE.strip + 1 }[key[0]] || queueView.laneTop(item.queue) + LANE.top + 12;
    return [box.left + x, box.top + y];
}

/* What tests and consoles take hold of. */
window.heddle = { ui, axis, gridView, select, measure, setMode, openTab, itemOf, placeOf, chainLengths };
start();
