"""Many clients at once against the explorer, for a minute: no 5xx, no lost answer, memory flat. Loopback only.

icalgebra explore --no-browser --port 8765 &    python scripts/explorer_load.py 8765 [clients] [seconds]
"""

import sys
import threading
import time
from collections import Counter
from pathlib import Path

import httpx

from icalgebra import sample

PARTS = ("sequence", "inside", "ablation", "reliance")
FACTS = 20
EVERY = 10.0  # seconds between two readings of the memory


def listening_process(port: int) -> Path:
    """The folder in /proc of the process that listens on the port; Linux only."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    inodes = {row[9] for row in rows if row[1].endswith(f":{port:04X}") and row[3] == "0A"}
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            if link.readlink().name.removeprefix("socket:[").rstrip("]") in inodes:
                return link.parent.parent
        except OSError:
            continue
    raise SystemExit(f"nothing listens on port {port}: icalgebra explore --no-browser --port {port}")


def megabytes(process: Path) -> int:
    return int((process / "status").read_text().split("VmRSS:")[1].split()[0]) // 1024


class Load:
    """What was asked, what came back, and whether it was the answer to the question."""

    def __init__(self, port: int, seconds: float) -> None:
        self.url, self.end = f"http://127.0.0.1:{port}", time.monotonic() + seconds
        self.asked, self.foreign, self.statuses, self.slowest = 0, 0, Counter[str](), 0.0
        self.lock = threading.Lock()

    def client(self, text: str) -> None:
        with httpx.Client(base_url=self.url, timeout=300) as client:
            while time.monotonic() < self.end:
                for part in PARTS:
                    self.ask(client, part, text)

    def ask(self, client: httpx.Client, part: str, text: str) -> None:
        begun = time.monotonic()
        with self.lock:
            self.asked += 1
        try:
            answer = client.post(f"/api/{part}", json={"text": text})
            status = str(answer.status_code)
            foreign = part == "sequence" and answer.json().get("text") != text
            if part == "reliance" and len(answer.text.splitlines()) != 2:  # 19 facts in steps of ten
                status = "cut off"
        except httpx.HTTPError as error:
            status, foreign = type(error).__name__, False
        with self.lock:
            self.statuses[status] += 1
            self.foreign += foreign
            self.slowest = max(self.slowest, time.monotonic() - begun)


def main(port: int, clients: int = 20, seconds: int = 60) -> None:
    texts = [sample("holdout", 1, FACTS, seed)[0].prompt for seed in range(clients)]
    process = listening_process(port)
    load = Load(port, seconds)
    threads = [threading.Thread(target=load.client, args=(text,)) for text in texts]
    for thread in threads:
        thread.start()
    memory = [megabytes(process)]
    while any(thread.is_alive() for thread in threads):
        time.sleep(min(EVERY, max(0.1, load.end - time.monotonic())))
        if len(memory) < 100:
            memory.append(megabytes(process))
    memory.append(megabytes(process))
    print(f"{clients} clients, {seconds} s: {load.asked} asked, by status {dict(load.statuses)}, answers to another's "
          f"question {load.foreign}, slowest {load.slowest:.1f} s, memory {memory} MB")  # fmt: skip
    good = load.statuses == Counter({"200": load.asked}) and not load.foreign
    raise SystemExit(0 if good else 1)


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
