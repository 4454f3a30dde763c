"use strict";
/* The graph of a captured stream: a lane for each queue, commands in an order in which they can be executed. A selection
 * lights what the command needs, through all edges but those of order, and what needs it. */
const data = JSON.parse(document.getElementById("data").textContent);
const kinds = ["graphics", "compute", "transfer", "host"];
const kindWords = ["Graphics", "Async compute", "Transfer", "Host"];
const nodes = data.nodes, byNumber = new Map(nodes.map((n, i) => [n.node, i]));
nodes.forEach((n, i) => Object.assign(n, {at: i, needs: [], neededBy: []}));
for (const e of data.edges) {
    const edge = {kind: e.kind, resource: e.resource, from: nodes[byNumber.get(e.from)], to: nodes[byNumber.get(e.to)]};
    edge.to.needs.push(edge);
    edge.from.neededBy.push(edge);
    if (e.kind === "pair") { /* neither goes without the other */
        const back = {kind: e.kind, from: edge.to, to: edge.from};
        back.to.needs.push(back);
        back.from.neededBy.push(back);
    }
}
const canvas = document.querySelector("canvas"), panel = document.getElementById("panel");
let selected = null, lit = new Map(), found = null, naming = null; /* naming: the object that found commands name */
const transform = {x: 0, k: 1}; /* of the axis: pixels, times */

function words(n) {
    const where = n.command === undefined ? `semaphore ${n.semaphore}, value ${n.value}` : `command ${n.submit}:${n.command}`;
    return {title: n.kind === "wait" || n.kind === "signal" ? `${n.name}: ${n.kind}` : n.name, where};
}
/* Of the object: the function that made it, and its number. */
function objectWords(o) {
    return `${data.objects[o]} ${o}`;
}
function names(n, o) {
    return n.changes === o || (n.objects || []).includes(o);
}
function resourceWords(r) {
    if (r === undefined)
        return "";
    const x = data.resources[r];
    return x.name ? x.name : `${x.kind} ${r}`;
}

/* ---- what lights up ---- */

function reach(start, list, end) {
    const seen = new Set([start]), open = [start];
    while (open.length) {
        for (const e of open.pop()[list]) {
            if (e.kind === "order" || seen.has(e[end]))
                continue;
            seen.add(e[end]);
            open.push(e[end]);
        }
    }
    seen.delete(start);
    return seen;
}
function select(n, scroll) {
    selected = n;
    if (naming !== null)
        found = naming = null;
    lit = new Map();
    if (n) {
        for (const x of reach(n, "neededBy", "to"))
            lit.set(x, "to");
        for (const x of reach(n, "needs", "from"))
            lit.set(x, "from");
        if (scroll)
            show(n);
    }
    location.hash = n ? `n${n.node}` : "";
    fillPanel();
    paint();
}

/* ---- the panel ---- */

