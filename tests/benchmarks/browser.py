"""A headless Chromium driven over a pipe: no socket, no package.

Found by the variable ``WILDENV_CHROMIUM`` or on the path; the tests that need it are skipped where there is none.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from select import select
from typing import Any

VARIABLE = "WILDENV_CHROMIUM"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome-headless-shell")
WAIT_S = 60.0

# Chromium reads commands from descriptor 3 and answers on 4; a parent's descriptors may be any.
_LAUNCH = """
import fcntl, os, sys
read, write = (fcntl.fcntl(int(fd), fcntl.F_DUPFD, 10) for fd in sys.argv[1:3])
os.dup2(read, 3)
os.dup2(write, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


def find_chromium() -> str | None:
    """Returns the path of a Chromium, or None."""
    given = os.environ.get(VARIABLE)
    if given:
        return given
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """One browser with one page.

    Attributes:
        requests: Addresses of everything the page asked for, without data addresses.
        messages: What it wrote to the console, exceptions included.
    """

    def __init__(self, chromium: str, profile: Path, size: tuple[int, int] = (1400, 900)) -> None:
        reads, self._to = os.pipe()
        self._from, writes = os.pipe()
        arguments = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "--disable-component-update",
            "--no-first-run",
            "--host-resolver-rules=MAP * ~NOTFOUND",
            f"--user-data-dir={profile}",
            f"--window-size={size[0]},{size[1]}",
            "--remote-debugging-pipe",
            "about:blank",
        ]
        self._process = subprocess.Popen(
            [sys.executable, "-c", _LAUNCH, str(reads), str(writes), chromium, *arguments],
            pass_fds=(reads, writes),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(reads)
        os.close(writes)
        self._buffer = b""
        self._count = 0
        self._session: str | None = None
        self._loaded = False
        self.requests: list[str] = []
        self.messages: list[str] = []
        targets = self.send("Target.getTargets")["targetInfos"]
        page = next(one["targetId"] for one in targets if one["type"] == "page")
        self._session = self.send("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.send(f"{domain}.enable")
        self.resize(*size)

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Sends a command and returns its result; raises on an error or after `WAIT_S`."""
        self._count += 1
        number = self._count
        command: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if self._session is not None:
            command["sessionId"] = self._session
        os.write(self._to, json.dumps(command).encode() + b"\0")
        until = time.monotonic() + WAIT_S
        while True:
            answer = self._next(until)
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                result: dict[str, Any] = answer["result"]
                return result
            self._note(answer)

    def resize(self, width: int, height: int) -> None:
        """Sets the size of the window."""
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def open(self, address: str) -> float:
        """Opens an address and waits until the page says it is ready; returns the seconds it took."""
        started = time.monotonic()
        self._loaded = False
        self.send("Page.navigate", url=address)
        while not self._loaded:
            self._note(self._next(started + WAIT_S))
        self.wait("document.documentElement.dataset.ready === 'true'")
        return time.monotonic() - started

    def run(self, expression: str) -> Any:
        """Returns the value of an expression, awaited."""
        found = self.send("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in found:
            raise RuntimeError(f"{expression}: {found['exceptionDetails']}")
        return found["result"].get("value")

    def wait(self, expression: str) -> None:
        """Waits until an expression is true."""
        until = time.monotonic() + WAIT_S
        while not self.run(expression):
            if time.monotonic() > until:
                raise TimeoutError(f"never true: {expression}")
            time.sleep(0.01)

    def key(self, key: str) -> None:
        """Presses and releases a key."""
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        self.send("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self.send("Input.dispatchKeyEvent", type="keyUp", key=key)

    def screenshot(self, path: Path) -> None:
        """Writes what the window shows as PNG."""
        path.write_bytes(base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"]))

    def close(self) -> None:
        """Ends the browser."""
        os.close(self._to)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._from)

    def _next(self, until: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select([self._from], [], [], max(0.0, until - time.monotonic()))
            if not ready:
                raise TimeoutError("the browser does not answer")
            data = os.read(self._from, 1 << 20)
            if not data:
                raise RuntimeError(f"the browser ended with code {self._process.wait()}")
            self._buffer += data
        answer, _, self._buffer = self._buffer.partition(b"\0")
        found: dict[str, Any] = json.loads(answer)
        return found

    def _note(self, event: dict[str, Any]) -> None:
        parameters = event.get("params", {})
        if event.get("method") == "Page.loadEventFired":
            self._loaded = True
        elif event.get("method") == "Network.requestWillBeSent":
            address = parameters["request"]["url"]
            if not address.startswith("data:"):
                self.requests.append(address)
        elif event.get("method") in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"):
            self.messages.append(json.dumps(parameters)[:2000])
