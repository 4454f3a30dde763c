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
        axis.reveal(key[0] === 'r' ? item.u0 : item.a0,
                    key[0] === 'r' ? item.u1 : item.a1 === undefined ? item.a0 : item.a1);
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

/* The note of a figure: beside another plan what it was there. */
function noteOf(name, note) {
    const total = ui.model.before && totals(ui.model).find((t) => t.name === name);
    return total ? (total.now === total.before ? 'as before' : 'was ' + total.text(total.before)) : note;
}

function setUpFigures() {
    const m = ui.model, saved = m.stats.unaliased_bytes - m.heapBytes, number = d3.format(',');
    const waits = d3.sum(m.submits, (s) => s.waits.length);
    const list = (tab, value) => () => {
        listState[tab] = value;
        openTab(tab);
    };
    const culled = m.culled.length ? m.culled.length + ' of ' + m.passes.length + ' culled' : 'none culled';
    const aliasing = saved > 0 ? 'aliasing saves ' + bytesText(saved) + ' of ' + bytesText(m.stats.unaliased_bytes)
                               : 'nothing is shared';
    const frame = ui.mode === 'measured' ? 'simulated ' + timeText(m.simulated.duration)
                                         : 'dependencies alone ' + timeText(m.stats.critical_path_us);
    byId('figures').replaceChildren(
        figure('Passes', number(m.order.length), noteOf('passes', culled),
               list('passes', m.culled.length ? 'culled' : 'time')),
        figure('Frame', timeText(m.duration), noteOf('frame', frame), list('passes', 'cost')),
        figure('Memory', bytesText(m.heapBytes), noteOf('heaps', aliasing), list('resources', 'size')),
        figure('Barriers', number(m.barriers.length), noteOf('barriers', 'in ' + countText(m.batches.length, 'batch')),
               list('sync', 'all')),
        figure('Submits', number(m.submits.length), noteOf('submits', countText(waits, 'semaphore wait')),
               list('sync', 'waits')));
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
    ctx.fillText(axis.byOrder ? 'passes by their begin' : ui.mode + ' time', 16, height - 12);
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
    const m = ui.model, room = width - GUTTER - EDGE, top = 6, high = 24, rows = m.queues.length || 1,
        tall = high / rows;
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

/* ---- modes, light and dark ---- */

/* simulated, measured or order. */
function setMode(mode) {
    ui.mode = mode;
    setUpLegends();
    setUpModes();
    setUpFilters();
    axis.byOrder = mode === 'order';
    showTimes(ui.model, mode);
    axis.extent = ui.model.extent;
    gridView.arrange();
    Array.from(byId('axis-mode').children).forEach(
        (button, i) => button.setAttribute('aria-checked', String(ui.modes[i][1] === mode)));
    axis.set(0, axis.extent);
    setUpFigures();
    showTab();
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

function setUpLegends() {
    const m = ui.model, types = ['graphics', 'compute', 'transfer',
                                 'host'].filter((t) => m.order.some((p) => typeOf(p) === t));
    legend('queues', types.map((t) => ['pass-' + t, t]).concat([['batch', 'barriers'], ['critical', 'critical path']],
                         m.before ? [['added', 'new'], ['changed', 'changed'], ['gone', 'gone']] : []));
    legend('memory', MEMORY_KINDS.filter(([kind]) => m.resources.some((r) => r.placed && memoryKind(r) === kind))
                                 .map(([kind, text]) => ['res-' + kind, text]));
    legend('grid', [['cell-read', 'reads'], ['cell-write', 'writes'], ['cell-both', 'reads and writes']]);
}

function setUpControls() {
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
        const large = el('button.enlarge', { 'aria-pressed': 'false', title: 'Only this view',
            'aria-label': 'Only this view' }, '⤢');
        large.addEventListener('click', () => {
            const on = byId('views').dataset.only === name;
            byId('views').dataset.only = on ? '' : name;
            large.setAttribute('aria-pressed', String(!on));
        });
        byId(name).querySelector('.controls').append(large);
    });
    byId('help').addEventListener('click', showHelp);
}

/* Which times and orders the axis can have. */
function setUpModes() {
    const m = ui.model;
    ui.modes = (m.spans ? [['Measured', 'measured'], ['Simulated', 'simulated']] : [['Time', 'simulated']])
        .concat([['Order', 'order']]);
    byId('axis-mode').replaceChildren(...ui.modes.map(([text, mode]) =>
        el('button', { role: 'radio', 'aria-checked': 'false', onclick: () => setMode(mode) }, text)));
}

function setUpSplitter() {
    const bar = byId('splitter');
    const set = (width) => document.documentElement.style.setProperty('--side',
        Math.max(260, Math.min(innerWidth * 0.6, width)) + 'px');
    bar.addEventListener('pointerdown', (event) => bar.setPointerCapture(event.pointerId));
    bar.addEventListener('pointermove', (event) => bar.hasPointerCapture(event.pointerId) &&
                         set(innerWidth - event.clientX));
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
                return done({ fps: 1000 / d3.median(times), worst: d3.max(times), paint: d3.median(paints),
                    opened: ui.opened });
            }
            axis.pan(n % 40 < 20 ? 9 : -9);
            requestAnimationFrame(next);
        };
        requestAnimationFrame(next);
    });
}

function start() {
    const raw = JSON.parse(byId('data').textContent);
    setUpTheme();
    if (!raw)
        return waitForFirst();
    ui.model = readPlan(raw);
    showTimes(ui.model, ui.model.spans ? 'measured' : 'simulated');
    axis.extent = ui.model.extent;
    if (ui.model.before)
        TABS.unshift(CHANGES_TAB);
    setUpTabs();
    setUpControls();
    setUpSearch();
    setUpOverview();
    setUpViews();
    setUpSplitter();
    setUpKeys();
    setMode(ui.model.spans ? 'measured' : 'simulated');
    setUpLive();
    const [first, second] = location.hash.slice(1).split('+');
    openTab(TABS[0][0]);
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
            : queueView.laneTop(item.queue) + { b: 6, s: LANE.strip + 1 }[key[0]] ||
                queueView.laneTop(item.queue) + LANE.top + 12;
    return [box.left + x, box.top + y];
}

/* What tests and consoles take hold of. */
window.heddle = { ui, deltaText, totals, axis, surfaces, gridView, select, measure, setMode, openTab, itemOf, placeOf,
    chainLengths };
start();