function list(title, edges, end) {
    if (!edges.length)
        return;
    panel.append(Object.assign(document.createElement("h3"), {textContent: `${title} (${edges.length})`}));
    const ul = panel.appendChild(document.createElement("ul"));
    for (const e of edges.slice(0, 300)) {
        const n = e[end], button = document.createElement("button");
        const what = Object.assign(document.createElement("span"), {className: "what"});
        what.textContent = (n.label ? `${n.label}: ` : "") + words(n).title + ` (${words(n).where})`;
        const kind = Object.assign(document.createElement("span"), {className: "kind"});
        kind.textContent = e.kind + (e.resource === undefined ? "" : ` · ${resourceWords(e.resource)}`);
        button.append(what, kind);
        button.onclick = () => select(n, true);
        ul.appendChild(document.createElement("li")).append(button);
    }
    if (edges.length > 300)
        ul.appendChild(document.createElement("li")).textContent = `and ${edges.length - 300} more`;
}
/* The objects of a command; a click finds all commands that name the same one. */
function listObjects(n) {
    const all = [...new Set([...(n.changes ? [n.changes] : []), ...(n.objects || [])])];
    if (n.bytes === undefined && !all.length)
        return;
    panel.append(Object.assign(document.createElement("h3"), {textContent: `Given (${all.length})`}));
    if (n.bytes !== undefined)
        panel.append(Object.assign(document.createElement("p"), {textContent: `${n.bytes.toLocaleString("en")} bytes of arguments`, className: "about"}));
    const ul = panel.appendChild(document.createElement("ul"));
    for (const o of all) {
        const button = document.createElement("button");
        const what = Object.assign(document.createElement("span"), {className: "what", textContent: objectWords(o)});
        const users = nodes.filter(x => names(x, o));
        const kind = Object.assign(document.createElement("span"), {className: "kind"});
        kind.textContent = (n.changes === o ? "changes · " : "") + `${users.length} ${users.length === 1 ? "command" : "commands"}`;
        button.append(what, kind);
        button.title = "Show the commands that name it";
        button.onclick = () => {
            found = new Set(users);
            naming = o;
            document.getElementById("find").value = "";
            paint();
        };
        ul.appendChild(document.createElement("li")).append(button);
    }
}
function fillPanel() {
    panel.replaceChildren();
    const add = (tag, text, name) => panel.append(Object.assign(document.createElement(tag), {textContent: text, className: name || ""}));
    if (!selected) {
        add("h2", "Nothing is selected");
        add("p", "Click a command, or find one by its name. Dead commands are hollow: neither the host, nor the display, nor what stands at the end needs them.", "about");
        const dead = nodes.filter(n => !n.live && n.kind !== "wait" && n.kind !== "signal");
        list("Dead", dead.map(n => ({kind: n.kind, resource: n.resource, from: n})), "from");
        return;
    }
    const n = selected, w = words(n);
    add("h2", w.title);
    if (n.label)
        add("p", `of '${n.label}'`);
    add("p", `${w.where}, queue ${n.queue} (${kindWords[data.queues[n.queue]]}), frame ${n.frame}`, "about");
    if (!n.live)
        add("p", "Dead: nothing that can be seen needs it.", "dead");
    const all = [...lit.values()];
    add("p", `Needs ${all.filter(x => x === "from").length} others in all; ${all.filter(x => x === "to").length} need it.`, "about");
    listObjects(n);
    list("Needs", n.needs.filter(e => e.kind !== "order"), "from");
    list("Needed by", n.neededBy.filter(e => e.kind !== "order"), "to");
    list("Comes behind", n.needs.filter(e => e.kind === "order"), "from");
    list("Comes before", n.neededBy.filter(e => e.kind === "order"), "to");
}

/* ---- the picture ---- */

