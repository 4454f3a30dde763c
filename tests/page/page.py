"""What the tests of the page share: a page in the browser, and how they demand things."""

SHIFT, ENTER, ESCAPE, TAB = "\ue008", "\ue007", "\ue00c", "\ue004"
LEFT, RIGHT, UP, DOWN = "\ue012", "\ue014", "\ue013", "\ue015"
TESTS = []


def test(function):
    TESTS.append(function)
    return function


class Page:
    """A page in the browser, and where things are on it."""

    def __init__(self, browser, folder, keep):
        self.b, self.folder, self.keep = browser, folder, keep

    def open(self, name, anchor=""):
        self.b.open((self.folder / (name + ".html")).as_uri() + anchor)
        self.b.settle()
        assert self.b.js("return typeof heddle") == "object", "the page did not start: %s" % self.b.log()

    def js(self, script, *arguments):
        return self.b.js(script, *arguments)

    def panel(self):
        return self.js("return document.getElementById('panel').innerText")

    def selected(self):
        return self.js("return heddle.ui.selected")

    def pass_key(self, name):
        return "p%d" % self.js("return heddle.ui.model.passes.findIndex((p) => p.label === arguments[0])", name)

    def resource_key(self, name):
        return "r%d" % self.js("return heddle.ui.model.resources.findIndex((r) => r.label === arguments[0])", name)

    def place(self, key):
        """Where the middle of a pass, batch or submit stands on the queues."""
        return self.js("return heddle.placeOf(arguments[0])", key)

    def click(self, key, keys=()):
        self.b.click(*self.place(key), keys=keys)

    def until(self, expression):
        """Waits until it holds, in the page."""
        held = self.b.wait_js("""const done = arguments[0], began = performance.now();
            const look = () => {
                let holds = false;
                try { holds = """ + expression + """; } catch (error) { holds = false; }
                if (holds || performance.now() - began > 25000)
                    done(Boolean(holds));
                else
                    setTimeout(look, 50);
            };
            look();""")
        assert held, expression

    def quiet(self):
        assert self.b.log() == [], "the console is not empty"


def equal(found, wanted, what=""):
    assert found == wanted, "%s: %r, not %r" % (what, found, wanted)


def has(text, *parts):
    for part in parts:
        assert part in text, "no %r in %r" % (part, text[:1500])
