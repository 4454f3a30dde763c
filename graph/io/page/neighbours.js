/* A small picture of a pass between those that it reads from and those that read from it. */

const BOX = { width: 112, height: 22, gap: 6, most: 7 };

function neighbourGraph(pass, from, to) {
    if (from.size + to.size === 0)
        return null;
    const left = cutTo(from), right = cutTo(to), rows = Math.max(left.length, right.length, 1);
    const height = rows * (BOX.height + BOX.gap) + 4, width = 368;
    const svg = d3.select(document.createElementNS('http://www.w3.org/2000/svg', 'svg'))
        .attr({ viewBox: '0 0 ' + width + ' ' + height, class: 'neighbours', role: 'img',
                'aria-label': pass.label + ': reads from ' + countText(from.size, 'pass') + ', is read by ' +
                              countText(to.size, 'pass') });
    const middle = { x: (width - BOX.width) / 2, y: (height - BOX.height) / 2, pass, role: 'self' };
    const place = (list, x, role) => list.map((entry, i) => ({
        x, y: (height - list.length * (BOX.height + BOX.gap) + BOX.gap) / 2 + i * (BOX.height + BOX.gap), role,
        pass: entry.pass, text: entry.text, through: entry.through }));
    const boxes = place(left, 1, 'from').concat(place(right, width - BOX.width - 1, 'to'));
    boxes.forEach((box) => {
        const [a, b] = box.role === 'from' ? [box, middle] : [middle, box];
        const x0 = a.x + BOX.width, y0 = a.y + BOX.height / 2, x1 = b.x, y1 = b.y + BOX.height / 2,
            bend = (x0 + x1) / 2;
        svg.append('path').attr({ d: `M${x0},${y0}C${bend},${y0} ${bend},${y1} ${x1},${y1}`,
            class: 'edge ' + box.role })
            .append('title').text(box.through || '');
    });
    boxes.concat(middle).forEach((box) => paintBox(svg, box));
    return el('div.block', null, el('h3', null, 'Between its neighbours'), svg.node());
}

function cutTo(map) {
    const all = Array.from(map.entries()).map(([pass, through]) => ({
        pass, through: Array.from(new Set(through.map((res) => res.label))).join(', ') }));
    if (all.length <= BOX.most)
        return all;
    return all.slice(0, BOX.most - 1).concat({ text: 'and ' + (all.length - BOX.most + 1) + ' more' });
}

function paintBox(svg, box) {
    const group = svg.append('g').attr({ transform: `translate(${box.x},${box.y})`, class: 'box ' + box.role });
    if (box.pass)
        group.attr({ 'data-key': 'p' + box.pass.id, class: 'box ' + box.role + ' pass-' + typeOf(box.pass) });
    if (box.pass)
        group.append('rect').attr({ width: BOX.width, height: BOX.height, rx: 3 });
    group.append('text').attr({ x: 9, y: BOX.height / 2 + 4 })
        .text(cutLabel(box.pass ? box.pass.label : box.text, box.role === 'self' ? 14 : 15));
    group.append('title').text((box.pass ? box.pass.label : box.text) + (box.through ? '\nthrough ' + box.through
        : ''));
}

function cutLabel(text, letters) {
    const all = Array.from(text);
    return all.length <= letters ? text : all.slice(0, letters - 1).join('') + '…';
}
