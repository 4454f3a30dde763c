/* The report of heddle-bench: rows of results as plots and a table. `data` is what --json writes. */
const data = JSON.parse(document.getElementById('data').textContent);
const rows = data.rows.map((row, index) => Object.assign({ index }, row));
const accepted = rows.filter(row => row.verdict === 'accepted');
const environments = data.environments || [];

/* An implementation: an adapter, and where several machines are merged, on which of them. */
const nameOf = row => environments.length > 1 ? `${row.adapter} (${(row.environment || 0) + 1})` : row.adapter;
const names = [...new Set(rows.map(nameOf))];
const colorOf = name => `var(--s${names.indexOf(name) % 6})`;
const median = value => value === undefined || value === null ? NaN : typeof value === 'object' ? value.median : value;
const grouped = d3.format(',.0f');
const format = value => Math.abs(value) >= 100 ? grouped(value) : String(+value.toPrecision(3));
const short = value => value >= 1e6 ? `${value / 1e6}M` : value >= 1000 ? `${value / 1000}k` : String(value);
const percent = value => `${value > 0 ? '+' : ''}${+(100 * value).toFixed(1)} %`;
const bytes = value => isNaN(value) ? '' : `${d3.format(',.1f')(value / 1048576)} MiB`;
const sorted = (list, by) => list.slice().sort((a, b) => d3.ascending(by(a), by(b)));
const least = (list, by) => sorted(list, by)[0];
function group(list, by) {
    const map = new Map();
    for (const item of list)
        map.set(by(item), (map.get(by(item)) || []).concat([item]));
    return map;
}
/* An element of `selection` for each of the data. */
const each = (selection, tag, list) => selection.selectAll(tag).data(list).enter().append(tag);
const families = [...new Set(rows.map(row => row.family))];

const state = { queues: d3.min(rows, row => row.queues), mode: 'turns', sort: 'index', down: false, find: '' };

/* ---- small parts ---- */

const tip = document.getElementById('tip');
function tells(selection, text) {
    selection
        .on('pointermove', d => {
            const event = d3.event;
            tip.textContent = text(d);
            tip.hidden = false;
            tip.style.left = `${Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8)}px`;
            tip.style.top = `${Math.min(event.clientY + 14, innerHeight - tip.offsetHeight - 8)}px`;
        })
        .on('pointerleave', () => { tip.hidden = true; });
    selection.append('title').text(text); /* for screen readers */
}

function describe(row) {
    const q = row.quality;
    return `${nameOf(row)}  ${row.workload}, ${row.queues} queue${row.queues > 1 ? 's' : ''}, ${row.mode}\n` +
        `${format(row.total.median)} ns a pass (${format(row.total.low)} to ${format(row.total.high)})\n` +
        `${q.batches} batches, ${q.waits} waits, heap ${bytes(q.heap_bytes)}`;
}

function plot(parent, width, height, label) {
    return d3.select(parent).append('svg').attr('viewBox', `0 0 ${width} ${height}`).attr('role', 'img')
        .attr('aria-label', label);
}

/* Ticks of two scales, either of which may be null. */
function axes(svg, x, y, frame, xTicks, yTicks, xFormat, yFormat) {
    const axis = svg.append('g').attr('class', 'axis');
    for (const tick of yTicks) {
        axis.append('line').attr('x1', frame.left).attr('x2', frame.right).attr('y1', y(tick)).attr('y2', y(tick));
        axis.append('text').attr('x', frame.left - 8).attr('y', y(tick) + 4).attr('text-anchor', 'end').text(yFormat(tick));
    }
    for (const tick of xTicks) {
        if (!y)
            axis.append('line').attr('x1', x(tick)).attr('x2', x(tick)).attr('y1', frame.top).attr('y2', frame.bottom);
        axis.append('text').attr('x', x(tick)).attr('y', frame.bottom + 17).attr('text-anchor', 'middle').text(xFormat(tick));
    }
}

