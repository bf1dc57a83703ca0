"""Up to how many items "signs" beats "inversions" on a CPU; written by ``python -m benchmarks.crossover``."""

# (fewest rankings on both sides together, most items for which sign planes are faster)
UNTIED = ((4, 64), (16, 2048), (64, 3072), (1024, 6144))
TIED = ((4, 16), (16, 2048), (256, 3072))


def fastest_method(rankings: int, items: int, *, untied: bool) -> str:
    """The engine to use for so many rankings (of both sides together) and items."""
    limit = 0
    for fewest, most_items in UNTIED if untied else TIED:
        if rankings >= fewest:
            limit = most_items
    return "signs" if items <= limit else "inversions"
