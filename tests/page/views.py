"""Views, what is selected, the four questions, words, search, filters, keys, names."""

import json

from page import DOWN, ENTER, ESCAPE, LEFT, RIGHT, SHIFT, TAB, UP, equal, has, test  # noqa: F401


# ---- views and what is selected ----

@test
def every_view_shows_something(page):
    page.open("frame")
    for section in ["queues", "memory", "grid"]:
        shades = page.js("""const c = document.querySelector('#' + arguments[0] + ' canvas');
            const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data, seen = new Set();
            for (let i = 0; i < d.length; i += 4) seen.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]);
            return seen.size;""", section)
        assert shades > 30, "%s has %d colours" % (section, shades)
    has(page.panel(), "At a glance", "lighting", "shadow cascades", "read after write")
    page.quiet()


@test
def each_pass_can_be_clicked_and_read(page):
    page.open("frame")
    for p in range(page.js("return heddle.ui.model.passes.length")):
        page.click("p%d" % p)
        equal(page.selected(), "p%d" % p)
        has(page.panel(), page.js("return heddle.ui.model.passes[arguments[0]].label", p))
    page.quiet()


@test
def each_batch_submit_heap_and_resource_can_be_read(page):
    page.open("frame")
    for kind, count in page.js("""const m = heddle.ui.model;
            return [['b', m.batches.length], ['s', m.submits.length], ['h', m.heaps.length],
                    ['r', m.resources.length]];"""):
        for i in range(count):
            page.js("heddle.select(arguments[0])", "%s%d" % (kind, i))
            text = page.panel()
            assert len(text) > 40 and "undefined" not in text and "NaN" not in text, text
    page.quiet()


@test
def selection_lights_up_in_all_views(page):
    page.open("frame")
    page.click(page.pass_key("lighting"))
    lit = page.js("""const l = heddle.ui.lit, m = heddle.ui.model;
        return [Object.fromEntries(Array.from(l.passes, ([id, r]) => [m.passes[id].label, r])),
                Object.fromEntries(Array.from(l.resources, ([id, r]) => [m.resources[id].label, r]))];""")
    for name in ["g-buffer", "decals", "shadows", "denoise occlusion", "sky", "upload"]:
        equal(lit[0].get(name), "from", name)
    equal(lit[0].get("transparent"), "to")
    equal(lit[0].get("particles"), None, "what transparent went on with")
    equal((lit[1]["lit"], lit[1]["occlusion"]), ("to", "from"))
    page.b.keys(ESCAPE)
    equal(page.selected(), None)


# ---- four questions, each within three clicks ----

@test
def why_is_this_barrier_here(page):
    page.open("frame")
    batch = page.js("return heddle.itemOf(heddle.ui.model, arguments[0]).before[0].id", page.pass_key("lighting"))
    page.click("b%d" % batch)
    has(page.panel(), "vkCmdPipelineBarrier2", "before lighting",
        "lighting reads what shadows wrote to shadow cascades.", "EARLY_FRAGMENT_TESTS",
        "DEPTH_STENCIL_ATTACHMENT_OPTIMAL")
    page.b.click_on("#panel .where .ref", "lighting")
    has(page.panel(), "Waits for", "Uses")


@test
def why_was_this_pass_culled(page):
    page.open("frame")
    page.b.click_on(".figure:nth-child(1)")
    has(page.panel(), "Only debug view would read overdraw heat, and that pass is culled too.",
        "No pass reads debug overlay, which it writes, and the frame does not keep it.")
    page.b.click_on("#panel .row .ref", "overdraw")
    has(page.panel(), "Culled:", "Only debug view would read")


@test
def where_does_the_memory_go(page):
    page.open("frame")
    page.b.click_on(".figure:nth-child(3)")
    has(page.panel(), "Aliasing saves", "At its peak", "waste", "shadow cascades", "32 MiB")
    first = page.js("return document.querySelector('#panel .rows .ref').textContent")
    equal(first, "shadow cascades")
    page.b.click_on("#panel .rows .ref")
    has(page.panel(), "D32_SFLOAT", "4096 × 2048", "Why it lies there")


