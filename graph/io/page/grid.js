/* Passes x resources: a row a resource, a cell where a pass uses it. */

const ROW = 20, HEAD = 74;

const gridView = {
    rows: [], offset: 0, relatedOnly: false,

    /* Rows in the order of first use; those that filters let through. */
    arrange() {
        const m = ui.model, related = this.relatedOnly && ui.lit;
        this.rows = m.resources.filter((r) => resShown(r) && (!related || ui.lit.resources.has(r.id)));
        this.rows.sort((a, b) => a.u0 - b.u0 || a.id - b.id);
        this.rows.forEach((r, i) => (r.row = i));
        this.scroll(0, this.surface ? this.surface.height : 0);
    },
    scroll(by, height) {
        const most = Math.max(0, this.rows.length * ROW - (height - HEAD));
        this.offset = Math.max(0, Math.min(most, this.offset + by));
    },
    /* Where there are many rows, those that are used first in the stretch that is shown come along. */
    follow() {
        const room = this.surface.height - HEAD;
        if (ui.selected || this.rows.length * ROW < room * 2 || axis.lo === this.followed)
            return;
        this.followed = axis.lo;
        this.offset = axis.lo > 0 ? (d3.bisector((r) => r.u0).left(this.rows, axis.lo) - 2) * ROW : 0;
        this.scroll(0, this.surface.height);
    },
    reveal(res) {
        const room = this.surface.height - HEAD, top = res.row * ROW;
        if (this.rows[res.row] !== res || (top >= this.offset && top + ROW <= this.offset + room))
            return;
        this.offset = top - room / 2;
        this.scroll(0, this.surface.height);
    },
    draw(ctx, width, height) {
        const first = Math.floor(gridView.offset / ROW), count = Math.ceil((height - HEAD) / ROW) + 1;
        const rows = gridView.rows.slice(first, first + count);
        const top = (i) => HEAD + (first + i) * ROW - gridView.offset;
        clipToPlot(ctx, width, height);
        rows.forEach((res, i) => paintRowBack(ctx, res, top(i), width));
        paintTicks(ctx, height, HEAD);
        paintBands(ctx, height);
        rows.forEach((res, i) => paintRow(ctx, res, top(i)));
        paintPassNames(ctx, width);
        ctx.restore();
        ctx.fillStyle = colors.panel;
        ctx.fillRect(0, 0, GUTTER, height);
        rows.forEach((res, i) => paintRowName(ctx, res, top(i)));
        paintGridCorner(ctx, height);
    },
    pick(x, y) {
        if (y < HEAD) {
            const name = (this.names || []).find((n) => Math.abs(x - n.x - (HEAD - y) * 0.62) < 8);
            return name ? 'p' + name.pass.id : null;
        }
        const res = this.rows[Math.floor((y - HEAD + this.offset) / ROW)];
        if (!res)
            return null;
        if (x < GUTTER)
            return 'r' + res.id;
        let best = null;
        for (const use of res.uses) {
            const x0 = axis.x(use.pass.a0), x1 = Math.max(x0 + 3, axis.x(use.pass.a1));
            if (x >= x0 - 1 && x <= x1 + 1 && (!best || use.pass.queue > best.pass.queue))
                best = use;
        }
        return best ? 'p' + best.pass.id : 'r' + res.id;
    },
};

function paintRowBack(ctx, res, y, width) {
    if (ui.selected === 'r' + res.id || ui.hover === 'r' + res.id) {
        ctx.globalAlpha = ui.selected === 'r' + res.id ? 0.12 : 0.06;
        ctx.fillStyle = colors.accent;
        ctx.fillRect(GUTTER, y, width - GUTTER, ROW);
        ctx.globalAlpha = 1;
    }
    ctx.fillStyle = colors.grid;
    ctx.fillRect(GUTTER, y + ROW - 1, width - GUTTER, 1);
}

function paintRow(ctx, res, y) {
    const lit = !ui.lit || ui.lit.resources.has(res.id);
    ctx.fillStyle = lit ? colors.faint : colors.line;
    if (res.uses.length) {
        const x0 = axis.x(res.u0), x1 = axis.x(res.u1);
        ctx.fillRect(x0, y + ROW / 2 - 0.5, Math.max(1, x1 - x0), 1);
    }
    let end = -1;
    for (const use of res.uses) {
        const pass = use.pass;
        if (pass.a1 < axis.lo || pass.a0 > axis.hi)
            continue;
        const x0 = axis.x(pass.a0), x1 = Math.max(x0 + 2, axis.x(pass.a1));
        if (x1 - end < 0.7 && end - x1 < 1)
            continue;
        end = x1;
        paintCell(ctx, use, x0 + (x1 - x0 > 5 ? 1 : 0), y + 3, x1 - x0 - (x1 - x0 > 5 ? 2 : 0), ROW - 7);
    }
}

