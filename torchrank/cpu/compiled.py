"""numba's ``njit``, also where the code that it compiled cannot be kept."""

import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """The decorator ``numba.njit(**options)``, without ``cache`` where no folder for it can be written.

    numba raises there, as on systems that are read-only for their users.
    """
    numba_njit: Any = numba.njit  # its annotations know no options in a dict

    def compiled(function: Callable[..., Any]) -> Any:
        try:
            return numba_njit(**options)(function)
        except RuntimeError as error:
            if "cannot cache" not in str(error):
                raise
            _warn()
            return numba_njit(**options | {"cache": False})(function)

    return compiled


@cache
def _warn() -> None:
    warnings.warn(
        f"compiled code cannot be kept, since neither {Path(__file__).parent} nor the user's cache folder can be "
        "written: every process compiles anew, for seconds; set NUMBA_CACHE_DIR to a folder that can be written",
        stacklevel=2,
    )
