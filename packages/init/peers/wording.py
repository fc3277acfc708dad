"""
A pytest plugin for dumb-init's tests. A test that fails at an assertion about the words of a message, after what it asserts of exit codes and
output has held, is counted by itself: another program has words of its own. One that expects words and gets none fails.
"""
import json
import os

counts = {"passed": 0, "words": 0, "failed": []}


def differs_in_words(excinfo):
    if excinfo is None or not isinstance(excinfo.value, AssertionError):
        return False
    entry = excinfo.traceback[-1]
    statement = str(entry.statement).strip()
    if not statement.startswith("assert"):
        return False
    said = entry.frame.f_locals.get("stderr") or entry.frame.f_locals.get("output")
    return bool(said) and ("stderr" in statement or statement.endswith(" in output"))


def pytest_runtest_makereport(item, call):
    if call.when != "call":
        return
    if call.excinfo is None:
        counts["passed"] += 1
    elif differs_in_words(call.excinfo):
        counts["words"] += 1
    else:
        counts["failed"].append(item.nodeid)


def pytest_sessionfinish(session):
    session.exitstatus = 0
    with open(os.environ["LAMEDUCK_PEERS_RESULT"], "w") as file:
        json.dump(counts, file)