/* Round numbers of a log scale, few enough to be read. */
function logTicks(scale) {
    const [low, high] = scale.domain(), out = [];
    for (let power = -1; power < 10; power++)
        out.push(...[1, 2, 5].map(digit => digit * 10 ** power).filter(v => v >= low && v <= high));
    return out.length > 7 ? out.filter(v => /^1/.test(String(v))) : out;
}

function segments(id, values, labels, key) {
    const parent = d3.select(`#${id}`);
    parent.selectAll('*').remove();
    each(parent, 'button', values).text((d, i) => labels[i]).attr('role', 'radio')
        .attr('aria-checked', d => String(state[key] === d)).on('click', d => { state[key] = d; draw(); });
}

/* ---- time over size ---- */

function drawSizes() {
    const parent = document.querySelector('#sizes .panels');
    parent.replaceChildren();
    const chosen = accepted.filter(row => row.queues === state.queues && row.mode === state.mode && row.workers === 1 &&
                                          !row.budget);
    const xs = d3.extent(chosen, row => row.passes);
    const ys = [d3.min(chosen, row => row.total.low), d3.max(chosen, row => row.total.high)];
    for (const family of families) {
        const own = chosen.filter(row => row.family === family);
        if (own.length === 0)
            continue;
        const panel = d3.select(parent).append('div');
        panel.append('h3').text(family);
        const width = 300, height = 190, frame = { left: 40, right: 290, top: 10, bottom: 160 };
        const svg = plot(panel.node(), width, height, `Nanoseconds a pass over passes, ${family}`);
        const x = d3.scale.log().domain([xs[0] * 0.85, xs[1] * 1.2]).range([frame.left, frame.right]);
        const y = d3.scale.log().domain([ys[0] * 0.8, ys[1] * 1.3]).range([frame.bottom, frame.top]);
        axes(svg, x, y, frame, [50, 200, 1000, 5000, 20000].filter(v => v >= x.domain()[0] && v <= x.domain()[1]),
            logTicks(y), short, short);
        for (const [name, list] of group(own, nameOf)) {
            const line = sorted(list, row => row.passes), at = row => x(row.passes);
            svg.append('path').attr('fill', colorOf(name)).attr('opacity', 0.15)
                .attr('d', d3.svg.area().x(at).y0(row => y(row.total.low)).y1(row => y(row.total.high))(line));
            svg.append('path').attr('fill', 'none').attr('stroke', colorOf(name)).attr('stroke-width', 2)
                .attr('d', d3.svg.line().x(at).y(row => y(row.total.median))(line));
            each(svg.append('g'), 'circle', line).attr('cx', row => x(row.passes))
                .attr('cy', row => y(row.total.median)).attr('r', 3.5).attr('fill', colorOf(name)).call(tells, describe);
        }
    }
    hideEmpty('sizes', chosen.length);
}

function hideEmpty(id, count) {
    document.getElementById(id).hidden = count === 0;
}

/* The rows whose size is nearest to 1000 passes, one a family and implementation. */
function typical(test) {
    const chosen = accepted.filter(row => row.workers === 1 && !row.budget && row.queues === state.queues && test(row));
    const lists = [...group(chosen, row => `${row.family} ${nameOf(row)} ${row.mode}`).values()];
    return lists.map(list => least(list, row => Math.abs(Math.log(row.passes / 1000))));
}

/* ---- phases ---- */

