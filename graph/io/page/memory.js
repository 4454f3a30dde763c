/* Memory over time: how much is in use, and each heap as a map of offsets. */

const CURVE = 58, HEAP_GAP = 10;

const memoryView = {
    zoom: 1, offset: 0, places: [],

    draw(ctx, width, height) {
        layHeaps(height);
        clipToPlot(ctx, width, height);
        paintTicks(ctx, height);
        for (const place of memoryView.places)
            paintHeap(ctx, place, width, height);
        paintCurve(ctx, width);
        paintBands(ctx, height);
        ctx.restore();
        paintHeapNames(ctx, height);
    },
    pick(x, y) {
        if (y < CURVE)
            return null;
        const place = this.places.find((p) => y >= p.top && y < p.top + p.height);
        if (!place)
            return null;
        if (x < GUTTER)
            return 'h' + place.heap.id;
        const at = axis.at(x), offset = (y - place.top) / place.height * place.heap.bytes;
        const within = (slack) => place.heap.tenants.filter(
            (r) => r.a0 - slack / axis.scale() <= at && r.a1 + slack / axis.scale() >= at &&
                   r.placed.offset <= offset + slack / place.height * place.heap.bytes &&
                   r.placed.offset + r.placed.bytes >= offset - slack / place.height * place.heap.bytes);
        const found = within(0)[0] || within(3)[0];
        return found ? 'r' + found.id : null;
    },
    scroll(by, height) {
        const most = Math.max(0, this.total - height);
        this.offset = Math.max(0, Math.min(most, this.offset + by));
    },
};

/* Heights by bytes, none too small to be seen. */
function layHeaps(height) {
    const heaps = ui.model.heaps.filter((heap) => heap.bytes > 0);
    const total = d3.sum(heaps, (heap) => heap.bytes) || 1, least = 16;
    const room = Math.max(60, (height - CURVE - HEAP_GAP * heaps.length - 6) * memoryView.zoom);
    let top = CURVE + 4;
    const heights = heaps.map((heap) => Math.max(least, room * heap.bytes / total));
    const over = d3.sum(heights) / room;
    memoryView.places = heaps.map((heap, i) => {
        const place = { heap, top, height: Math.max(least, over > 1 ? heights[i] / over : heights[i]) };
        top += place.height + HEAP_GAP;
        return place;
    });
    memoryView.total = top;
    memoryView.offset = Math.max(0, Math.min(memoryView.offset, top - height));
    memoryView.places.forEach((place) => (place.top -= memoryView.offset));
}

function memoryKind(res) {
    if (res.flags & (RES_HISTORY | RES_HAS_HISTORY))
        return 'kept';
    if (res.buffer)
        return 'buffer';
    if (res.usage & 0x20)
        return 'depth';
    return res.usage & 0x10 ? 'color' : 'storage';
}
const MEMORY_KINDS = [['color', 'color targets'], ['depth', 'depth'], ['storage', 'other images'],
                      ['buffer', 'buffers'],
                      ['kept', 'kept between frames']];

function paintHeap(ctx, { heap, top, height }, width, limit) {
    if (top > limit || top + height < CURVE)
        return;
    const scale = height / heap.bytes, left = Math.max(GUTTER, axis.x(0)), right = Math.min(width, axis.x(axis.extent));
    ctx.fillStyle = colors.sunken;
    ctx.fillRect(left, top, right - left, height);
    const lit = [], dots = pixelField(Math.ceil(right - left), Math.ceil(height), left, top);
    for (const res of heap.tenants) {
        if (res.a1 < axis.lo || res.a0 > axis.hi)
            continue;
        const box = wholePixels(axis.x(res.a0), top + res.placed.offset * scale, axis.x(res.a1),
                                top + (res.placed.offset + res.placed.bytes) * scale);
        if (box.y > limit || box.y + box.height < CURVE)
            continue;
        const role = ui.lit ? ui.lit.resources.get(res.id) || null : 'plain';
        if ((role && role !== 'plain') || ui.hover === 'r' + res.id)
            lit.push([res, box, role]);
        else if (box.width < 30)
            dots.tenant(res, box, role !== null && resShown(res), role);
        else
            paintTenant(ctx, res, box, role);
    }
    dots.paint(ctx);
    lit.forEach(([res, box, role]) => paintTenant(ctx, res, box, role));
}

/* At least one pixel; edges on pixels are sharp, and painted many times faster than those between. */
function wholePixels(x0, y0, x1, y1) {
    const x = Math.round(x0), y = Math.round(y0);
    return { x, y, width: Math.max(1, Math.round(x1) - x), height: Math.max(1, Math.round(y1) - y) };
}

