"""How long the explorer takes on this machine, from the command to the first page and from a change to its answers.

python scripts/explorer_times.py [repetitions]
"""

import os
import re
import subprocess
import sys
import time
from statistics import median

import httpx

from icalgebra import sample

CHANGE = ("sequence", "inside")  # what the page waits for before it shows answers and attention


def seconds(client: httpx.Client, part: str, text: str) -> float:
    begun = time.monotonic()
    answer = client.post(f"/api/{part}", json={"text": text})
    answer.raise_for_status()
    return time.monotonic() - begun


def first_page(process: subprocess.Popen[str], begun: float) -> tuple[str, float, float]:
    """The address, the time until the page is there, and until its first sequence is answered."""
    assert process.stdout is not None
    found = re.search(r"http://\S+", process.stdout.readline())
    assert found is not None
    with httpx.Client(base_url=found[0], timeout=300) as client:
        client.get("/").raise_for_status()
        shown = time.monotonic() - begun
        client.get("/api/start").raise_for_status()
        seconds(client, "sequence", ",pf=p,ee=n,pf=p,ae=f,pp=e,pn=f,pe=")
    return found[0], shown, time.monotonic() - begun


def report(client: httpx.Client, n_facts: int, repetitions: int) -> None:
    """One sequence to warm up, then others of the same length: each is a change of the whole context."""
    texts = [sample("holdout", 1, n_facts, seed)[0].prompt for seed in range(repetitions + 1)]
    for part in (*CHANGE, "ablation"):
        seconds(client, part, texts[0])
    changes = [sum(seconds(client, part, text) for part in CHANGE) for text in texts[1:]]
    ablations = [seconds(client, "ablation", text) for text in texts[1:]]
    reliances = [seconds(client, "reliance", text) for text in texts[1 : 1 + max(1, repetitions // 4)]]
    for what, times in {"answers and attention": changes, "ablation map": ablations, "reliance": reliances}.items():
        print(f"{n_facts} facts, {what}: median {median(times):.3f} s, slowest {max(times):.3f} s, n = {len(times)}")


def main(repetitions: int = 20) -> None:
    print("load average before:", os.getloadavg()[0])
    command = [sys.executable, "-m", "icalgebra", "explore", "--no-browser"]
    for attempt in range(3):
        begun = time.monotonic()
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            address, shown, answered = first_page(process, begun)
            print(f"first page after {shown:.2f} s, its first answers after {answered:.2f} s")
            if attempt == 2:
                with httpx.Client(base_url=address, timeout=300) as client:
                    for n_facts in (50, 200):
                        report(client, n_facts, repetitions)
        finally:
            process.terminate()
            process.wait()
    print("load average after:", os.getloadavg()[0])


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