const lane = 200, left = 116, top_ = 34;
function width() { return canvas.clientWidth - left - 16; }
function unit() { return Math.max(width() / Math.max(nodes.length, 1), 0.001) * transform.k; }
function xOf(n) { return left + transform.x + (n.at + 0.5) * unit(); }
function laneHeight() { return Math.min(lane, (canvas.clientHeight - top_ - 10) / Math.max(data.queues.length, 1)); }
function yOf(n) { return top_ + (n.queue + 0.5) * laneHeight(); }
function heightOf(n) { return laneHeight() * (n.kind === "command" ? 0.46 : n.kind === "barrier" ? 0.26 : 0.34); }
function show(n) {
    const x = xOf(n);
    if (x < left + 40 || x > canvas.clientWidth - 60)
        moveTo(width() / 2 - (n.at + 0.5) * unit(), transform.k);
}
function colors() {
    const style = getComputedStyle(document.documentElement), get = name => style.getPropertyValue(`--${name}`).trim();
    return {get, queue: data.queues.map(q => get(kinds[q] || "host"))};
}
function paintNode(c, n, color, u) {
    const x = xOf(n), y = yOf(n), h = heightOf(n), w = Math.max(1, Math.min(u * 0.8, n.kind === "command" ? 64 : 14));
    const mark = n === selected ? color.get("accent") : lit.has(n) ? color.get(lit.get(n)) : null;
    const own = n.kind === "command" ? color.queue[n.queue] : color.get("barrier");
    c.globalAlpha = (!selected && !found) || (mark && naming === null) || (found && found.has(n)) ? 1 : 0.18;
    c.beginPath();
    if (n.kind === "wait" || n.kind === "signal") {
        const d = n.kind === "signal" ? 1 : -1;
        c.moveTo(x - d * w / 2, y - h / 2);
        c.lineTo(x + d * w / 2, y);
        c.lineTo(x - d * w / 2, y + h / 2);
        c.closePath();
    } else {
        c.roundRect(x - w / 2, y - h / 2, w, h, Math.min(4, w / 2));
    }
    if (n.live || w < 3) {
        c.fillStyle = mark || own;
        c.fill();
    } else {
        c.strokeStyle = mark || own;
        c.lineWidth = 1.5;
        c.stroke();
    }
    if (w > 40 && n.kind === "command") {
        c.fillStyle = n.live ? "#fff" : own;
        c.font = "10px system-ui, sans-serif";
        const text = n.label || n.name.replace(/^vk(Cmd|Queue)?/, "");
        c.fillText(text.length > w / 5.5 ? text.slice(0, Math.floor(w / 5.5)) + "…" : text, x - w / 2 + 4, y + 3, w - 8);
    }
    c.globalAlpha = 1;
}
function paintEdges(c, color) {
    const draw = (edges, end, name) => {
        c.strokeStyle = color.get(name);
        for (const e of edges) {
            if (e.kind === "order")
                continue;
            const a = xOf(selected), b = xOf(e[end]), y = yOf(selected), z = yOf(e[end]);
            c.globalAlpha = edges.length > 60 ? 0.3 : 0.8;
            c.setLineDash(e.kind === "content" ? [] : [4, 3]);
            c.beginPath();
            c.moveTo(a, y);
            const lift = y === z ? laneHeight() * 0.55 : 0;
            c.bezierCurveTo(a + (b - a) * 0.3, y - lift, b - (b - a) * 0.3, z - lift, b, z);
            c.stroke();
        }
        c.globalAlpha = 1;
        c.setLineDash([]);
    };
    c.lineWidth = 1.6;
    draw(selected.needs, "from", "from");
    draw(selected.neededBy, "to", "to");
}
function paintLanes(c, color) {
    c.font = "12px system-ui, sans-serif";
    data.queues.forEach((q, i) => {
        const y = top_ + i * laneHeight();
        c.strokeStyle = color.get("line");
        c.beginPath();
        c.moveTo(0, y + 0.5);
        c.lineTo(canvas.clientWidth, y + 0.5);
        c.stroke();
        c.fillStyle = color.get("text");
        c.fillText(`${kindWords[q]}`, 14, y + laneHeight() / 2);
        c.fillStyle = color.get("faint");
        c.fillText(`queue ${i}`, 14, y + laneHeight() / 2 + 15);
    });
}
function paintFrames(c, color) {
    let before = null;
    c.font = "11px system-ui, sans-serif";
    let edge = -1;
    for (const n of nodes) {
        if (n.frame === before)
            continue;
        before = n.frame;
        const x = xOf(n) - unit() / 2;
        if (x < left || x > canvas.clientWidth)
            continue;
        c.strokeStyle = color.get("line");
        c.beginPath();
        c.moveTo(x, 20);
        c.lineTo(x, canvas.clientHeight);
        c.stroke();
        if (x < edge)
            continue;
        c.fillStyle = color.get("muted");
        const text = `frame ${n.frame}`;
        c.fillText(text, x + 4, 22);
        edge = x + c.measureText(text).width + 12;
    }
}
function paint() {
    const c = canvas.getContext("2d"), ratio = window.devicePixelRatio || 1, color = colors();
    canvas.width = canvas.clientWidth * ratio;
    canvas.height = canvas.clientHeight * ratio;
    c.scale(ratio, ratio);
    paintLanes(c, color);
    c.save();
    c.beginPath();
    c.rect(left - 2, 0, canvas.clientWidth, canvas.clientHeight);
    c.clip();
    paintFrames(c, color);
    const u = unit(), first = Math.max(0, Math.floor((-transform.x - 80) / u)), last = first + Math.ceil((width() + 160) / u) + 1;
    for (let i = first; i < Math.min(last, nodes.length); i++) {
        if (nodes[i] !== selected && !lit.has(nodes[i]))
            paintNode(c, nodes[i], color, u);
    }
    if (selected)
        paintEdges(c, color);
    for (const n of [...lit.keys(), ...(selected ? [selected] : [])]) {
        if (n.at >= first && n.at < last)
            paintNode(c, n, color, u);
    }
    c.restore();
}
function pick(px, py) {
    const q = Math.floor((py - top_) / laneHeight());
    let best = null, near = 12;
    const middle = Math.round((px - left - transform.x) / unit() - 0.5), range = Math.ceil(near / unit()) + 1;
    for (let i = Math.max(0, middle - range); i <= Math.min(nodes.length - 1, middle + range); i++) {
        const away = Math.abs(xOf(nodes[i]) - px) - (nodes[i].kind === "command" ? 3 : 0);
        if (nodes[i].queue === q && away < near) {
            near = away;
            best = nodes[i];
        }
    }
    return best;
}

