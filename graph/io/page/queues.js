/* Queues over time: a lane a queue with its passes, idle stretches, barriers and submits; hand-offs between lanes. */

const LANE = { top: 12, box: 25, strip: 42, plain: 54, ghost: 57, ghostBox: 7, ghosted: 74 };
const CULLED_LANE = 30;

const queueView = {
    laneHeight() {
        return ui.model.before || ui.model.spans ? LANE.ghosted : LANE.plain;
    },
    laneTop(queue) {
        return 6 + queue * this.laneHeight();
    },
    culledTop() {
        return this.laneTop(ui.model.queues.length);
    },
    height() {
        return this.culledTop() + (ui.model.culled.length ? CULLED_LANE : 0) + 4;
    },
    draw(ctx, width, height) {
        clipToPlot(ctx, width, height);
        paintTicks(ctx, height);
        paintBands(ctx, height);
        for (const queue of ui.model.queues)
            paintLane(ctx, queue, queueView.laneTop(queue.id));
        paintCulled(ctx, queueView.culledTop());
        paintHandOffs(ctx);
        ctx.restore();
        paintLaneNames(ctx, height);
    },
    pick(x, y) {
        const m = ui.model;
        if (x < GUTTER)
            return null;
        if (m.culled.length && y >= this.culledTop())
            return keyAt(m.culled, x);
        const queue = m.queues[Math.floor((y - 6) / this.laneHeight())];
        if (!queue)
            return null;
        const inLane = y - this.laneTop(queue.id);
        if (inLane < LANE.top) {
            const batch = nearestBatch(queue, x);
            if (batch)
                return 'b' + batch.id;
        }
        if (inLane >= LANE.ghost && m.ghosts) {
            const ghosts = m.ghosts[queue.id], ghost = ghosts[firstBehind(ghosts, axis.at(x))];
            return ghost && axis.x(ghost.a0) <= x ? ghost.key : null;
        }
        if (inLane >= LANE.strip - 2) {
            const submit = m.submits.find((s) => s.queue === queue.id && axis.x(s.a0) - 2 <= x &&
                                          axis.x(s.a1) + 2 >= x);
            if (submit)
                return 's' + submit.id;
        }
        return keyAt(queue.passes, x);
    },
};