@test
def what_runs_beside_what(page):
    page.open("frame")
    name = page.js("""const m = heddle.ui.model;
        const beside = (p, q) => q.queue !== p.queue && q.begin < p.end && p.begin < q.end;
        return m.order.find((p) => m.order.some((q) => beside(p, q))).label;""")
    page.click(page.pass_key(name))
    has(page.panel(), "Runs beside")
    assert "Nothing on other queues" not in page.panel()


# ---- words ----

@test
def attachments_scopes_and_tenants_are_explained(page):
    page.open("frame")
    page.js("heddle.select(arguments[0])", page.pass_key("transparent"))
    has(page.panel(), "Rendering scope", "Shared with", "particles", "LOAD", "the pass goes on with earlier content",
        "read next by")
    page.js("heddle.select(arguments[0])", page.pass_key("decals"))
    has(page.panel(), "Shared with", "g-buffer")
    page.js("heddle.select(arguments[0])", page.resource_key("lit"))
    has(page.panel(), "Shares bytes with", "R16G16B16A16_SFLOAT", "COLOR_ATTACHMENT", "Used by", "Barriers")
    page.js("heddle.select(arguments[0])", page.resource_key("resolved (last frame)"))
    has(page.panel(), "a history", "Kept from frame to frame")


@test
def chains_are_as_long_as_the_library_says(page):
    page.open("frame")
    wanted = json.loads((page.folder / "frame.chains").read_text())
    found = page.js("""return arguments[0].map(([a, b]) => heddle.chainLengths(a, b));""", wanted)
    assert len(wanted) > 200
    for (a, b, lengths), here in zip(wanted, found):
        equal(set(here), set(lengths), "passes %d and %d" % (a, b)) # which stages are taken together differs
    assert sum(max(lengths, default=0) > 2 for _, _, lengths in wanted) > 100


@test
def two_passes_show_what_orders_them(page):
    page.open("frame")
    page.click(page.pass_key("g-buffer"))
    page.click(page.pass_key("lighting"), keys=[SHIFT])
    has(page.panel(), "What orders them", "g-buffer", "lighting", "barrier", "albedo")
    page.click(page.pass_key("occlusion"), keys=[SHIFT])
    has(page.panel(), "signals", "waits for")
    page.quiet()


# ---- search, filters, keys, pointer ----

@test
def names_are_found(page):
    page.open("frame")
    page.b.keys("/")
    page.b.keys("occl")
    shown = page.js("return Array.from(document.querySelectorAll('#found li'), (e) => e.innerText.split('\\n')[0])")
    equal(shown[:2], ["occlusion", "occlusion"])
    assert "denoise occlusion" in shown and "rough occlusion" in shown
    page.b.keys(ENTER)
    equal(page.selected(), page.pass_key("occlusion"))
    page.b.keys("/")
    page.b.keys("no such name")
    has(page.js("return document.getElementById('found').innerText"), "Nothing has this name")
    page.b.keys(ESCAPE)
    page.b.keys("/")
    page.b.keys("swap" + ENTER)
    equal(page.selected(), page.resource_key("swapchain"))


@test
def filters_hide(page):
    page.open("frame")
    rows = "return heddle.gridView.rows.length"
    before = page.js(rows)
    page.b.click_on("#filter")
    page.b.click_on("#filters label", "buffers")
    assert page.js(rows) < before
    page.b.click_on("#filters label", "compute")
    equal(page.js("return document.getElementById('filter').textContent"), "Filter · 2")
    page.b.click_on("#tabs button", "Passes")
    assert "occlusion" not in page.js("return Array.from(document.querySelectorAll('#panel .row .ref'), (e) => e.textContent)")
    page.b.click_on("#filters label", "buffers")
    page.b.click_on("#filters label", "compute")
    page.b.click_on("#filters input[type=search]")
    page.b.keys("bloom")
    names = page.js("return heddle.gridView.rows.map((r) => r.label)")
    assert "bloom 1/2" in names and "albedo" not in names


