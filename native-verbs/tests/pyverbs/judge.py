# SPDX-License-Identifier: Apache-2.0
"""
Runs rdma-core's own Python tests on softv0 and compares each result with a reviewed list.

usage: judge.py TESTS_FOLDER LIST LOG [NAME_PATTERN...]

TESTS_FOLDER is the folder tests/ of rdma-core. LIST says which tests do not pass, and why; every other test must.
Prints PASS or FAIL for each test that is not on the list, SKIP for each row of the list, and writes all to LOG.
"""
import fnmatch
import importlib
import os
import signal
import sys
import unittest

TEST_LIMIT_SECONDS = 20


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
                return result == "pass" or row["result"] in (result, "any")
        return result == "pass"


class Judge(unittest.TestResult):
    """Settles each test once, whatever unittest has to say about it later."""

    def __init__(self, expectations, log):
        super().__init__()
        self.log = log
        self.expectations = expectations
        self.counts = {"pass": 0, "skip": 0, "fail": 0}
        self.surprises = 0
        self.settled = False

    def startTest(self, test):
        super().startTest(test)
        self.settled = False
        signal.alarm(TEST_LIMIT_SECONDS)

    def stopTest(self, test):
        signal.alarm(0)
        super().stopTest(test)

    def settle(self, test, result, text=""):
        if self.settled:
            return
        self.settled = True
        self.counts[result] += 1
        name = test.id().removeprefix("tests.")
        allowed = self.expectations.allow(name, result)
        self.surprises += not allowed
        print(f"{result} {name}{': ' + text if text else ''}", file=self.log, flush=True)
        if not allowed:
            print(f"FAIL pyverbs {name}: {'skipped, which is not on the list: ' if result == 'skip' else ''}{text}")
        elif result == "pass":
            print(f"PASS pyverbs {name}")
        sys.stdout.flush()

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
    sys.path.insert(0, os.path.dirname(folder))
    sys.path.insert(0, folder)
    sys.argv[1:] = ["--dev", "softv0", "--gid", "1"]
    importlib.import_module("args_parser").parser.parse_args()
    for name in sorted(os.listdir(folder)):
        if name.startswith("test_") and name.endswith(".py"):
            module = importlib.import_module("tests." + name[:-3])
            for suite in unittest.defaultTestLoader.loadTestsFromModule(module):
                yield from suite


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    folder, expectations, patterns = os.path.abspath(sys.argv[1]), Expectations(sys.argv[2]), sys.argv[4:]
    signal.signal(signal.SIGALRM, late)
    with open(sys.argv[3], "w", encoding="utf-8") as log:
        judge = Judge(expectations, log)
        for test in load(folder):
            if not patterns or any(fnmatch.fnmatchcase(test.id(), f"*{pattern}*") for pattern in patterns):
                test(judge)
    for row in expectations.rows:
        if row["tests"]:
            print(f"SKIP pyverbs {row['pattern']} ({row['tests']} tests): {row['reason']}")
        elif row["result"] != "any" and not patterns:
            print(f"listed, but all of it passes: {row['pattern']}")
    print("pyverbs: {pass} passed, {fail} failed, {skip} skipped".format(**judge.counts), end="")
    print(f"; {judge.surprises} not as the list says")
    # Not by exit(): what failed tests left behind is not to decide the status.
    sys.stdout.flush()
    os._exit(judge.surprises != 0 or judge.counts["pass"] == 0)


main()
