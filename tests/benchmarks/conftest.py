"""Scripts set up pictures for a whole process, which here has other tests too."""

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _settings_of_pictures() -> Iterator[None]:
    from matplotlib import rc_context

    with rc_context():
        yield
