"""Python code in a process of its own: how long a call takes there, and how much memory beyond what was there."""

import json
import os
import subprocess
import sys
from typing import NamedTuple

from benchmarks.env import ROOT

_CODE = """
import json, resource, time
import numpy as np, torch, torchrank as tr

def now():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return time.perf_counter(), used.ru_utime + used.ru_stime, 1024 * used.ru_maxrss

{setup}
_before = now()
{call}
print(json.dumps([a - b for a, b in zip(now(), _before)]))
"""


class Cost(NamedTuple):
    """Of a call."""

    seconds: float
    cpu_seconds: float  # of all threads
    peak_bytes: int  # beyond the peak before the call
    said: list[str]  # lines that were printed


def apart(setup: str, call: str, **environment: str) -> Cost:
    """Cost of ``call`` after ``setup``, Python code that knows ``np``, ``torch`` and ``tr``."""
    command = [sys.executable, "-c", _CODE.format(setup=setup, call=call)]
    variables = os.environ | {"PYTHONPATH": str(ROOT)} | environment
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=True)
    *said, cost = done.stdout.splitlines()
    seconds, cpu_seconds, peak_bytes = json.loads(cost)
    return Cost(seconds, cpu_seconds, peak_bytes, said)
