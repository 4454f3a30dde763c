/* The axis that all views share: which stretch of the frame is shown, and where it is on the screen. */

const GUTTER = 176, EDGE = 14;

const axis = {
    lo: 0, hi: 1, extent: 1, width: 1000, byOrder: false, listeners: [], flight: 0,

    scale() {
        return (this.width - GUTTER - EDGE) / (this.hi - this.lo);
    },
    x(at) {
        return GUTTER + (at - this.lo) * this.scale();
    },
    at(x) {
        return this.lo + (x - GUTTER) / this.scale();
    },
    least() {
        return this.byOrder ? Math.min(2, this.extent) : Math.max(this.extent / 1e6, 0.01);
    },
    set(lo, hi) {
        const span = Math.min(this.extent, Math.max(this.least(), hi - lo));
        this.lo = Math.max(0, Math.min(this.extent - span, lo));
        this.hi = this.lo + span;
        this.listeners.forEach((tell) => tell());
    },
    zoom(x, factor) {
        cancelAnimationFrame(this.flight);
        const at = this.at(Math.max(GUTTER, x)), span = this.hi - this.lo;
        const wanted = Math.min(this.extent, Math.max(this.least(), span * factor));
        this.set(at - (at - this.lo) * wanted / span, at + (this.hi - at) * wanted / span);
    },
    pan(pixels) {
        cancelAnimationFrame(this.flight);
        const by = pixels / this.scale();
        this.set(this.lo + by, this.hi + by);
    },
    /* Glides there, unless the reader asked for no motion. */
    fly(lo, hi) {
        cancelAnimationFrame(this.flight);
        if (matchMedia('(prefers-reduced-motion: reduce)').matches)
            return this.set(lo, hi);
        const from = [this.lo, this.hi], began = performance.now();
        const step = (now) => {
            const t = Math.min(1, (now - began) / 180), ease = 1 - Math.pow(1 - t, 3);
            this.set(from[0] + (lo - from[0]) * ease, from[1] + (hi - from[1]) * ease);
            if (t < 1)
                this.flight = requestAnimationFrame(step);
        };
        this.flight = requestAnimationFrame(step);
    },
    fit() {
        this.fly(0, this.extent);
    },
    /* Shows a stretch, with room around it; stays where it is already in sight and not too small. */
    reveal(a0, a1) {
        const span = this.hi - this.lo, size = Math.max(a1 - a0, this.least());
        if (a0 >= this.lo && a1 <= this.hi)
            return;
        const wanted = Math.max(Math.min(span, this.extent), size * 1.2);
        const middle = (a0 + a1) / 2;
        this.fly(middle - wanted / 2, middle + wanted / 2);
    },
    ticks() {
        const scale = d3.scale.linear().domain([this.lo, this.hi]);
        const all = scale.ticks(Math.max(2, Math.floor((this.width - GUTTER) / 96)));
        return this.byOrder ? all.filter((t) => t === Math.round(t)) : all;
    },
    tickText(at) {
        return this.byOrder ? String(at) : tickTime(at, this.hi - this.lo);
    },
};

function tickTime(us, span) {
    if (us === 0)
        return '0';
    const [unit, name] = span >= 5e6 ? [1e6, ' s'] : span >= 5000 ? [1000, ' ms'] : [1, ' µs'];
    return d3.format(',')(Number((us / unit).toPrecision(8))) + name;
}
