# SPDX-License-Identifier: Apache-2.0
"""
Runs rdma-core's own Python tests on softv0 and compares each result with a reviewed list.

usage: judge.py TESTS_FOLDER LIST LOG [NAME_PATTERN...]

TESTS_FOLDER is the folder tests/ of rdma-core. LIST says which tests do not pass, and why; every other test must.
Prints PASS or FAIL for each test that is not on the list, SKIP for each row of the list, and writes all to LOG.
"""
import faulthandler
import fnmatch
import importlib
import json
import os
import signal
import sys
import unittest

TEST_LIMIT_SECONDS = 60


class Expectations:
    """The rows `skip|fail|any PATTERN REASON` of the list; the first pattern that fits a name decides."""

    def __init__(self, path):
        self.rows = []
        with open(path, encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                fields = line.split(None, 2)
                if not fields or line.startswith("#"):
                    continue
                if len(fields) != 3 or fields[0] not in ("skip", "fail", "any"):
                    sys.exit(f"{path}:{number}: not 'skip|fail|any PATTERN REASON'")
                self.rows.append(
                    {"result": fields[0], "pattern": fields[1], "reason": fields[2].strip(), "tests": 0})

    def allow(self, name, result):
        for row in self.rows:
            if fnmatch.fnmatchcase(name, row["pattern"]):
                row["tests"] += result != "pass"
                return result in ("pass", row["result"]) or (row["result"], result) == ("any", "skip")
        return result == "pass"


class Reporter(unittest.TestResult):
    """Writes [name, result, text] of each test as a line, once, whatever unittest has to say about it later."""

    def __init__(self, pipe):
        super().__init__()
        self.pipe = pipe
        self.settled = False

    def startTest(self, test):
        super().startTest(test)
        self.settled = False
        signal.alarm(TEST_LIMIT_SECONDS)
        # Python handles the alarm only between calls. If a call into the library does not return, a thread of the
        # fault handler prints the stack and ends the process.
        faulthandler.dump_traceback_later(TEST_LIMIT_SECONDS + 5, exit=True)

    def stopTest(self, test):
        faulthandler.cancel_dump_traceback_later()
        signal.alarm(0)
        super().stopTest(test)

    def settle(self, test, result, text=""):
        if not self.settled:
            self.settled = True
            print(json.dumps([name_of(test), result, text]), file=self.pipe, flush=True)

    def addSuccess(self, test):
        self.settle(test, "pass")

    def addSkip(self, test, reason):
        self.settle(test, "skip", reason)

    def addError(self, test, err):
        self.settle(test, "fail", f"{err[0].__name__}: {err[1]} {where(err[2])}")

    addFailure = addError

    def addSubTest(self, test, subtest, err):
        if err:
            self.addError(test, err)


class Judge:
    """Compares the results with the list, and counts."""

    def __init__(self, expectations, log):
        self.expectations = expectations
        self.log = log
        self.counts = {"pass": 0, "skip": 0, "fail": 0}
        self.surprises = 0

    def settle(self, name, result, text):
        self.counts[result] += 1
        allowed = self.expectations.allow(name, result)
        self.surprises += not allowed
        print(f"{result} {name}{': ' + text if text else ''}", file=self.log, flush=True)
        if not allowed:
            print(f"FAIL pyverbs {name}: {'skipped, which is not on the list: ' if result == 'skip' else ''}{text}")
        elif result == "pass":
            print(f"PASS pyverbs {name}")
        sys.stdout.flush()


def name_of(test):
    return test.id().removeprefix("tests.")


def run_apart(tests, judge):
    """In a process of its own: a crash costs no other module."""
    results, pipe = os.pipe()
    child = os.fork()
    if not child:
        os.close(results)
        reporter = Reporter(os.fdopen(pipe, "w"))
        for test in tests:
            test(reporter)
        os._exit(0)  # not by exit(): what failed tests left behind is not to decide the status
    os.close(pipe)
    missing = [name_of(test) for test in tests]
    with os.fdopen(results) as lines:
        for name, result, text in map(json.loads, lines):
            missing.remove(name)
            judge.settle(name, result, text)
    status = os.waitpid(child, 0)[1]
    for name in missing:
        judge.settle(name, "fail", f"no result: the process ended with status {os.waitstatus_to_exitcode(status)}")


def where(traceback):
    """The last line of the tests' own that was running."""
    place = ""
    while traceback:
        code = traceback.tb_frame.f_code
        if "/tests/" in code.co_filename:
            place = f"[{os.path.basename(code.co_filename)}:{traceback.tb_lineno}]"
        traceback = traceback.tb_next
    return place


def late(_signal, _frame):
    raise TimeoutError(f"no end after {TEST_LIMIT_SECONDS} s")


def load(folder):
    """The tests of each module."""
    sys.path.insert(0, os.path.dirname(folder))
    sys.path.insert(0, folder)
    sys.argv[1:] = ["--dev", "softv0", "--gid", "1"]
    importlib.import_module("args_parser").parser.parse_args()
    for name in sorted(os.listdir(folder)):
        if name.startswith("test_") and name.endswith(".py"):
            module = importlib.import_module("tests." + name[:-3])
            yield [test for suite in unittest.defaultTestLoader.loadTestsFromModule(module) for test in suite]


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    folder, expectations, patterns = os.path.abspath(sys.argv[1]), Expectations(sys.argv[2]), sys.argv[4:]
    signal.signal(signal.SIGALRM, late)
    with open(sys.argv[3], "w", encoding="utf-8") as log:
        judge = Judge(expectations, log)
        for tests in load(folder):
            if patterns:
                tests = [test for test in tests if any(fnmatch.fnmatchcase(test.id(), f"*{p}*") for p in patterns)]
            if tests:
                run_apart(tests, judge)
    for row in expectations.rows:
        if row["tests"]:
            print(f"SKIP pyverbs {row['pattern']} ({row['tests']} tests): {row['reason']}")
        elif row["result"] != "any" and not patterns:
            print(f"listed, but all of it passes: {row['pattern']}")
    print("pyverbs: {pass} passed, {fail} failed, {skip} skipped".format(**judge.counts), end="")
    print(f"; {judge.surprises} not as the list says")
    sys.exit(judge.surprises != 0 or judge.counts["pass"] == 0)


main()