function drawPhases() {
    const parent = document.querySelector('#phases .plot');
    parent.replaceChildren();
    const chosen = typical(row => row.phases);
    hideEmpty('phases', chosen.length);
    if (chosen.length === 0)
        return;
    const keys = [...new Set(chosen.flatMap(row => Object.keys(row.phases)))]
        .filter(key => d3.max(chosen, row => row.phases[key] || 0) > 0.5);
    const hue = key => String(d3.hcl(20 + 330 * keys.indexOf(key) / keys.length, 48, 62));
    const width = 620, row_height = 26, frame = { left: 108, right: 570, top: 6 };
    const height = frame.top + chosen.length * row_height + 26 + 22 * Math.ceil(keys.length / 6);
    const svg = plot(parent, width, height, 'Phases of a compile by family');
    const x = d3.scale.linear().domain([0, d3.max(chosen, row => d3.sum(keys, key => row.phases[key] || 0) + median(row.declare))])
        .range([frame.left, frame.right]);
    chosen.forEach((row, i) => {
        const y = frame.top + i * row_height;
        let at = 0;
        const parts = [['declare', median(row.declare)], ...keys.map(key => [key, row.phases[key] || 0])];
        svg.append('text').attr('class', 'name').attr('x', frame.left - 10).attr('y', y + 15)
            .attr('text-anchor', 'end').text(row.family);
        each(svg.append('g'), 'rect', parts).attr('x', d => { const from = at; at += d[1]; return x(from); })
            .attr('y', y + 2).attr('height', row_height - 7).attr('width', d => Math.max(0, x(d[1]) - x(0) - 0.6))
            .attr('fill', d => d[0] === 'declare' ? 'var(--faint)' : hue(d[0])).attr('opacity', 0.85)
            .call(tells, d => `${row.workload}: ${d[0]}  ${format(d[1])} ns a pass`);
        svg.append('text').attr('class', 'value').attr('x', x(at) + 6).attr('y', y + 15).text(format(at));
    });
    const legend = svg.append('g').attr('transform', `translate(${frame.left},${frame.top + chosen.length * row_height + 14})`);
    ['declare', ...keys].forEach((key, i) => {
        const g = legend.append('g').attr('transform', `translate(${(i % 6) * 84},${Math.floor(i / 6) * 20})`);
        g.append('rect').attr('width', 10).attr('height', 10).attr('rx', 2).attr('opacity', 0.85)
            .attr('fill', key === 'declare' ? 'var(--faint)' : hue(key));
        g.append('text').attr('x', 15).attr('y', 9).text(key);
    });
}

/* ---- modes ---- */

function drawKinds() {
    const parent = document.querySelector('#kinds .plot');
    parent.replaceChildren();
    const order = ['unchanged', 'changed', 'turns', 'cold'];
    const chosen = typical(() => true);
    const own = families.filter(family => new Set(chosen.filter(row => row.family === family).map(row => row.mode)).size > 1);
    const shown = chosen.filter(row => own.includes(row.family));
    hideEmpty('kinds', shown.length);
    if (shown.length === 0)
        return;
    const shapes = ['circle', 'diamond', 'square', 'triangle-up'];
    const mark = (mode, size) => d3.svg.symbol().type(shapes[order.indexOf(mode)]).size(size)();
    const width = 620, row_height = 20, frame = { left: 108, right: 590, top: 26 };
    const lines = own.flatMap(family => names.filter(name => shown.some(row => row.family === family && nameOf(row) === name))
        .map(name => [family, name]));
    const svg = plot(parent, width, frame.top + lines.length * row_height + 46, 'Modes by family');
    const x = d3.scale.log().domain([d3.min(shown, row => row.total.median) * 0.8, d3.max(shown, row => row.total.median) * 1.2])
        .range([frame.left, frame.right]);
    const bottom = frame.top + lines.length * row_height;
    axes(svg, x, null, { top: frame.top, bottom }, logTicks(x), [], short, String);
    order.forEach((mode, i) => {
        const g = svg.append('g').attr('transform', `translate(${frame.left + 6 + i * 96},8)`);
        g.append('path').attr('d', mark(mode, 44)).attr('fill', 'var(--muted)');
        g.append('text').attr('x', 10).attr('y', 4).text(mode);
    });
    lines.forEach(([family, name], i) => {
        const y = frame.top + i * row_height + row_height / 2;
        const points = shown.filter(row => row.family === family && nameOf(row) === name);
        if (i === 0 || lines[i - 1][0] !== family)
            svg.append('text').attr('class', 'name').attr('x', frame.left - 10).attr('y', y + 4).attr('text-anchor', 'end').text(family);
        svg.append('line').attr('x1', x(d3.min(points, row => row.total.median))).attr('x2', x(d3.max(points, row => row.total.median)))
            .attr('y1', y).attr('y2', y).attr('stroke', colorOf(name)).attr('opacity', 0.3).attr('stroke-width', 2);
        each(svg.append('g'), 'path', points).attr('d', row => mark(row.mode, 56))
            .attr('transform', row => `translate(${x(row.total.median)},${y})`).attr('fill', colorOf(name)).call(tells, describe);
    });
}

