#!/usr/bin/env python3
"""Seeds one fault after the other into a copy of the tree, and reports which test catches it.

    tests/Faults/run.py tests/Faults/blocks.txt [--only 3,7] [--tree DIR] [--minutes 3]

The copy is a worktree of the last commit (--tree keeps it, and brings it to that commit the next time), so nothing here is touched. A fault is caught
when a test fails, or when the tests do not end within the time. One that no longer applies, or does not build, is an error: the list has to follow
the code. Ends with 1 if one was not caught.

A list has for each fault a title, the file, the tests to run (patterns of classes, in a test project), the text as it is, and the text with the fault:

    = A title
    file: src/Weir.Dataflow/Cores/SourceCore.cs
    tests: Weir.Dataflow.Tests *WeirLinks *WeirSources
    <<<
    as it is, which occurs once
    ---
    with the fault
    >>>
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

FAULT = re.compile(r"^= ([^\n]+)\nfile: ([^\n]+)\ntests: (\S+) ([^\n]+)\n<<<\n(.*?)\n---\n(.*?)\n>>>$", re.M | re.S)
FAILED = re.compile(r"^\s*(?:\x1b\[[0-9;]*m)*\s*(\S.*?) \[FAIL\]", re.M)


def run(command, cwd, seconds):
    """The exit code and what was printed; None for the code when the time was up."""
    process = subprocess.Popen(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
    try:
        text, _ = process.communicate(timeout=seconds)
        return process.returncode, text
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        text, _ = process.communicate()
        return None, text or ""


def build(tree, project):
    return run(
        ["dotnet", "build", f"tests/{project}", "-c", "Debug", "-v", "q", "-clp:NoSummary",
         "-p:TreatWarningsAsErrors=false", "-p:RunAnalyzers=false"], tree, 900)


def test(tree, project, classes, seconds):
    program = os.path.join(tree, "artifacts", "bin", project, "debug", project)
    filters = [part for pattern in classes for part in ("-class", pattern)]
    return run([program, *filters, "-stopOnFail", "-noColor"], tree, seconds)


def verdict(tree, fault, minutes):
    title, file, project, classes, old, new = fault
    path = os.path.join(tree, file)
    with open(path, encoding="utf-8") as source:
        before = source.read()
    if before.count(old) != 1:
        return f"error: the text occurs {before.count(old)} times in {file}"
    try:
        with open(path, "w", encoding="utf-8") as source:
            source.write(before.replace(old, new))
        code, text = build(tree, project)
        if code != 0:
            return "error: does not build: " + next((line for line in text.splitlines() if "error" in line), "")
        code, text = test(tree, project, classes.split(), minutes * 60)
    finally:
        with open(path, "w", encoding="utf-8") as source:
            source.write(before)
    failed = FAILED.search(text)
    if failed:
        return "caught by " + failed.group(1)
    if code is None:
        return "caught: the tests did not end"
    if "Total: 0" in text or not re.search(r"Total: \d", text):
        return "error: no test ran: " + text[-300:]
    return "NOT CAUGHT" if code == 0 else f"caught: exit code {code}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("list")
    parser.add_argument("--only", help="numbers, from 1, with commas")
    parser.add_argument("--tree", help="a folder for the copy, which is kept")
    parser.add_argument("--minutes", type=float, default=3)
    options = parser.parse_args()
    with open(options.list, encoding="utf-8") as text:
        written = text.read()
    faults = [match.groups() for match in FAULT.finditer(written)]
    if len(faults) != len(re.findall(r"^= ", written, re.M)):
        parser.error(f"{options.list}: not every fault has the form that is described at the top of this script")
    wanted = [int(number) for number in options.only.split(",")] if options.only else range(1, len(faults) + 1)
    root = subprocess.run(["git", "rev-parse", "--show-toplevel"], capture_output=True, text=True, check=True).stdout.strip()
    tree = os.path.abspath(options.tree or tempfile.mkdtemp(prefix="faults-"))
    if not os.path.exists(os.path.join(tree, ".git")):
        subprocess.run(["git", "worktree", "add", "--detach", "--force", tree, "HEAD"], cwd=root, check=True, capture_output=True)
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True, check=True).stdout.strip()
    subprocess.run(["git", "checkout", "--force", "--detach", "--quiet", head], cwd=tree, check=True)
    uncaught = 0
    try:
        for number in wanted:
            result = verdict(tree, faults[number - 1], options.minutes)
            uncaught += not result.startswith("caught")
            print(f"{number}. {faults[number - 1][0]}: {result}", flush=True)
    finally:
        if not options.tree:
            subprocess.run(["git", "worktree", "remove", "--force", tree], cwd=root, check=True)
    return 1 if uncaught else 0


if __name__ == "__main__":
    sys.exit(main())
