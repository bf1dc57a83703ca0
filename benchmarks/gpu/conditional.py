"""Conditional ranking with many nodes on the GPU."""

from benchmarks.conditional import closed_form_once
from benchmarks.gpu.parts import Context, Verdict, part

NODES = 5_000


@part("conditional ranking p=5000 on the GPU", seconds=40)
def conditional(context: Context) -> Verdict:
    """Closed-form ranking RLS over all edges between so many nodes, checked on a few rows of its system."""
    nodes = 50 if context.dry else NODES
    found = closed_form_once(nodes, context.device)
    context.record(nodes=nodes, **found)
    return Verdict(True, f"{nodes} nodes: {found['seconds']:.4g} s, peak memory {found['peak_gigabytes']:.2f} GB")