/* ---- workers ---- */

function drawWorkers() {
    const parent = document.querySelector('#workers .plot');
    parent.replaceChildren();
    const several = accepted.filter(row => row.workers > 1 && row.queues === state.queues);
    const lines = [...group(several, row => `${nameOf(row)}, ${row.workload}`)].map(([key, list]) => {
        const one = accepted.find(row => row.workers === 1 && row.workload === list[0].workload && row.mode === list[0].mode &&
                                         row.queues === list[0].queues && nameOf(row) === nameOf(list[0]));
        return one && { key, points: [[1, 1], ...sorted(list, row => row.workers).map(row =>
            [row.workers, one.compile.median / row.compile.median])] };
    }).filter(Boolean);
    hideEmpty('workers', lines.length);
    if (lines.length === 0)
        return;
    const most = d3.max(lines, line => d3.max(line.points, p => p[0]));
    const width = 620, height = 250, frame = { left: 40, right: 480, top: 12, bottom: 220 };
    const svg = plot(parent, width, height, 'Speed over workers');
    const x = d3.scale.log().base(2).domain([1, most]).range([frame.left, frame.right]);
    const y = d3.scale.log().base(2).domain([0.8, most]).range([frame.bottom, frame.top]);
    const counts = d3.range(0, Math.floor(Math.log2(most)) + 1).map(e => 2 ** e);
    axes(svg, x, y, frame, counts, counts, String, d => `${d}×`);
    svg.append('path').attr('class', 'ideal').attr('d', d3.svg.line().x(x).y(y)([1, most]));
    lines.forEach((line, i) => {
        const color = `var(--s${i % 6})`, last = line.points.at(-1);
        svg.append('path').attr('fill', 'none').attr('stroke', color).attr('stroke-width', 2)
            .attr('d', d3.svg.line().x(p => x(p[0])).y(p => y(Math.max(0.8, p[1])))(line.points));
        each(svg.append('g'), 'circle', line.points).attr('cx', p => x(p[0]))
            .attr('cy', p => y(Math.max(0.8, p[1]))).attr('r', 3.5).attr('fill', color)
            .call(tells, p => `${line.key}: ${p[0]} workers, ${d3.format('.2f')(p[1])} times`);
        svg.append('text').attr('x', x(last[0]) + 9).attr('y', y(Math.max(0.8, last[1])) + 4 + i * 2).text(line.key.replace(/^.*, /, ''));
    });
}

/* ---- memory against barriers ---- */

function drawFront() {
    const parent = document.querySelector('#front .panels');
    parent.replaceChildren();
    const chosen = accepted.filter(row => row.queues === state.queues && row.mode === 'turns' && row.workers === 1 &&
                                          row.quality.batches > 0 && row.quality.heap_bytes > 0);
    let shown = 0;
    for (const family of families) {
        const own = chosen.filter(row => row.family === family);
        const size = least(own, row => Math.abs(Math.log(row.passes / 1000)));
        const points = size ? own.filter(row => row.passes === size.passes) : [];
        if (points.length < 2)
            continue;
        shown++;
        const panel = d3.select(parent).append('div');
        panel.append('h3').text(`${family}, ${size.passes} passes`);
        const width = 300, height = 190, frame = { left: 48, right: 290, top: 10, bottom: 160 };
        const svg = plot(panel.node(), width, height, `Heap against barrier batches, ${family}`);
        const mib = row => row.quality.heap_bytes / 1048576, batches = row => row.quality.batches;
        const x = d3.scale.log().domain([d3.min(points, mib) * 0.7, d3.max(points, mib) * 1.5]).range([frame.left, frame.right]);
        const y = d3.scale.log().domain([d3.min(points, batches) * 0.7, d3.max(points, batches) * 1.4])
            .range([frame.bottom, frame.top]);
        axes(svg, x, y, frame, logTicks(x), logTicks(y), short, short);
        svg.append('text').attr('x', frame.right).attr('y', frame.bottom + 30).attr('text-anchor', 'end').text('heap, MiB');
        for (const [name, list] of group(points, nameOf)) {
            const line = sorted(list, mib);
            svg.append('path').attr('fill', 'none').attr('stroke', colorOf(name)).attr('opacity', 0.5)
                .attr('d', d3.svg.line().x(row => x(mib(row))).y(row => y(batches(row)))(line));
            each(svg.append('g'), 'circle', line).attr('cx', row => x(mib(row)))
                .attr('cy', row => y(batches(row))).attr('r', row => row.budget ? 3.5 : 5.5).attr('fill', colorOf(name))
                .call(tells, row => `${describe(row)}${row.budget ? `\nbudget ${bytes(row.budget)}` : ''}`);
        }
    }
    hideEmpty('front', shown);
}

