"""Two plans, measured times, pictures, the live view; light and dark, paper, speed, looks."""

import base64
import http.client
import pathlib
import socket
import subprocess

from page import equal, has, test

HERE = pathlib.Path(__file__).resolve().parent


# ---- two plans, measured times ----

@test
def a_plan_beside_another_says_what_changed(page):
    page.open("changed")
    has(page.panel(), "What changed", "heaps\t125 MiB\t109 MiB\t−16 MiB (−13 %)", "passes\t22\t24\t+2 (+9 %)",
        "culled\t3\t2\t−1")
    changes = dict(page.js("""return Array.from(document.querySelectorAll('#panel .line'))
        .filter((e) => e.querySelector('.tag')).map((e) => [e.querySelector('.ref, .gone').textContent, e.querySelector('.tag').textContent]);"""))
    wanted = {"light culling": "gone", "shadows": "cheaper", "denoise occlusion": "dearer", "trace reflections": "new",
              "add reflections": "new", "shadow cascades": "smaller", "reflections": "new"}
    equal({name: changes.get(name) for name in wanted}, wanted)
    assert "g-buffer" not in changes and "albedo" in changes
    has(page.panel(), "New barriers", "lighting", "Barriers that are gone", "Lie elsewhere")
    page.b.click_on("#panel .line .ref", "light culling")
    has(page.panel(), "of the plan before", "not: it was culled", "there is no such pass")
    page.click(page.pass_key("shadows"))
    has(page.panel(), "cheaper", "before")
    has(page.js("return document.getElementById('figures').innerText"), "was 125 MiB")
    page.quiet()


@test
def a_plan_beside_itself_has_not_changed(page):
    page.open("same")
    has(page.panel(), "The plans do the same.")
    equal(page.js("return heddle.totals(heddle.ui.model).filter((t) => t.now !== t.before).length"), 0)
    equal(page.js("return heddle.ui.model.passes.filter((p) => p.change).length"), 0)


@test
def measured_times_are_shown(page):
    page.open("measured")
    ends = "return heddle.ui.model.order.map((p) => [p.begin, p.end])"
    measured = page.js(ends)
    page.b.click_on("#axis-mode button", "Simulated")
    simulated, extent = page.js(ends), page.js("return heddle.axis.extent")
    assert measured != simulated
    page.open("frame")
    equal(simulated, page.js(ends))
    equal(extent, page.js("return heddle.axis.extent"))
    page.open("measured")
    spans = {s["pass"]: s for s in page.js("return heddle.ui.model.spans")}
    key = page.pass_key("lighting")
    took = spans[int(key[1:])]["end"] - spans[int(key[1:])]["begin"]
    page.click(key)
    has(page.panel(), "%.0f µs" % took, "simulated\n520 µs")
    page.b.click_on("#axis-mode button", "Order")
    page.quiet()


# ---- pictures ----

SHADES = """const c = document.querySelectorAll('#panel .picture')[arguments[0]];
    const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
    return [c.width, c.height, Array.from(d.slice(0, 4)), new Set(Array.from(d).filter((v, i) => i % 4 < 3)).size];"""


@test
def what_passes_left_is_shown(page):
    page.open("pictures")
    page.js("heddle.select('p4')")
    equal(page.js(SHADES, 0), [8, 4, [255, 0, 0, 255], 2])
    has(page.panel(), "As it left them", "-1.50 … 60.0")
    page.js("heddle.select('r4')")
    has(page.panel(), "Content, pass by pass")
    equal(page.js("return document.querySelectorAll('#panel .picture').length"), 2)
    equal(page.js(SHADES, 1)[3], 64)
    equal(page.js("return document.querySelectorAll('#panel .histogram path').length"), 6)
    page.js("heddle.select('p5')")
    assert "As it left them" not in page.panel()
    page.quiet()


@test
def the_main_sample_leaves_pictures(page):
    sample = page.folder.parent / "samples" / "deferred" / "deferred"
    out = page.folder / "deferred"
    out.mkdir(exist_ok=True)
    subprocess.run([str(sample), "--frames", "3", "--size", "256x144", "--thumbnails",
                    "--out", str(out)], check=True, stdout=subprocess.DEVNULL, timeout=200)
    page.open("deferred/plan")
    equal(page.js("return heddle.ui.modes.map((m) => m[0])"), ["Measured", "Simulated", "Order"])
    found = page.js("""return heddle.ui.model.passes.filter((p) => p.pictures.length).map((p) => [p.label, p.pictures.length,
        p.pictures.every((q) => q.most > q.least && p.uses.some((u) => u.res === q.res && u.writes))]);""")
    assert len(found) > 14 and all(good for _, _, good in found), found
    equal(dict((name, count) for name, count, _ in found)["gbuffer"], 3)
    page.js("heddle.select(arguments[0])", page.pass_key("gbuffer"))
    assert page.js(SHADES, 0)[3] > 40
    page.quiet()


# ---- the live view ----