@test
def connected_rows_alone(page):
    page.open("frame")
    page.js("heddle.select(arguments[0])", page.pass_key("sky"))
    page.b.click_on("#grid .toggle")
    equal(sorted(page.js("return heddle.gridView.rows.map((r) => r.label)")), ["constants", "sky"])


@test
def wheel_drag_and_keys_move_all_views(page):
    page.open("frame")
    span = "return [heddle.axis.lo, heddle.axis.hi, heddle.axis.extent]"
    x, y = page.place(page.pass_key("g-buffer"))
    page.b.wheel(x, y, -400)
    lo, hi, extent = page.js(span)
    assert lo > 0 and hi < extent
    page.b.drag(x, y, x - 120, y)
    moved = page.js(span)
    assert moved[0] > lo and abs((moved[1] - moved[0]) - (hi - lo)) < 1e-6
    equal(page.selected(), None, "a drag selects nothing")
    page.b.keys("a")
    assert page.js(span)[0] < moved[0]
    page.b.keys("+")
    zoomed = page.js(span)
    assert zoomed[1] - zoomed[0] < moved[1] - moved[0]
    page.b.keys("0")
    page.b.settle()
    equal(page.js(span)[:2], [0, extent])
    page.b.keys("o")
    equal(page.js(span)[2], page.js("return heddle.ui.model.passes.length"), "a column a pass")
    page.b.keys("o")
    page.b.drag(*page.js("const b = document.querySelector('#overview').getBoundingClientRect(); return [b.left + 400, b.top + 18, b.left + 700, b.top + 18]"))
    brushed = page.js(span)
    assert brushed != [0, extent, extent]


@test
def keys_reach_everything(page):
    page.open("frame")
    page.js("document.querySelector('#queues canvas').focus()")
    page.b.keys(RIGHT + UP + UP + UP)
    seen = []
    for _ in range(8):
        page.b.keys(RIGHT)
        seen.append(page.selected())
    assert len(set(seen)) > 6 and all(key[0] == "p" for key in seen)
    has(page.js("return document.getElementById('said').textContent"), "pass")
    page.b.keys(UP)
    page.b.keys(DOWN)
    page.b.keys(ENTER)
    equal(page.js("return document.activeElement.id"), "panel")
    page.js("document.querySelector('#grid canvas').focus()")
    page.b.keys(ESCAPE + DOWN + DOWN)
    equal(page.selected()[0], "r")
    page.js("document.querySelector('#memory canvas').focus()")
    page.b.keys(RIGHT)
    equal(page.selected()[0], "r")
    page.js("document.activeElement.blur()")
    reached = set()
    for _ in range(60):
        page.b.keys(TAB)
        reached.add(page.js("const e = document.activeElement; return e.id || e.className || (e.closest('section') || {}).id || e.tagName"))
    assert {"find", "filter", "theme", "help", "splitter"} <= reached, reached
    page.b.keys("?")
    equal(page.js("return document.getElementById('keys').open"), True)
    page.quiet()


@test
def everything_that_is_pressed_has_a_name(page):
    page.open("frame")
    for tab in ["selection", "passes", "resources", "sync"]:
        page.js("heddle.openTab(arguments[0])", tab)
        nameless = page.js("""return Array.from(document.querySelectorAll('button, input, canvas, [role]')).filter((e) =>
            !(e.getAttribute('aria-label') || e.getAttribute('aria-labelledby') || e.textContent.trim() || e.id === 'said' ||
              (e.labels && e.labels.length) || e.hidden || e.getAttribute('role') === 'tooltip' || e.id === 'found'))
            .map((e) => e.outerHTML.slice(0, 120));""")
        equal(nameless, [], tab)


