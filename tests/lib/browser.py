"""Headless Chromium, driven by the DevTools protocol over a pipe, with nothing beyond Python's own library."""

import base64
import contextlib
import fcntl
import functools
import http.server
import json
import os
import select
import subprocess
import threading
import time

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-extensions", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--window-size=1200,1400"]  # fmt: skip


class Failed(Exception):
    """What the page or the browser says has gone wrong."""


class Browser:
    """A Chromium of its own. Everything that its pages and their workers ask a network for is in `requests`, and what
    goes wrong in their JavaScript in `faults`."""

    def __init__(self, folder, patience):
        self.patience, self.requests, self.faults, self.number, self.kept = patience, [], [], 0, b""
        # high numbers, so that 3 and 4 are free in the child for the pipe
        theirs_in, self.to = (fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 20) for end in os.pipe())
        self.back, theirs_out = (fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 20) for end in os.pipe())

        def take_pipe():
            os.dup2(theirs_in, 3)
            os.dup2(theirs_out, 4)

        with open(os.path.join(folder, "chromium.log"), "wb") as log:
            self.process = subprocess.Popen(
                ["chromium", *FLAGS, "--remote-debugging-pipe", f"--user-data-dir={folder}/profile", "about:blank"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=take_pipe, pass_fds=(3, 4),
            )  # fmt: skip
        os.close(theirs_in)
        os.close(theirs_out)

    def close(self):
        self.process.terminate()
        self.process.wait(self.patience)
        os.close(self.to)
        os.close(self.back)

    def receive(self, seconds):
        """The next message; None when there is none for so long."""
        until = time.monotonic() + seconds
        while b"\0" not in self.kept:
            if not select.select([self.back], [], [], max(0, until - time.monotonic()))[0]:
                return None
            piece = os.read(self.back, 1 << 16)
            if piece == b"":
                raise Failed("Chromium has ended")
            self.kept += piece
        message, self.kept = self.kept.split(b"\0", 1)
        return json.loads(message)

    def note(self, message):
        """Keeps what an event tells; workers that come are listened to before they begin."""
        method, params, session = message.get("method"), message.get("params", {}), message.get("sessionId")
        if method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            about = params["exceptionDetails"]
            self.faults.append(about.get("exception", {}).get("description", about["text"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.faults.append(params["entry"]["text"])
        elif method == "Target.attachedToTarget":
            worker = params["sessionId"]
            for each in ("Network.enable", "Runtime.enable", "Runtime.runIfWaitingForDebugger"):
                self.send(each, worker)
        return session

    def send(self, method, session=None, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params, **({"sessionId": session} if session else {})}
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data) :]
        return self.number

    def call(self, method, session=None, **params):
        number = self.send(method, session, **params)
        while True:
            message = self.receive(self.patience)
            if message is None:
                raise Failed(f"no answer to {method}")
            if message.get("id") == number:
                if "error" in message:
                    raise Failed(f"{method}: {message['error']['message']}")
                return message["result"]
            self.note(message)

    def open(self, url):
        """A page."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for each in ("Page.enable", "Runtime.enable", "Network.enable", "Log.enable", "DOM.enable"):
            self.call(each, session)
        self.call("Target.setAutoAttach", session, autoAttach=True, waitForDebuggerOnStart=True, flatten=True)
        self.call("Page.navigate", session, url=url)
        page = Page(self, session)
        page.wait(f"location.href === {json.dumps(url)} && document.readyState === 'complete'")
        return page


class Page:
    def __init__(self, browser, session):
        self.browser, self.session = browser, session

    def js(self, expression):
        """The value of an expression, or of its promise."""
        answer = self.browser.call("Runtime.evaluate", self.session, expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise Failed(answer["exceptionDetails"].get("exception", {}).get("description", "?"))
        return answer["result"].get("value")

    def wait(self, expression):
        until = time.monotonic() + self.browser.patience
        while not (value := self.js(f"(value => value instanceof Node ? true : value)({expression})")):
            if time.monotonic() > until:
                raise Failed(f"never: {expression}\n{self.js('document.body.innerText')}")
            time.sleep(0.05)
        return value

    def choose(self, selector, paths):
        """Puts files into a chooser, as its visitor would."""
        root = self.browser.call("DOM.getDocument", self.session)["root"]["nodeId"]
        node = self.browser.call("DOM.querySelector", self.session, nodeId=root, selector=selector)["nodeId"]
        self.browser.call("DOM.setFileInputFiles", self.session, nodeId=node, files=[str(path) for path in paths])

    def press(self, key, code, **more):
        for kind in ("keyDown", "keyUp"):
            self.browser.call("Input.dispatchKeyEvent", self.session, type=kind, key=key, code=key, windowsVirtualKeyCode=code, **more)

    def look(self, width, is_dark):
        """Makes the screen that of a computer or, below 500 pixels, a telephone, in the light or in the dark."""
        is_mobile = width < 500
        self.browser.call("Emulation.setDeviceMetricsOverride", self.session, width=width, height=800 if is_mobile else 900, deviceScaleFactor=1, mobile=is_mobile)
        self.browser.call("Emulation.setEmulatedMedia", self.session, features=[{"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}])

    def screenshot(self, **clip):
        """A PNG; clip: x, y, width and height of a part of the page."""
        part = {"clip": {"scale": 1, **clip}, "captureBeyondViewport": True} if clip else {}
        return base64.b64decode(self.browser.call("Page.captureScreenshot", self.session, format="png", **part)["data"])


@contextlib.contextmanager
def served(folder, **types):
    """The address of a server like `python3 -m http.server` of a folder; types: what else than it would say of files
    with an extension."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        extensions_map = {**http.server.SimpleHTTPRequestHandler.extensions_map, **{f".{name}": value for name, value in types.items()}}

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