/* Boxes of a few pixels come in thousands: they are set in memory, and painted at once. */
function pixelField(width, height, left, top) {
    let pixels = null;
    return {
        fill(x, y, wide, tall, color) {
            const x0 = Math.max(0, x), x1 = Math.min(width, x + wide), y1 = Math.min(height, y + tall),
                value = pixelOf(color);
            for (let row = Math.max(0, y); row < y1; row++)
                pixels.fill(value, row * width + x0, row * width + Math.max(x0, x1));
        },
        tenant(res, box, known, role) {
            pixels = pixels || new Uint32Array(width * height);
            const x = Math.round(box.x - left), y = Math.round(box.y - top), kind = memoryKind(res);
            const tall = box.height > 4 ? box.height - 1 : box.height;
            this.fill(x, y, box.width > 4 ? box.width - 1 : box.width, tall, tenantColor(res, known, role));
            if (box.width > 6 && box.height > 3)
                this.fill(x, y, 2, tall, known ? colors[kind] : colors.fill[kind]);
        },
        paint(ctx) {
            if (!pixels)
                return;
            const canvas = pixelField.canvas || (pixelField.canvas = document.createElement('canvas'));
            canvas.width = width;
            canvas.height = height;
            canvas.getContext('2d').putImageData(
                new ImageData(new Uint8ClampedArray(pixels.buffer), width, height), 0, 0);
            ctx.drawImage(canvas, left, top);
        },
    };
}

const pixelValues = new Map();

function pixelOf(color) {
    if (!pixelValues.has(color)) {
        const { r, g, b } = d3.rgb(color);
        pixelValues.set(color, (255 << 24 | b << 16 | g << 8 | r) >>> 0);
    }
    return pixelValues.get(color);
}

function tenantColor(res, known, role) {
    const kind = memoryKind(res);
    return !known ? colors.quiet[kind] : role === 'self' ? colors[kind] : res.id & 1 ? colors.odd[kind]
        : colors.fill[kind];
}

function paintTenant(ctx, res, box, role) {
    const kind = memoryKind(res), known = role !== null && resShown(res);
    const gapX = box.width > 4 ? 1 : 0, gapY = box.height > 4 ? 1 : 0;
    const width = box.width - gapX, height = box.height - gapY;
    ctx.fillStyle = tenantColor(res, known, role);
    ctx.fillRect(box.x, box.y, width, height);
    if (box.width > 6 && box.height > 3 && role !== 'self') {
        ctx.fillStyle = known ? colors[kind] : colors.fill[kind];
        ctx.fillRect(box.x, box.y, 2, height);
    }
    const hover = ui.hover === 'r' + res.id;
    if (hover || (role && role !== 'plain')) {
        ctx.strokeStyle = hover && !(role && role !== 'plain') ? colors.text : roleColor(role);
        ctx.lineWidth = 2;
        ctx.strokeRect(box.x + 1, box.y + 1, Math.max(1, width - 2), Math.max(1, height - 2));
    }
    if (box.height < 13 || box.width < 30)
        return;
    const left = Math.max(box.x, GUTTER) + 8, room = box.x + box.width - left - 6, tall = box.height >= 30;
    setFont(ctx, 11, role === 'self' ? 600 : 500);
    ctx.fillStyle = role === 'self' ? colors.on : known ? colors.text : colors.faint;
    const name = fitText(ctx, res.label, room);
    const middle = Math.max(CURVE + 8, Math.min(box.y + height / 2, box.y + height - 8));
    ctx.fillText(name, left, tall ? middle - 7 : middle);
    const taken = widthOf(ctx, name);
    setFont(ctx, 10.5);
    const size = bytesText(res.placed.bytes), fits = tall ? room >= widthOf(ctx, size)
        : room - taken > widthOf(ctx, size) + 12;
    if (fits && name) {
        ctx.fillStyle = role === 'self' ? colors.on : known ? colors.muted : colors.faint;
        ctx.fillText(size, tall ? left : left + taken + 8, tall ? middle + 7 : middle);
    }
}

/* ---- bytes in use ---- */

/* Steps of the bytes in use along the axis; made once a layout. */
function usageSteps(m) {
    const change = new Map();
    const add = (at, bytes) => change.set(at, (change.get(at) || 0) + bytes);
    for (const res of m.resources) {
        if (res.placed && res.placed.heap !== NONE) {
            add(res.a0, res.placed.bytes);
            add(res.a1, -res.placed.bytes);
        }
    }
    let bytes = 0;
    m.steps = Array.from(change.keys()).sort((a, b) => a - b).map((at) => ({ at, bytes: (bytes += change.get(at)) }));
    m.peak = m.steps.reduce((best, step) => (step.bytes > best.bytes ? step : best), { at: 0, bytes: 0 });
}