def ask(port, path, method="GET", host=None):
    """Status and body of a request; host: what its Host says."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.putrequest(method, path, skip_host=True)
    connection.putheader("Host", host or "127.0.0.1:%d" % port)
    connection.endheaders()
    answer = connection.getresponse()
    return answer.status, answer.read()


@test
def a_running_engine_is_followed(page):
    engine = subprocess.Popen([str(page.folder.parent / "tests" / "page_frames"), "--serve"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True)
    try:
        port = int(engine.stdout.readline() or 0)
        if not port:
            assert engine.wait() == 77
            return print("    no libmicrohttpd: the live view is left out")
        page.b.open("http://127.0.0.1:%d/" % port)
        page.until("heddle.ui.model && heddle.ui.model.order.length === 22")
        page.js("heddle.select(arguments[0])", page.pass_key("lighting"))
        engine.stdin.write("other\n")
        engine.stdin.flush()
        page.until("heddle.ui.model.order.length === 24")
        equal(page.selected(), page.pass_key("lighting"))
        has(page.panel(), "lighting", "Uses")
        page.b.click_on("#live")
        equal(page.js("return document.getElementById('live').getAttribute('aria-pressed')"), "false")
        for host in ["evil.example", "evil.example:%d" % port, "127.0.0.1", "127.0.0.1:%d.evil.example" % port]:
            equal(ask(port, "/data", host=host)[0], 403, host)
        equal(ask(port, "/data", host="localhost:%d" % port)[0], 200)
        equal([ask(port, "/", method)[0] for method in ["POST", "PUT", "DELETE"]], [405, 405, 405])
        equal([ask(port, path)[0] for path in ["/etc/passwd", "/../data", "//"]], [404, 404, 404])
        try:
            socket.create_connection(("127.0.0.2", port), timeout=2).close()
            raise AssertionError("another address is served, too")
        except OSError:
            pass
        page.b.click_on("#live")
        engine.stdin.close()
        equal(engine.wait(20), 0)
        page.until("document.getElementById('live').textContent === 'Ended'")
    finally:
        engine.kill()
        engine.wait()


# ---- light and dark, paper, speed ----

@test
def light_and_dark(page):
    page.open("frame")
    shade = "return getComputedStyle(document.body).backgroundColor"
    light = page.js(shade)
    page.b.click_on("#theme")
    dark = page.js(shade)
    assert light != dark
    page.b.keys("t")
    equal(page.js(shade), light)
    page.b.scheme("dark")
    page.open("frame")
    equal(page.js(shade), dark)
    page.b.scheme("light")


@test
def it_prints(page):
    page.open("frame", "#p8")
    paper = base64.b64decode(page.b.cdp("Page.printToPDF", {"printBackground": True})["data"])
    assert paper.startswith(b"%PDF") and len(paper) > 20000


def measured(page, name, seconds, frames):
    page.open(name)
    found = page.b.wait_js("heddle.measure(60).then(arguments[0])")
    print("    %s: open after %.0f ms, %.0f frames a second, %.1f ms to paint" %
          (name, found["opened"], found["fps"], found["paint"]))
    assert found["opened"] < seconds * 1000, found
    assert found["fps"] > frames, found
    page.quiet()


@test
def two_thousand_passes_are_smooth(page):
    measured(page, "many", 5, 12)


@test
def twenty_thousand_passes_are_usable(page):
    measured(page, "most", 20, 4)


# ---- how it looks ----

def shrunk(page, url):
    """The picture as 56 x 40 cells of 25 x 25 pixels, each its mean colour."""
    return page.b.wait_js("""const done = arguments[1], image = new Image();
        image.onload = () => {
            const c = document.createElement('canvas');
            c.width = 56; c.height = 40;
            const g = c.getContext('2d');
            g.imageSmoothingQuality = 'high';
            let w = image.width, h = image.height, from = image;
            while (w > 112) {
                const half = document.createElement('canvas');
                half.width = w = Math.ceil(w / 2); half.height = h = Math.ceil(h / 2);
                half.getContext('2d').drawImage(from, 0, 0, w, h);
                from = half;
            }
            g.drawImage(from, 0, 0, 56, 40);
            done(Array.from(g.getImageData(0, 0, 56, 40).data));
        };
        image.src = arguments[0];""", url)


def as_webp(page, png):
    return page.b.wait_js("""const done = arguments[1], image = new Image();
        image.onload = () => {
            const c = document.createElement('canvas');
            c.width = image.width; c.height = image.height;
            c.getContext('2d').drawImage(image, 0, 0);
            done(c.toDataURL('image/webp', 0.5));
        };
        image.src = arguments[0];""", png)


def looks_like(page, name):
    """Within 6 % of cells that differ by more than 20 of 255: fonts differ from system to system."""
    page.b.move(5, 5)
    page.b.settle()
    png = page.b.picture()
    (page.folder / (name + ".png")).write_bytes(png)
    page.b.open("about:blank")
    url = "data:image/png;base64," + base64.b64encode(png).decode()
    golden = HERE / "golden" / (name + ".webp")
    if page.keep:
        golden.write_bytes(base64.b64decode(as_webp(page, url).split(",")[1]))
    here = shrunk(page, url)
    there = shrunk(page, "data:image/webp;base64," + base64.b64encode(golden.read_bytes()).decode())
    odd = sum(max(abs(here[i + k] - there[i + k]) for k in range(3)) > 20 for i in range(0, len(here), 4))
    assert odd * 100 <= 6 * len(here) // 4, "%s: %d of %d cells differ" % (name, odd, len(here) // 4)


@test
def the_frame_looks_as_it_did(page):
    page.open("frame")
    looks_like(page, "frame")


@test
def a_selection_in_the_dark_looks_as_it_did(page):
    page.b.scheme("dark")
    page.open("frame")
    page.js("heddle.select(arguments[0])", page.pass_key("lighting"))
    looks_like(page, "selection-dark")
    page.b.scheme("light")


@test
def many_passes_look_as_they_did(page):
    page.open("many")
    looks_like(page, "many")


@test
def two_plans_look_as_they_did(page):
    page.open("changed")
    looks_like(page, "changed")


@test
def a_look_that_changed_is_found(page):
    page.open("frame")
    page.js("document.body.style.filter = 'invert(1)'")
    if page.keep:
        return
    try:
        looks_like(page, "frame")
    except AssertionError:
        return
    raise AssertionError("an inverted page passes for the same")