/* Full where it writes, pale where it reads, between the two for both; flat where the pass is culled. */
function paintCell(ctx, use, x, y, width, height) {
    const pass = use.pass, key = 'p' + pass.id, type = typeOf(pass);
    const related = !ui.lit || ui.lit.passes.has(pass.id);
    const mine = ui.selected === key || ui.selected === 'r' + use.res.id || !ui.lit;
    const strong = related && passShown(pass) && (mine || ui.lit.resources.has(use.res.id));
    const full = strong ? colors[type] : colors.fill[type], pale = colors.quiet[type];
    if (pass.culled) {
        ctx.fillStyle = strong ? colors.culled : colors.fill.culled;
        return ctx.fillRect(x, y + height - 3, width, 4);
    }
    ctx.fillStyle = use.kind === 'read' ? pale : use.kind === 'both' && strong ? colors.half[type] : full;
    ctx.fillRect(x, y, width, height);
    if (width > 4) {
        ctx.strokeStyle = full;
        ctx.lineWidth = 1.5;
        ctx.strokeRect(x + 0.75, y + 0.75, width - 1.5, height - 1.5);
    } else if (use.kind === 'read') {
        ctx.fillStyle = full;
        ctx.fillRect(x, y + height / 2 - 1.5, width, 3);
    }
    if (ui.hover === key) {
        ctx.strokeStyle = colors.text;
        ctx.lineWidth = 1.5;
        ctx.strokeRect(x, y, width, height);
    }
    const words = { read: ['R', 'read'], write: ['W', 'write'], clear: ['C', 'clear'], both: ['RW', 'read, write'],
                    resolve: ['⇲', 'resolve'] }[use.kind];
    setFont(ctx, 9.5, 600);
    const word = width > widthOf(ctx, words[1]) + 10 ? words[1] : width > widthOf(ctx, words[0]) + 5 ? words[0] : '';
    if (word) {
        ctx.fillStyle = !strong ? colors.faint : use.kind === 'read' || use.kind === 'both' ? colors.text : colors.on;
        ctx.textAlign = 'center';
        const left = Math.max(x, GUTTER), right = Math.min(x + width, axis.width);
        ctx.fillText(word, (left + right) / 2, y + height / 2 + 0.5);
        ctx.textAlign = 'left';
    }
}

/* Names of passes above their columns, turned; of those that come too close to one another the first. */
function paintPassNames(ctx, width) {
    ctx.fillStyle = colors.panel;
    ctx.fillRect(GUTTER, 0, width - GUTTER, HEAD - 1);
    ctx.fillStyle = colors.line;
    ctx.fillRect(GUTTER, HEAD - 1, width - GUTTER, 1);
    gridView.names = [];
    let last = -100;
    const all = ui.model.byStart, nameX = (p) => axis.x(p.a0) + Math.min(9, (axis.x(p.a1) - axis.x(p.a0)) / 2);
    const selected = ui.selected && ui.selected[0] === 'p' ? itemOf(ui.model, ui.selected) : null;
    const kept = selected ? nameX(selected) : -1000;
    for (let i = d3.bisector((p) => p.a0).left(all, axis.lo); i < all.length && all[i].a0 <= axis.hi; i++) {
        const pass = all[i], x = nameX(pass);
        const role = lightOf(ui.lit ? ui.lit.passes : null, pass.id), chosen = pass === selected;
        if ((x - last < 13 || Math.abs(x - kept) < 13) && !chosen)
            continue;
        last = x;
        gridView.names.push({ x, pass });
        ctx.save();
        ctx.translate(x + 2, HEAD - 6);
        ctx.rotate(-1.02);
        setFont(ctx, 11, chosen ? 700 : 500);
        ctx.fillStyle = chosen ? colors.accent : !role ? colors.faint : pass.culled ? colors.faint : colors.text;
        if (ui.hover === 'p' + pass.id)
            ctx.fillStyle = colors.accent;
        ctx.fillText(fitText(ctx, pass.label, HEAD + 2), 0, 0);
        ctx.restore();
    }
}

function paintRowName(ctx, res, y) {
    if (y < HEAD - ROW)
        return;
    const chosen = ui.selected === 'r' + res.id, role = ui.lit ? ui.lit.resources.get(res.id) : 'plain';
    if (chosen || ui.hover === 'r' + res.id) {
        ctx.globalAlpha = chosen ? 0.14 : 0.07;
        ctx.fillStyle = colors.accent;
        ctx.fillRect(0, y, GUTTER, ROW - 1);
        ctx.globalAlpha = 1;
    }
    if (role && role !== 'plain' && role !== 'self') {
        ctx.fillStyle = roleColor(role);
        ctx.fillRect(5, y + 4, 3, ROW - 9);
    }
    ctx.fillStyle = colors[res.placed ? memoryKind(res) : 'culled'];
    ctx.fillRect(14, y + 6, 7, 7);
    setFont(ctx, 10.5);
    const size = res.placed && res.placed.heap !== NONE ? bytesText(res.placed.bytes)
               : res.flags & RES_EXTERNAL ? 'import' : 'unused';
    const taken = widthOf(ctx, size);
    ctx.fillStyle = colors.muted;
    ctx.textAlign = 'right';
    ctx.fillText(size, GUTTER - 10, y + ROW / 2);
    ctx.textAlign = 'left';
    setFont(ctx, 11.5, chosen ? 700 : 400);
    ctx.fillStyle = chosen ? colors.accent : role && res.placed ? colors.text : colors.faint;
    ctx.fillText(fitText(ctx, res.label, GUTTER - 46 - taken), 28, y + ROW / 2);
}

function paintGridCorner(ctx, height) {
    ctx.fillStyle = colors.panel;
    ctx.fillRect(0, 0, GUTTER, HEAD - 1);
    ctx.fillStyle = colors.line;
    ctx.fillRect(0, HEAD - 1, GUTTER, 1);
    ctx.fillRect(GUTTER - 1, 0, 1, height);
    setFont(ctx, 11);
    ctx.fillStyle = colors.muted;
    ctx.fillText(countText(gridView.rows.length, 'resource'), 14, HEAD - 14);
    const rows = gridView.rows.length * ROW, room = height - HEAD;
    if (rows > room) {
        ctx.fillStyle = colors.line;
        const size = Math.max(20, room * room / rows);
        ctx.fillRect(GUTTER - 4, HEAD + (room - size) * gridView.offset / (rows - room), 3, size);
    }
}
