"""Many clients at once against the explorer, for a minute: no 5xx, no lost answer, memory flat. Loopback only.

icalgebra explore --no-browser --port 8765 &    python scripts/explorer_load.py 8765 [clients] [seconds]
"""

import sys
import threading
import time
from pathlib import Path

import httpx

from icalgebra import sample


def resident(port: int) -> float:
    """MB of the process that listens on the port; Linux only."""
    wanted = f":{port:04X}"
    inodes = {line.split()[9] for line in Path("/proc/net/tcp").read_text().splitlines()[1:]
              if line.split()[1].endswith(wanted) and line.split()[3] == "0A"}  # fmt: skip
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            if link.readlink().name.removeprefix("socket:[").rstrip("]") in inodes:
                status = (link.parent.parent / "status").read_text()
                return int(status.split("VmRSS:")[1].split()[0]) / 1024
        except OSError:
            continue
    return 0.0


def main(port: int, clients: int = 20, seconds: float = 60.0) -> None:
    texts = [sample("holdout", 1, 20, seed)[0].prompt for seed in range(clients)]
    url, end = f"http://127.0.0.1:{port}", time.monotonic() + seconds
    counts: dict[int, int] = {}
    lost, slow, lock = 0, 0.0, threading.Lock()

    def work(text: str) -> None:
        nonlocal lost, slow
        with httpx.Client(base_url=url, timeout=300) as client:
            while time.monotonic() < end:
                for part in ("sequence", "inside", "ablation"):
                    begun = time.monotonic()
                    answer = client.post(f"/api/{part}", json={"text": text})
                    wrong = part == "sequence" and answer.status_code == 200 and answer.json()["text"] != text
                    with lock:
                        counts[answer.status_code] = counts.get(answer.status_code, 0) + 1
                        lost += wrong
                        slow = max(slow, time.monotonic() - begun)

    with httpx.Client(base_url=url, timeout=300) as client:
        for part in ("sequence", "inside", "ablation"):
            client.post(f"/api/{part}", json={"text": texts[0]})
    before = resident(port)
    threads = [threading.Thread(target=work, args=(text,)) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(f"{clients} clients, {seconds:g} s: answers by status {counts}, foreign answers {lost}, slowest {slow:.1f} "
          f"s, memory {before:.0f} to {resident(port):.0f} MB")  # fmt: skip


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
