"""A run that is killed with signal 9 in its middle and started again repeats no call that was answered, and ends as
if nothing had happened."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest

from tests.llm.scripted_server import Request, ScriptedServer, words_of

ROOT = Path(__file__).resolve().parents[2]
COUNT, BEFORE, AT_ONCE = 40, 25, 4
# Each question: a critic call that has to be repaired, then a reader call.
RUN = f"""
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from canopy.config import Language
from canopy.items import Question
from canopy.llm.connect import connect_roles
from canopy.llm.roles import RegionView, Trace
roles = connect_roles(Language(base_url=sys.argv[1], model="tiny", concurrency={AT_ONCE}),
                      Path(sys.argv[2]), lambda: None)
def answer(n):
    trace, shown = Trace(), [RegionView(f"b/{{n}}", "text", "", 0, 1, f"evidence {{n}}")]
    assert not roles.critic.judge(f"question {{n}}", shown, None, trace).sufficient
    text = roles.reader.read(Question(f"b/{{n}}", "b", f"question {{n}}"), shown, trace).text
    assert trace.count() == 3
    return text
with ThreadPoolExecutor({AT_ONCE}) as pool:
    for text in pool.map(answer, range({COUNT})):
        print(text, flush=True)
"""


@pytest.mark.slow
def test_killed_and_started_again(tmp_path: Path) -> None:
    killed, reached = threading.Event(), threading.Semaphore(0)

    def script(request: Request) -> str:
        number = int(next(w for w in words_of(request).split("question ")[1:])[:2])
        if number >= BEFORE and not killed.is_set():
            reached.release()
            killed.wait(60)
        if len(request["messages"]) == 4:
            return '{"sufficient": false, "missing": "more", "query": "more"}'
        return "not JSON" if "sufficient" in words_of(request) else f"answer {number}"

    with ScriptedServer(script) as server:
        command = [sys.executable, "-c", RUN, server.url, str(tmp_path)]
        first = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        for _ in range(AT_ONCE):  # all threads of the run wait for a reply that does not come
            assert reached.acquire(timeout=60)
        first.send_signal(signal.SIGKILL)
        lines = first.communicate()[0].splitlines()
        assert (
            first.returncode == -signal.SIGKILL
            and lines == [f"answer {n}" for n in range(len(lines))]
            and len(lines) >= BEFORE - AT_ONCE
        )
        with server.lock:
            before, answered = Counter(server.asked), Counter(server.answered)
        assert len(answered) == 3 * BEFORE and len(before) == 3 * BEFORE + AT_ONCE
        killed.set()
        again = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
        assert again.stdout.splitlines() == [f"answer {n}" for n in range(COUNT)], again.stderr
        assert all(server.asked[key] == 1 for key in answered)  # what was answered before the kill was not asked again
        assert sum(server.asked.values()) == 3 * COUNT + AT_ONCE and len(server.asked) == 3 * COUNT