/* ---- hands ---- */

const most = d3.max([40, nodes.length / 8]);
function moveTo(x, k) {
    transform.k = Math.min(most, Math.max(1, k));
    transform.x = Math.min(0, Math.max(x, width() * (1 - transform.k)));
}
function zoomAt(px, times) {
    const k = Math.min(most, Math.max(1, transform.k * times)), at = px - left;
    moveTo(at - (at - transform.x) * k / transform.k, k);
    paint();
}
let drag = null;
canvas.addEventListener("wheel", event => {
    event.preventDefault();
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        moveTo(transform.x - event.deltaX, transform.k);
        paint();
    } else {
        zoomAt(event.offsetX, Math.exp(-event.deltaY / 400));
    }
}, {passive: false});
canvas.addEventListener("pointerdown", event => {
    drag = {x: event.clientX, from: transform.x, moved: false};
    canvas.setPointerCapture(event.pointerId);
});
canvas.addEventListener("pointermove", event => {
    if (!drag)
        return;
    drag.moved = drag.moved || Math.abs(event.clientX - drag.x) > 3;
    moveTo(drag.from + event.clientX - drag.x, transform.k);
    paint();
});
canvas.addEventListener("pointerup", event => {
    if (drag && !drag.moved)
        select(pick(event.offsetX, event.offsetY), false);
    drag = null;
});
canvas.addEventListener("keydown", event => {
    const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
    if (step && nodes.length)
        select(nodes[Math.min(nodes.length - 1, Math.max(0, (selected ? selected.at : -step) + step))], true);
    else if (event.key === "ArrowUp" && selected && selected.needs.length)
        select(selected.needs[0].from, true);
    else if (event.key === "ArrowDown" && selected && selected.neededBy.length)
        select(selected.neededBy[0].to, true);
    else if (event.key === "Escape")
        select(null);
    else if (event.key === "+" || event.key === "-")
        zoomAt(selected ? xOf(selected) : left + width() / 2, event.key === "+" ? 1.5 : 1 / 1.5);
    else
        return;
    event.preventDefault();
});
document.getElementById("find").addEventListener("input", event => {
    const text = event.target.value.trim().toLowerCase();
    naming = null;
    found = text ? new Set(nodes.filter(n => `${n.name} ${n.label || ""}`.toLowerCase().includes(text))) : null;
    paint();
});
document.getElementById("find").addEventListener("keydown", event => {
    if (event.key === "Enter" && found && found.size)
        select([...found][0], true);
});
document.getElementById("theme").addEventListener("click", () => {
    const root = document.documentElement;
    root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
    paint();
});
window.addEventListener("resize", paint);

function fillTop() {
    const commands = nodes.filter(n => n.kind === "command"), dead = commands.filter(n => !n.live).length;
    const figures = [[commands.length, "commands"], [dead, "dead"], [nodes.filter(n => n.kind === "barrier").length, "barriers"],
                     [nodes.filter(n => n.kind === "wait").length, "waits"], [data.edges.length, "edges"], [data.resources.length, "resources"],
                     [data.objects.length - 1, "objects"]];
    for (const [count, word] of figures) {
        const span = document.createElement("span");
        span.append(Object.assign(document.createElement("b"), {textContent: count.toLocaleString("en")}), ` ${word}`);
        document.getElementById("figures").append(span);
    }
    const legend = [...new Set(data.queues)].map(q => [`var(--${kinds[q]})`, kindWords[q]]);
    legend.push(["var(--barrier)", "barrier, wait, signal"], ["var(--from)", "needed by the selection"], ["var(--to)", "needs the selection"]);
    for (const [color, word] of legend) {
        const span = document.createElement("span"), dot = document.createElement("i");
        dot.style.background = color;
        span.append(dot, word);
        document.getElementById("legend").append(span);
    }
}
if (matchMedia("(prefers-color-scheme: dark)").matches)
    document.documentElement.dataset.theme = "dark";
fillTop();
const start = location.hash.match(/^#n(\d+)$/);
select(start && byNumber.has(+start[1]) ? nodes[byNumber.get(+start[1])] : null, true);