/* ---- against a baseline ---- */

function drawChanges() {
    const parent = document.querySelector('#changes .plot');
    parent.replaceChildren();
    const chosen = accepted.filter(row => row.baseline && row.baseline.total > 0)
        .map(row => ({ row, change: row.total.median / row.baseline.total - 1, sure: row.baseline.p <= 0.01 }));
    hideEmpty('changes', chosen.length);
    if (chosen.length === 0)
        return;
    const bars = sorted(chosen, d => -d.change), height = 16;
    const most = Math.max(0.05, d3.max(bars, d => Math.abs(d.change)));
    const width = 1240, frame = { left: 330, right: 1180, top: 8 };
    const svg = plot(parent, width, frame.top + bars.length * height + 30, 'Change against the baseline');
    const x = d3.scale.linear().domain([-most, most]).range([frame.left, frame.right]);
    axes(svg, x, null, { top: frame.top, bottom: frame.top + bars.length * height }, x.ticks(7), [], percent, String);
    bars.forEach((d, i) => {
        const y = frame.top + i * height;
        svg.append('text').attr('x', frame.left - 10).attr('y', y + 11).attr('text-anchor', 'end')
            .text(`${nameOf(d.row)} ${d.row.workload} q${d.row.queues} ${d.row.mode}${d.row.workers > 1 ? ` w${d.row.workers}` : ''}`);
        each(svg.append('g'), 'rect', [d]).attr('x', x(Math.min(0, d.change))).attr('y', y + 3)
            .attr('width', Math.max(1, Math.abs(x(d.change) - x(0)))).attr('height', height - 5).attr('rx', 2)
            .attr('fill', !d.sure ? 'var(--faint)' : d.change > 0 ? 'var(--bad)' : 'var(--good)')
            .call(tells, () => `${describe(d.row)}\nbefore ${format(d.row.baseline.total)}, p ${d3.format('.2g')(d.row.baseline.p)}`);
        svg.append('text').attr('class', 'value').attr('x', d.change >= 0 ? x(d.change) + 5 : x(d.change) - 5).attr('y', y + 11)
            .attr('text-anchor', d.change >= 0 ? 'start' : 'end').text(d.sure ? percent(d.change) : '~');
    });
}

/* ---- table ---- */

const columns = [
    ['adapter', row => nameOf(row)], ['workload', row => row.workload], ['mode', row => row.mode],
    ['verdict', row => row.verdict], ['queues', row => row.queues], ['workers', row => row.workers],
    ['budget', row => row.budget ? bytes(row.budget) : ''],
    ['declare', row => median(row.declare)], ['compile', row => median(row.compile)], ['ns a pass', row => median(row.total)],
    ['± quartiles', row => row.total ? (row.total.high - row.total.low) / 2 : NaN],
    ['× floor', row => median(row.total) / median(row.floor)], ['instructions', row => median(row.instructions)],
    ['allocations', row => median(row.allocations)],
    ...[['batches', 'batches'], ['barriers', 'barriers'], ['waits', 'waits'], ['submits', 'submits']]
        .map(([name, key]) => [name, row => row.quality ? row.quality[key] : NaN]),
    ['heap MiB', row => row.quality ? row.quality.heap_bytes / 1048576 : NaN],
    ['heap / peak', row => row.quality ? row.quality.heap_bytes / row.quality.peak_live_bytes : NaN],
    ['makespan ms', row => row.quality ? row.quality.makespan_us / 1000 : NaN],
];

