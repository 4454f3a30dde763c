/* Canvases: size, colours, text that fits, and one repaint a frame. */

let colors = {};

function readColors() {
    const style = getComputedStyle(document.documentElement);
    const names = ['bg', 'panel', 'sunken', 'line', 'grid', 'text', 'muted', 'faint', 'accent', 'from', 'to',
                   'critical',
                   'barrier', 'added', 'changed', 'graphics', 'compute', 'transfer', 'host', 'culled', 'color',
                       'depth', 'storage',
                       'buffer',
                   'kept'];
    colors = {};
    names.forEach((name) => (colors[name] = style.getPropertyValue('--' + name).trim()));
    const mix = (a, b, t) => d3.interpolateRgb(colors[a], colors[b])(t);
    colors.fill = {};
    ['graphics', 'compute', 'transfer', 'host', 'culled', 'color', 'depth', 'storage', 'buffer', 'kept'].forEach(
        (name) => (colors.fill[name] = mix('panel', name, 0.34)));
    colors.half = {};
    Object.keys(colors.fill).forEach((name) => (colors.half[name] = mix('panel', name, 0.5)));
    colors.quiet = {};
    Object.keys(colors.fill).forEach((name) => (colors.quiet[name] = mix('panel', name, 0.11)));
    colors.odd = {};
    Object.keys(colors.fill).forEach((name) => (colors.odd[name] = mix('panel', name, 0.26)));
    colors.on = d3.lab(d3.rgb(colors.panel)).l > 50 ? '#ffffff' : '#0e1013';
}

function roleColor(role) {
    return role === 'self' ? colors.accent : role === 'from' ? colors.from : role === 'to' ? colors.to : colors.accent;
}

const surfaces = [];

/* A canvas that fills its host; draw(ctx, width, height) paints all of it. */
function makeSurface(host, draw) {
    const canvas = host.querySelector('canvas');
    const surface = { host, canvas, ctx: canvas.getContext('2d'), width: 0, height: 0, draw, visible: true };
    new ResizeObserver(() => fitSurface(surface)).observe(host);
    surfaces.push(surface);
    fitSurface(surface);
    return surface;
}

function fitSurface(surface) {
    const box = surface.host.getBoundingClientRect(), ratio = window.devicePixelRatio || 1;
    const width = Math.round(box.width), height = Math.round(box.height);
    if (width === 0 || height === 0 || (width === surface.width && height === surface.height &&
                                        ratio === surface.ratio))
        return;
    Object.assign(surface, { width, height, ratio });
    surface.canvas.width = Math.round(width * ratio);
    surface.canvas.height = Math.round(height * ratio);
    axis.width = width;
    repaint();
}

let wanted = 0;

function repaint() {
    if (!wanted)
        wanted = requestAnimationFrame(paintNow);
}

function paintNow() {
    wanted = 0;
    const began = performance.now();
    for (const surface of surfaces) {
        if (!surface.width || !surface.host.offsetParent)
            continue;
        const ctx = surface.ctx;
        ctx.setTransform(surface.ratio, 0, 0, surface.ratio, 0, 0);
        ctx.clearRect(0, 0, surface.width, surface.height);
        ctx.textBaseline = 'middle';
        surface.draw(ctx, surface.width, surface.height);
    }
    paintNow.last = performance.now() - began;
}

/* ---- text ---- */

const FONT = 'system-ui, -apple-system, "Segoe UI", "Noto Sans", Roboto, sans-serif';

function setFont(ctx, size, weight) {
    ctx.font = (weight || 400) + ' ' + size + 'px ' + FONT;
}

const measured = new Map();

function widthOf(ctx, text) {
    const key = ctx.font + text;
    let width = measured.get(key);
    if (width === undefined) {
        width = ctx.measureText(text).width;
        if (measured.size > 20000)
            measured.clear();
        measured.set(key, width);
    }
    return width;
}

/* The text, or its beginning with an ellipsis; nothing where not even two letters fit. */
function fitText(ctx, text, width) {
    if (width < 14)
        return '';
    if (widthOf(ctx, text) <= width)
        return text;
    let low = 0, high = text.length;
    while (low < high) {
        const middle = (low + high + 1) >> 1;
        if (widthOf(ctx, text.slice(0, middle) + '…') <= width)
            low = middle;
        else
            high = middle - 1;
    }
    return low < 2 ? '' : text.slice(0, low) + '…';
}

/* ---- what all views have ---- */

function paintTicks(ctx, height, top) {
    ctx.fillStyle = colors.grid;
    for (const at of axis.ticks())
        ctx.fillRect(Math.round(axis.x(at)), top || 0, 1, height - (top || 0));
}

/* The stretch of the selected pass or resource, through all views. */
function paintBands(ctx, height) {
    const item = itemOf(ui.model, ui.selected);
    if (item && ui.selected[0] !== 'h' && item.a0 !== undefined && ui.selected[0] !== 'r') {
        const x0 = axis.x(item.a0), x1 = axis.x(item.a1 === undefined ? item.a0 : item.a1);
        ctx.globalAlpha = 0.09;
        ctx.fillStyle = colors.accent;
        ctx.fillRect(x0, 0, Math.max(1, x1 - x0), height);
        ctx.globalAlpha = 1;
    }
    if (ui.cursor > GUTTER) {
        ctx.fillStyle = colors.line;
        ctx.fillRect(Math.round(ui.cursor), 0, 1, height);
    }
}

function clipToPlot(ctx, width, height) {
    ctx.save();
    ctx.beginPath();
    ctx.rect(GUTTER, 0, width - GUTTER, height);
    ctx.clip();
}

function roundedBox(ctx, x, y, width, height, radius) {
    const r = Math.max(0, Math.min(radius, width / 2, height / 2));
    ctx.beginPath();
    ctx.moveTo(x + r, y);
    ctx.arcTo(x + width, y, x + width, y + height, r);
    ctx.arcTo(x + width, y + height, x, y + height, r);
    ctx.arcTo(x, y + height, x, y, r);
    ctx.arcTo(x, y, x + width, y, r);
    ctx.closePath();
}

function hatch(ctx, x, y, width, height) {
    if (!colors.hatch) {
        const tile = document.createElement('canvas'), pen = tile.getContext('2d');
        tile.width = tile.height = 7;
        pen.strokeStyle = colors.line;
        pen.beginPath();
        for (const at of [-7, 0, 7]) {
            pen.moveTo(at, 7);
            pen.lineTo(at + 7, 0);
        }
        pen.stroke();
        colors.hatch = ctx.createPattern(tile, 'repeat');
    }
    ctx.fillStyle = colors.hatch;
    ctx.fillRect(x, y, width, height);
}

function lightOf(map, id) {
    return ui.lit ? map.get(id) || null : 'plain';
}