function paintCurve(ctx, width) {
    const m = ui.model, most = Math.max(m.heapBytes, m.peak.bytes, m.before ? m.before.heapBytes : 0) || 1,
        bottom = CURVE - 6, high = CURVE - 20;
    const y = (bytes) => bottom - high * bytes / most;
    ctx.fillStyle = colors.panel;
    ctx.fillRect(GUTTER, 0, width - GUTTER, CURVE - 2);
    paintTicks(ctx, CURVE - 2);
    ctx.strokeStyle = colors.faint;
    ctx.lineWidth = 1;
    ctx.setLineDash([2, 3]);
    ctx.beginPath();
    ctx.moveTo(GUTTER, y(m.heapBytes) + 0.5);
    ctx.lineTo(width, y(m.heapBytes) + 0.5);
    ctx.stroke();
    ctx.setLineDash([]);
    ctx.beginPath();
    ctx.moveTo(GUTTER, bottom);
    let level = bottom, top = bottom, last = GUTTER;
    for (let i = Math.max(0, d3.bisector((s) => s.at).right(m.steps, axis.lo) - 1); i < m.steps.length; i++) {
        const x = axis.x(m.steps[i].at), here = y(m.steps[i].bytes);
        if (x - last > 0.6) { /* of the steps within a pixel the highest and the last */
            ctx.lineTo(last, top);
            ctx.lineTo(last, level);
            ctx.lineTo(x, level);
            last = x;
            top = here;
        }
        top = Math.min(top, here);
        level = here;
        if (x > width)
            break;
    }
    ctx.lineTo(last, top);
    ctx.lineTo(last, level);
    ctx.lineTo(axis.x(axis.extent), level);
    ctx.lineTo(axis.x(axis.extent), bottom);
    ctx.globalAlpha = 0.18;
    ctx.fillStyle = colors.accent;
    ctx.fill();
    ctx.globalAlpha = 0.9;
    ctx.strokeStyle = colors.accent;
    ctx.lineWidth = 1.25;
    ctx.stroke();
    ctx.globalAlpha = 1;
    if (m.before && !axis.byOrder)
        paintFormerCurve(ctx, width, y);
    paintPeak(ctx, width, y(m.peak.bytes));
    ctx.fillStyle = colors.line;
    ctx.fillRect(GUTTER, bottom, width - GUTTER, 1);
}

/* What the plan before had in use. */
function paintFormerCurve(ctx, width, y) {
    const steps = ui.model.before.steps;
    ctx.strokeStyle = colors.muted;
    ctx.setLineDash([4, 3]);
    ctx.beginPath();
    let level = y(0);
    ctx.moveTo(GUTTER, level);
    for (let i = Math.max(0, d3.bisector((s) => s.at).right(steps, axis.lo) - 1); i < steps.length; i++) {
        const x = axis.x(steps[i].at);
        ctx.lineTo(x, level);
        level = y(steps[i].bytes);
        ctx.lineTo(x, level);
        if (x > width)
            break;
    }
    ctx.stroke();
    ctx.setLineDash([]);
}

function paintPeak(ctx, width, y) {
    const m = ui.model, x = axis.x(m.peak.at);
    if (x < GUTTER || x > width || !m.peak.bytes)
        return;
    setFont(ctx, 10.5, 600);
    const text = 'peak ' + bytesText(m.peak.bytes), room = widthOf(ctx, text) + 8;
    ctx.fillStyle = colors.accent;
    ctx.beginPath();
    ctx.arc(x, y, 3, 0, 7);
    ctx.fill();
    ctx.fillText(text, Math.min(x + 7, width - room), Math.max(8, y - 8));
}

function paintHeapNames(ctx, height) {
    const m = ui.model;
    ctx.fillStyle = colors.panel;
    ctx.fillRect(0, 0, GUTTER, height);
    for (const { heap, top, height: tall } of memoryView.places) {
        if (top + tall < CURVE || top > height)
            continue;
        const key = 'h' + heap.id, middle = Math.max(CURVE + 8, top + Math.min(tall / 2, 12));
        setFont(ctx, 12, ui.selected === key ? 700 : 600);
        ctx.fillStyle = ui.selected === key ? colors.accent : colors.text;
        ctx.fillText('heap ' + heap.id, 16, middle);
        setFont(ctx, 11);
        ctx.fillStyle = colors.muted;
        ctx.textAlign = 'right';
        ctx.fillText(bytesText(heap.bytes), GUTTER - 14, middle);
        ctx.textAlign = 'left';
        if (tall > 34)
            ctx.fillText(fitText(ctx, heapWords(heap), GUTTER - 30), 16, middle + 15);
        ctx.fillStyle = colors.line;
        ctx.fillRect(GUTTER - 5, top, 4, tall);
    }
    ctx.fillStyle = colors.panel;
    ctx.fillRect(0, 0, GUTTER, CURVE - 2);
    setFont(ctx, 12, 600);
    ctx.fillStyle = colors.text;
    ctx.fillText('in use', 16, 20);
    setFont(ctx, 11);
    ctx.fillStyle = colors.muted;
    ctx.fillText('of ' + bytesText(m.heapBytes) + ' in ' + countText(m.heaps.length, 'heap'), 16, 36);
    ctx.fillStyle = colors.line;
    ctx.fillRect(GUTTER - 1, 0, 1, height);
}

function heapWords(heap) {
    if (heap.flags & HEAP_HOST)
        return 'seen by the CPU';
    return heap.flags & HEAP_PERSISTENT ? 'kept between frames' : 'transient, shared';
}
