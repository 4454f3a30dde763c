"""A browser by chromedriver's protocol (W3C WebDriver), with what Python brings along."""

import base64
import json
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

CHROMIUM = [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--force-device-scale-factor=1",
    "--disable-dev-shm-usage", "--font-render-hinting=none",
]


def found():
    """The paths of browser and driver, or None."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    return (browser, driver) if browser and driver else None


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Browser:
    def __init__(self, width=1400, height=1000):
        binary, driver = found()
        self.base = "http://127.0.0.1:%d" % free_port()
        self.profile = tempfile.mkdtemp()
        self.process = subprocess.Popen([driver, "--port=" + self.base.rsplit(":", 1)[1]], stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        for _ in range(200):
            try:
                self.request("GET", "/status")
                break
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.05)
        options = {"binary": binary, "args": CHROMIUM + ["--user-data-dir=" + self.profile,
                                                        "--window-size=%d,%d" % (width, height)]}
        session = self.request("POST", "/session", {"capabilities": {"alwaysMatch": {
            "browserName": "chrome", "goog:loggingPrefs": {"browser": "ALL"}, "goog:chromeOptions": options}}})
        self.session = "/session/" + session["sessionId"]
        self.cdp("Emulation.setDeviceMetricsOverride",
                 {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})
        self.scheme("light")

    def request(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, method=method, data=data)
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.loads(answer.read())["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(json.loads(error.read())["value"]["message"]) from None

    def post(self, path, body):
        return self.request("POST", self.session + path, body)

    def cdp(self, command, parameters):
        return self.post("/goog/cdp/execute", {"cmd": command, "params": parameters})

    def scheme(self, name):
        self.cdp("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": name},
                                                             {"name": "prefers-reduced-motion", "value": "reduce"}]})

    def open(self, url):
        self.post("/url", {"url": "about:blank"})
        self.log()
        self.post("/url", {"url": url})

    def js(self, script, *arguments):
        return self.post("/execute/sync", {"script": script, "args": list(arguments)})

    def wait_js(self, script, *arguments):
        """The script calls its last argument when it is done."""
        return self.post("/execute/async", {"script": script, "args": list(arguments)})

    def settle(self):
        self.wait_js("const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done(0)))")

    def log(self):
        return [line["message"] for line in self.post("/se/log", {"type": "browser"}) if line["level"] != "INFO"]

    def picture(self):
        return base64.b64decode(self.request("GET", self.session + "/screenshot"))

    # Pointer and keys, as a reader's.
    def pointer(self, *steps):
        self.post("/actions", {"actions": [{"type": "pointer", "id": "mouse", "actions": list(steps)}]})

    def move(self, x, y):
        self.pointer({"type": "pointerMove", "duration": 0, "x": round(x), "y": round(y)})

    def click(self, x, y, keys=()):
        sequence = [{"type": "pointerMove", "duration": 0, "x": round(x), "y": round(y)},
                    {"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]
        held = [{"type": "keyDown", "value": key} for key in keys] + [{"type": "pause", "duration": 0}] * 3
        held += [{"type": "keyUp", "value": key} for key in keys]
        still = [{"type": "pause", "duration": 0}] * len(keys)
        self.post("/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": held},
                                           {"type": "pointer", "id": "mouse", "actions": still + sequence + still}]})
        self.settle()

    def drag(self, x0, y0, x1, y1):
        self.pointer({"type": "pointerMove", "duration": 0, "x": round(x0), "y": round(y0)},
                     {"type": "pointerDown", "button": 0},
                     {"type": "pointerMove", "duration": 0, "x": round((x0 + x1) / 2), "y": round((y0 + y1) / 2)},
                     {"type": "pointerMove", "duration": 0, "x": round(x1), "y": round(y1)},
                     {"type": "pointerUp", "button": 0})
        self.settle()

    def wheel(self, x, y, dy):
        self.post("/actions", {"actions": [{"type": "wheel", "id": "wheel", "actions": [
            {"type": "scroll", "x": round(x), "y": round(y), "deltaX": 0, "deltaY": dy, "duration": 0}]}]})
        self.settle()

    def keys(self, text):
        actions = [{"type": kind, "value": key} for key in text for kind in ("keyDown", "keyUp")]
        self.post("/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})
        self.settle()

    def click_on(self, selector, text=None):
        """The first element that matches, or that one with this text; its middle is clicked."""
        box = self.js("""const all = Array.from(document.querySelectorAll(arguments[0]));
            const one = all.find((e) => e.offsetParent && (arguments[1] === null || e.textContent.trim() === arguments[1]));
            if (!one) return null;
            one.scrollIntoView({block: 'nearest'});
            const b = one.getClientRects()[0];
            return [b.left + b.width / 2, b.top + b.height / 2];""", selector, text)
        if box is None:
            raise AssertionError("no %s%s" % (selector, "" if text is None else " with '%s'" % text))
        self.click(*box)

    def close(self):
        try:
            self.request("DELETE", self.session)
        except (RuntimeError, urllib.error.URLError):
            pass
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)
