"""Small problems under NVIDIA's memory and race checkers, where the tool is installed."""

import os
import shutil
import subprocess
import sys

from benchmarks.env import ROOT
from benchmarks.gpu.parts import Context, Verdict, part

_TOOLS = ("memcheck", "racecheck")


@part("sanitizer", seconds=50)
def sanitizer(context: Context) -> Verdict:
    """Run each engine under each tool, all at once; the rehearsal runs the problems without a tool.

    Passed are runs that went to their end without an error, and nothing else.
    """
    checker = shutil.which("compute-sanitizer")
    if checker is None and not context.dry:
        return Verdict(True, "compute-sanitizer is not installed: nothing checked")
    # Torch's pool of memory would hide reads past the end of a tensor.
    environment = os.environ | {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
    runs = {}
    for tool in _TOOLS[:1] if context.dry else _TOOLS:
        for method in ("signs", "inversions", "smoothed"):
            prefix = [] if context.dry or checker is None else [checker, "--tool", tool, "--error-exitcode", "99"]
            runs[f"{tool} {method}"] = subprocess.Popen(
                [*prefix, sys.executable, "-m", "benchmarks.gpu.small_case", method, context.device],
                cwd=ROOT,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
    found: list[str] = []
    unfinished = []
    for name, run in runs.items():
        try:
            output, _ = run.communicate(timeout=max(context.time_left(), 1))
        except subprocess.TimeoutExpired:
            run.kill()
            output, _ = run.communicate()
            unfinished.append(name)
        context.record(run=name, status=run.returncode, tail=output[-2000:])
        found += [name] if run.returncode == 99 else []
        unfinished += [name] if run.returncode not in (0, 99) and name not in unfinished else []
    line = "errors in " + ", ".join(found) if found else f"no error in {len(runs) - len(unfinished)} runs"
    return Verdict(
        not found and not unfinished, line + (f"; did not finish: {', '.join(unfinished)}" if unfinished else "")
    )