/* The first of a list, sorted by a0 and without overlaps, that ends behind a place. */
function firstBehind(list, at) {
    let low = 0, high = list.length;
    while (low < high) {
        const middle = (low + high) >> 1;
        if (list[middle].a1 < at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

function keyAt(passes, x) {
    const pass = passes[firstBehind(passes, axis.at(x - 1))];
    return pass && axis.x(pass.a0) <= x + 1 ? 'p' + pass.id : null;
}

function batchesOf(queue) {
    return queue.batches || (queue.batches = ui.model.batches.filter((b) => b.queue === queue.id));
}

function nearestBatch(queue, x) {
    let best = null, distance = 7;
    for (const batch of batchesOf(queue)) {
        const away = Math.abs(axis.x(batch.a0) - x);
        if (away < distance) {
            distance = away;
            best = batch;
        }
    }
    return best;
}

function typeOf(pass) {
    return pass.culled ? 'culled' : TYPE_NAMES[pass.type] || 'host';
}

/* ---- lanes ---- */

function paintLane(ctx, queue, top) {
    const passes = queue.passes;
    const from = Math.max(0, firstBehind(passes, axis.lo) - 1);
    paintIdle(ctx, queue, from, top);
    let painted = -1;
    for (let i = from; i < passes.length && passes[i].a0 <= axis.hi; i++) {
        const pass = passes[i], x0 = axis.x(pass.a0), x1 = axis.x(pass.a1);
        const role = lightOf(ui.lit ? ui.lit.passes : null, pass.id);
        if (x1 - painted < 0.7 && role === 'plain') /* what lies within one pixel is painted once */
            continue;
        painted = Math.max(x1, x0 + 0.7);
        paintPass(ctx, pass, x0, top + LANE.top, painted - x0, LANE.box, role);
        if (pass.change) {
            ctx.fillStyle = pass.change === 'new' ? colors.added : colors.changed;
            ctx.fillRect(x0, top + LANE.top - 1, Math.max(1, x1 - x0 - 1), 3);
        }
        if (ui.critical && ui.model.critical.has(pass)) {
            ctx.fillStyle = colors.critical;
            ctx.fillRect(x0, top + LANE.top + LANE.box + 1, Math.max(0.7, x1 - x0), 2);
        }
    }
    paintGhosts(ctx, queue, top + LANE.ghost);
    paintScopes(ctx, passes, from, top);
    paintBatches(ctx, queue, top);
    paintSubmits(ctx, queue, top);
}

function paintPass(ctx, pass, x, y, width, height, role) {
    const type = typeOf(pass), known = passShown(pass) && role !== null;
    const strong = role === 'self' || ui.hover === 'p' + pass.id;
    const gap = width > 4 ? 1 : 0;
    ctx.fillStyle = !known ? colors.quiet[type] : role === 'self' ? colors[type] : colors.fill[type];
    ctx.fillRect(x, y, width - gap, height);
    if (width > 5 && role !== 'self') {
        ctx.fillStyle = known ? colors[type] : colors.fill[type];
        ctx.fillRect(x, y, 2.5, height);
    }
    if (strong || (role && role !== 'plain' && width > 2)) {
        ctx.strokeStyle = strong && role !== 'self' && role !== 'from' && role !== 'to' ? colors.text : roleColor(role);
        ctx.lineWidth = 2;
        ctx.strokeRect(x + 1, y + 1, Math.max(1, width - gap - 2), height - 2);
    } else if (role && role !== 'plain') {
        ctx.fillStyle = roleColor(role);
        ctx.fillRect(x, y, Math.max(1, width), height);
    }
    if (width < 22)
        return;
    setFont(ctx, 11.5, role === 'self' ? 600 : 500);
    ctx.fillStyle = role === 'self' ? colors.on : known ? colors.text : colors.faint;
    const left = Math.max(x, GUTTER) + 8, room = x + width - left - 6;
    const name = fitText(ctx, pass.label, room);
    ctx.fillText(name, left, y + height / 2 + 0.5);
    const taken = widthOf(ctx, name);
    setFont(ctx, 10.5);
    const time = timeText(pass.end - pass.begin);
    if (name === pass.label && room - taken > widthOf(ctx, time) + 12 && !pass.culled && !axis.byOrder) {
        ctx.fillStyle = role === 'self' ? colors.on : colors.muted;
        ctx.textAlign = 'right';
        ctx.fillText(time, x + width - 7, y + height / 2 + 0.5);
        ctx.textAlign = 'left';
    }
}

/* The other times of this lane, small: those of the plan before, or simulated ones below measured ones. */
function paintGhosts(ctx, queue, y) {
    const ghosts = ui.model.ghosts ? ui.model.ghosts[queue.id] : [];
    const selected = itemOf(ui.model, ui.selected),
        former = selected && selected.was ? 'v' + selected.was.id : ui.selected;
    for (let i = firstBehind(ghosts, axis.lo); i < ghosts.length && ghosts[i].a0 <= axis.hi; i++) {
        const ghost = ghosts[i], x0 = axis.x(ghost.a0), wide = Math.max(0.7, axis.x(ghost.a1) - x0);
        const strong = ghost.key === former || ghost.key === ui.hover;
        ctx.fillStyle = strong ? colors.accent : ghost.gone ? colors.critical : colors.fill[ghost.type];
        ctx.fillRect(x0, y, wide > 3 ? wide - 1 : wide, LANE.ghostBox);
    }
}

/* Stretches in which a queue has nothing to do, between its first and its last pass. */
function paintIdle(ctx, queue, from, top) {
    if (axis.byOrder)
        return;
    for (let i = Math.max(1, from); i < queue.passes.length && queue.passes[i - 1].a1 <= axis.hi; i++) {
        const x0 = axis.x(queue.passes[i - 1].a1), x1 = axis.x(queue.passes[i].a0);
        if (x1 - x0 < 5)
            continue;
        const left = Math.max(x0, GUTTER), right = Math.min(x1, axis.width);
        hatch(ctx, left, top + LANE.top, right - left, LANE.box);
        setFont(ctx, 10.5);
        const text = 'idle ' + timeText(queue.passes[i].a0 - queue.passes[i - 1].a1);
        if (right - left > widthOf(ctx, text) + 20) {
            const middle = (left + right) / 2, half = widthOf(ctx, text) / 2 + 6;
            ctx.fillStyle = colors.panel;
            ctx.fillRect(middle - half, top + LANE.top + 4, half * 2, LANE.box - 8);
            ctx.fillStyle = colors.faint;
            ctx.textAlign = 'center';
            ctx.fillText(text, middle, top + LANE.top + LANE.box / 2);
            ctx.textAlign = 'left';
        }
    }
}

/* Passes that share a rendering scope, as a bracket above them. */
function paintScopes(ctx, passes, from, top) {
    ctx.fillStyle = colors.muted;
    let scope = null;
    for (let i = from; i < passes.length && passes[i].a0 <= axis.hi; i++) {
        if (!passes[i].scope || passes[i].scope === scope || passes[i].scope.passes.length < 2)
            continue;
        scope = passes[i].scope;
        const x0 = axis.x(scope.passes[0].a0) + 1, x1 = axis.x(scope.passes[scope.passes.length - 1].a1) - 2;
        if (x1 - x0 < 4)
            continue;
        ctx.fillRect(x0, top + LANE.top - 4, x1 - x0, 1.5);
        ctx.fillRect(x0, top + LANE.top - 4, 1.5, 4);
        ctx.fillRect(x1 - 1.5, top + LANE.top - 4, 1.5, 4);
    }
}

/* Diamonds with a stem through the lane; mere ticks where they stand close. */
function paintBatches(ctx, queue, top) {
    const all = batchesOf(queue).filter((b) => b.a0 >= axis.lo && b.a0 <= axis.hi);
    const close = all.length * 11 > axis.width - GUTTER, marked = [];
    let last = -10;
    ctx.fillStyle = ui.lit ? colors.line : close ? colors.faint : colors.barrier;
    for (const batch of all) {
        const x = axis.x(batch.a0), key = 'b' + batch.id;
        if (key === ui.selected || key === ui.hover || (ui.lit && ui.lit.batches.has(batch.id)))
            marked.push([batch, x]);
        else if (close && x - last > 1.5)
            ctx.fillRect(x - 0.5, top + 3, 1, 6);
        else if (!close)
            paintBatch(ctx, x, top, 4);
        last = x - last > 1.5 ? x : last;
    }
    for (const [batch, x] of marked) {
        const strong = ui.selected === 'b' + batch.id || ui.hover === 'b' + batch.id;
        ctx.fillStyle = ui.selected === 'b' + batch.id ? colors.accent : colors.barrier;
        paintBatch(ctx, x, top, strong ? 5.5 : 4);
    }
}

function paintBatch(ctx, x, top, size) {
    ctx.beginPath();
    ctx.moveTo(x, top + 6 - size);
    ctx.lineTo(x + size, top + 6);
    ctx.lineTo(x, top + 6 + size);
    ctx.lineTo(x - size, top + 6);
    ctx.fill();
    ctx.fillRect(x - 0.5, top + 6, 1, LANE.top + LANE.box - 6);
}

function paintSubmits(ctx, queue, top) {
    let end = -1;
    for (const submit of ui.model.submits) {
        if (submit.queue !== queue.id || submit.a1 < axis.lo || submit.a0 > axis.hi)
            continue;
        const x0 = axis.x(submit.a0), x1 = Math.max(x0 + 1, axis.x(submit.a1));
        if (x1 < end + 1)
            continue;
        end = x1;
        const selected = ui.selected === 's' + submit.id, hover = ui.hover === 's' + submit.id;
        const lit = ui.lit && ui.lit.submits.has(submit.id);
        ctx.fillStyle = selected ? colors.accent : lit || hover ? colors.muted : colors.line;
        ctx.fillRect(x0 + 0.5, top + LANE.strip, Math.max(1, x1 - x0 - 2), selected || hover ? 4 : 3);
        if (x1 - Math.max(x0, GUTTER) > 58) {
            setFont(ctx, 9.5);
            ctx.fillStyle = colors.faint;
            ctx.fillText('submit ' + submit.id, Math.max(x0, GUTTER) + 1, top + LANE.strip + 8.5);
        }
    }
}

function paintCulled(ctx, top) {
    let painted = -1;
    for (const pass of ui.model.culled) {
        const x0 = axis.x(pass.a0), x1 = axis.x(pass.a1);
        if (pass.a1 < axis.lo || pass.a0 > axis.hi || x1 - painted < 0.7)
            continue;
        painted = Math.max(x1, x0 + 0.7);
        paintPass(ctx, pass, x0, top + 3, painted - x0, 20, lightOf(ui.lit ? ui.lit.passes : null, pass.id));
    }
}

/* ---- hand-offs: from the end of a submit to the start of the one that waits for it ---- */

function paintHandOffs(ctx) {
    const m = ui.model, seen = [];
    for (const submit of m.submits) {
        for (const wait of submit.waits) {
            const source = wait.source;
            if (!source || submit.a0 < axis.lo || source.a1 > axis.hi)
                continue;
            const lit = ui.lit && ui.lit.submits.has(submit.id) && ui.lit.submits.has(source.id);
            seen.push({ source, submit, lit });
        }
    }
    const many = seen.length > 120; /* more are a cloud: those of the selection alone */
    for (const arrow of seen) {
        if (arrow.lit || !many)
            paintHandOff(ctx, arrow, arrow.lit ? 1 : ui.lit ? 0.12 : 0.55);
    }
}

function paintHandOff(ctx, { source, submit, lit }, alpha) {
    const down = submit.queue > source.queue;
    const x0 = axis.x(source.a1) - 1, x1 = axis.x(submit.a0);
    const y0 = queueView.laneTop(source.queue) + (down ? LANE.top + LANE.box : LANE.top);
    const y1 = queueView.laneTop(submit.queue) + (down ? LANE.top : LANE.top + LANE.box);
    const bend = Math.max(14, Math.min(60, Math.abs(x1 - x0) / 2));
    ctx.globalAlpha = alpha;
    ctx.strokeStyle = ctx.fillStyle = lit ? colors.accent : colors.muted;
    ctx.lineWidth = lit ? 2 : 1.25;
    ctx.beginPath();
    ctx.moveTo(x0, y0);
    ctx.bezierCurveTo(x0, y0 + (down ? bend : -bend), x1, y1 - (down ? bend : -bend), x1, y1 - (down ? 5 : -5));
    ctx.stroke();
    ctx.beginPath();
    ctx.moveTo(x1, y1);
    ctx.lineTo(x1 - 3.5, y1 - (down ? 7 : -7));
    ctx.lineTo(x1 + 3.5, y1 - (down ? 7 : -7));
    ctx.fill();
    ctx.globalAlpha = 1;
}

/* ---- names on the left ---- */

function paintLaneNames(ctx, height) {
    const m = ui.model;
    ctx.fillStyle = colors.panel;
    ctx.fillRect(0, 0, GUTTER, height);
    for (const queue of m.queues) {
        const y = queueView.laneTop(queue.id) + LANE.top, share = m.duration ? queue.busy / m.duration : 0;
        setFont(ctx, 12, 600);
        ctx.fillStyle = ui.filter.queues.has(queue.id) ? colors.faint : colors.text;
        ctx.fillText(fitText(ctx, queue.label, 96), 16, y + 8);
        setFont(ctx, 11);
        ctx.fillStyle = colors.muted;
        ctx.textAlign = 'right';
        ctx.fillText(percentText(share), GUTTER - 14, y + 8);
        ctx.textAlign = 'left';
        ctx.fillStyle = colors.line;
        ctx.fillRect(16, y + 20, GUTTER - 30, 3);
        ctx.fillStyle = colors[TYPE_NAMES[queue.kind]];
        ctx.fillRect(16, y + 20, (GUTTER - 30) * Math.min(1, share), 3);
        if (m.ghosts) {
            setFont(ctx, 10.5);
            ctx.fillStyle = colors.faint;
            ctx.fillText(m.before ? 'before' : 'simulated' + (m.ghostScale === 1 ? ''
                : ' × ' + d3.format('.2r')(m.ghostScale)), 16, y + LANE.ghost - LANE.top + 4);
        }
    }
    if (m.culled.length) {
        setFont(ctx, 12, 500);
        ctx.fillStyle = colors.muted;
        ctx.fillText(countText(m.culled.length, 'pass') + ' culled', 16, queueView.culledTop() + 13);
    }
    ctx.fillStyle = colors.line;
    ctx.fillRect(GUTTER - 1, 0, 1, height);
}