@test
def lists_grow_and_sort(page):
    page.open("many")
    page.b.click_on("#tabs button", "Passes")
    first = page.js("return document.querySelectorAll('#panel .row').length")
    assert 100 <= first < 2000
    page.js("document.getElementById('panel').scrollTop = 1e6")
    page.b.settle()
    page.b.settle()
    assert page.js("return document.querySelectorAll('#panel .row').length") > first
    page.b.click_on("#panel .chip", "by cost")
    costs = page.js("return heddle.ui.model.passes.map((p) => p.cost)")
    top = page.js("return heddle.itemOf(heddle.ui.model, document.querySelector('#panel .row .ref').dataset.key).cost")
    equal(top, max(costs))
    for tab in ["Resources", "Sync", "Selection"]:
        page.b.click_on("#tabs button", tab)
        assert len(page.panel()) > 100
    page.b.click_on("#tabs button", "Sync")
    page.b.click_on("#panel .chip", "alias")
    has(page.panel(), "in bytes that")
    page.quiet()


# ---- names that want to break out ----

@test
def names_are_text(page):
    page.open("names")
    equal(page.js("return window.broken"), None)
    equal(page.js("return document.scripts.length"), 3)
    equal(page.js("return document.images.length"), 0)
    title = "</title></script><img src=x onerror=window.broken=1>"
    equal(page.js("return document.querySelector('h1').textContent"), title)
    labels = page.js("return heddle.ui.model.passes.map((p) => p.label)")
    for name in ["</script><script>window.broken=1</script>", "\"><img src=x onerror=window.broken=1>", "__proto__",
                 "constructor", "two\nlines\tand a tab", "caf\ufffd \ufffd\ufffd not UTF-8", "&lt;b&gt;bold&lt;/b&gt;"]:
        assert name in labels, name
    for i in range(len(labels)):
        page.js("heddle.select('p' + arguments[0])", i)
        page.js("heddle.select('r' + arguments[0])", i)
        page.b.settle()
    for tab in ["passes", "resources", "sync", "selection"]:
        page.js("heddle.openTab(arguments[0])", tab)
    page.b.keys("/")
    page.b.keys("<img")
    page.b.settle()
    equal((page.js("return window.broken"), page.js("return document.images.length")), (None, 0))
    page.quiet()


@test
def scripts_of_others_do_not_run(page):
    page.open("frame")
    page.js("""const s = document.createElement('script'); s.textContent = 'window.broken = 1'; document.body.append(s);
        document.body.insertAdjacentHTML('beforeend', '<img src="https://localhost/x.png" onerror="window.broken = 1">');""")
    page.b.settle()
    equal(page.js("return window.broken"), None)
    assert any("Content Security Policy" in line for line in page.b.log())


@test
def plans_of_nonsense_are_shown(page):
    for i in range(12):
        page.open("nonsense%d" % i)
        odd = page.js("""const m = heddle.ui.model;
            for (const mode of ['order', 'simulated'])
                heddle.setMode(mode);
            for (const [letter, list] of [['p', m.passes], ['r', m.resources], ['b', m.batches], ['s', m.submits],
                                          ['h', m.heaps]])
                list.forEach((item, i) => heddle.select(letter + i));
            heddle.select('p3');
            heddle.select('p7', {add: true});
            for (const tab of ['passes', 'resources', 'sync'])
                heddle.openTab(tab);
            return document.body.innerText.match(/undefined|NaN/);""")
        equal(odd, None, "nonsense%d" % i)
        page.b.settle()
        page.quiet()


@test
def frames_of_nothing_are_shown(page):
    for name in ["nothing", "one"]:
        page.open(name)
        for tab in ["passes", "resources", "sync", "selection"]:
            page.js("heddle.openTab(arguments[0])", tab)
        page.js("heddle.setMode('order')")
        page.b.settle()
        assert "NaN" not in page.js("return document.body.innerText")
        page.quiet()
