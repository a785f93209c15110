"""A headless Chromium, told what to do by its DevTools protocol over a pipe: nothing of it needs a network.

    with browser.Page(path) as page:
        page.ask("document.title")
        page.press("Tab")
"""
import json
import os
import shutil
import subprocess
import tempfile
import threading
import time

NAMES = ("chromium", "chromium-browser", "google-chrome")
WAIT_S = 120
COMPLAINTS = ("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown")
KEYS = {"Tab": 9, "Enter": 13, "ArrowLeft": 37, "ArrowRight": 39, "0": 48, "+": 187, "-": 189}


def program():
    """None: there is none here."""
    return next((found for found in map(shutil.which, NAMES) if found), None)


class Page:
    """A page that is open: of a file or an address. `requests` are all addresses it asked for, `complaints`
    what its console says."""

    def __init__(self, path, width=1200, height=900, dark=False, scripts=True):
        self.path, self.size, self.dark, self.scripts = path, (width, height), dark, scripts
        self.requests, self.complaints, self.events = [], [], []
        self.answers, self.number = {}, 0
        self.changed = threading.Condition()

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="gpushim-browser-")
        to_read, self.to = os.pipe()
        self.answers_from, to_write = os.pipe()
        # It reads what to do from 3 and answers on 4.
        words = [program(), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                 "--no-first-run", "--disable-background-networking", "--disable-component-update",
                 "--hide-scrollbars", f"--user-data-dir={self.folder}", "--remote-debugging-pipe",
                 "about:blank"]
        shell = 'exec 3<&"$0" 4>&"$1"; shift; exec "$@"'
        self.process = subprocess.Popen(["bash", "-c", shell, str(to_read), str(to_write), *words],
                                        pass_fds=(to_read, to_write), stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        threading.Thread(target=self.listen, daemon=True).start()
        target = self.do("Target.createTarget", session=None, url="about:blank")["targetId"]
        attached = self.do("Target.attachToTarget", session=None, targetId=target, flatten=True)
        self.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.do(f"{domain}.enable")
        self.do("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme",
                                                         "value": "dark" if self.dark else "light"}])
        self.do("Emulation.setDeviceMetricsOverride", width=self.size[0], height=self.size[1],
                deviceScaleFactor=1, mobile=self.size[0] < 600)
        self.do("Emulation.setScriptExecutionDisabled", value=not self.scripts)
        is_address = isinstance(self.path, str)
        self.do("Page.navigate", url=self.path if is_address else self.path.resolve().as_uri())
        with self.changed:
            assert self.changed.wait_for(lambda: "Page.loadEventFired" in self.events, WAIT_S), "never loaded"
        return self

    def __exit__(self, *_):
        try:
            self.do("Browser.close", session=None)
            self.process.wait(WAIT_S)
        finally:
            self.process.kill()
            self.process.wait()
            os.close(self.to)
            shutil.rmtree(self.folder, ignore_errors=True)  # what it began still ends

    def listen(self):
        with os.fdopen(self.answers_from, "rb") as stream:
            text = b""
            while chunk := stream.read1(1 << 16):
                *messages, text = (text + chunk).split(b"\0")
                for message in messages:
                    self.heard(json.loads(message))

    def heard(self, message):
        with self.changed:
            if "id" in message:
                self.answers[message["id"]] = message
            self.events.append(message.get("method"))
            said = message.get("params", {})
            if message.get("method") == "Network.requestWillBeSent":
                self.requests.append(said["request"]["url"])
            if message.get("method") in COMPLAINTS:
                self.complaints.append(said)
            self.changed.notify_all()

    def do(self, method, session="", **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        with self.changed:
            assert self.changed.wait_for(lambda: self.number in self.answers, WAIT_S), method
        answer = self.answers[self.number]
        assert "result" in answer, (method, answer)
        return answer["result"]

    def ask(self, expression):
        """What JavaScript says, as a value."""
        answer = self.do("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def wait_for(self, expression):
        """What it says once it is true of something."""
        until = time.monotonic() + WAIT_S
        while not (found := self.ask(expression)):
            assert time.monotonic() < until, expression
            time.sleep(0.1)
        return found

    def ask_later(self, expression):
        """What the promise brings."""
        answer = self.do("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def press(self, key):
        text = {"Enter": "\r", "0": key, "+": key, "-": key}.get(key)
        for kind in ("keyDown", "keyUp"):
            typed = {"text": text} if text and kind == "keyDown" else {}
            self.do("Input.dispatchKeyEvent", type=kind, key=key, code=key,
                    windowsVirtualKeyCode=KEYS[key], **typed)

    def type(self, text):
        self.do("Input.insertText", text=text)

    def mouse(self, kind, x, y, **more):
        """kind: mousePressed, mouseMoved, mouseReleased or mouseWheel."""
        self.do("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)


def painted_ms(page):
    """From opening it to its first contentful paint, by Chromium itself."""
    with Page(page) as opened:
        return opened.wait_for("performance.getEntriesByName('first-contentful-paint')[0]?.startTime")