function drawTable() {
    const table = d3.select('#table table');
    table.selectAll('*').remove();
    const column = columns.find(c => c[0] === state.sort);
    const words = state.find.toLowerCase().split(/\s+/).filter(Boolean);
    const shown = rows.filter(row => {
        const text = `${nameOf(row)} ${row.workload} ${row.mode} q${row.queues} ${row.queues} w${row.workers} ${row.verdict}`.toLowerCase();
        return words.every(word => text.includes(word));
    });
    const value = row => column ? column[1](row) : row.index;
    const missing = v => typeof v === 'number' && isNaN(v); /* rows without a number stand last */
    shown.sort((a, b) => {
        const x = value(a), y = value(b);
        if (missing(x) || missing(y))
            return missing(x) - missing(y) || a.index - b.index;
        return (state.down ? -1 : 1) * d3.ascending(x, y) || a.index - b.index;
    });
    each(table.append('thead').append('tr'), 'th', columns).text(c => c[0]).attr('tabindex', 0)
        .attr('aria-sort', c => c[0] !== state.sort ? 'none' : state.down ? 'descending' : 'ascending')
        .each(function (c) {
            const choose = event => {
                if (event.type === 'keydown' && event.key !== 'Enter' && event.key !== ' ')
                    return;
                event.preventDefault();
                state.down = state.sort === c[0] && !state.down;
                state.sort = c[0];
                drawTable();
            };
            this.addEventListener('click', choose);
            this.addEventListener('keydown', choose);
        });
    const lines = each(table.append('tbody'), 'tr', shown);
    lines.each(function (row) {
        const tr = d3.select(this), failed = row.verdict !== 'accepted';
        columns.slice(0, failed ? 6 : columns.length).forEach(([name, of], i) => {
            const v = of(row), td = tr.append('td');
            if (i === 0)
                td.append('span').attr('class', 'dot').style('background', colorOf(v));
            td.append('span').text(typeof v === 'number' ? isNaN(v) ? '' : format(v) : v);
        });
        if (failed)
            tr.append('td').attr('class', 'failed').attr('colspan', columns.length - 6).text(row.reason || '');
    });
}

/* ---- all ---- */

function drawAbout() {
    const parent = d3.select('.environments');
    parent.selectAll('*').remove();
    each(parent, 'dl', environments).each(function (environment, i) {
        const dl = d3.select(this);
        if (environments.length > 1) {
            dl.append('dt').text('machine');
            dl.append('dd').text(i + 1);
        }
        for (const [key, value] of Object.entries(environment)) {
            dl.append('dt').text(key);
            dl.append('dd').text(value);
        }
    });
}

function draw() {
    const queues = sorted([...new Set(rows.map(row => row.queues))], q => q);
    const modes = ['turns', 'changed', 'unchanged', 'cold'].filter(mode => rows.some(row => row.mode === mode));
    segments('queues', queues, queues.map(q => `${q} queue${q > 1 ? 's' : ''}`), 'queues');
    segments('modes', modes, modes.map(mode => ({ turns: 'every frame new', changed: '1 % changed' })[mode] || mode), 'mode');
    d3.selectAll('#legend *').remove();
    each(d3.select('#legend'), 'span', names).each(function (name) {
        d3.select(this).append('i').style('background', colorOf(name));
        d3.select(this).append('b').text(name);
    });
    drawSizes();
    drawPhases();
    drawKinds();
    drawWorkers();
    drawFront();
    drawChanges();
    drawTable();
    drawAbout();
    document.body.dataset.drawn = 'yes';
}

const root = document.documentElement;
root.dataset.theme = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
document.getElementById('theme').addEventListener('click', () => {
    root.dataset.theme = root.dataset.theme === 'dark' ? 'light' : 'dark';
});
document.getElementById('find').addEventListener('input', event => { state.find = event.target.value; drawTable(); });
draw();
