/* The pointer: what is under it, wheel, drag, click. */

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
                        el('span', null, itemOf(ui.model, key).label
                           ? describe(key).slice(labelOf(ui.model, key).length + 2)
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
        } else if (event.ctrlKey || event.metaKey ||
                   (view !== gridView && !event.shiftKey && Math.abs(dy) >= Math.abs(dx))) {
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
