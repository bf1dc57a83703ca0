import pytest

from tests.engines import ENGINES


@pytest.fixture(params=ENGINES, ids="-".join)
def engine(request: pytest.FixtureRequest) -> tuple[str, str]:
    """Method and device of one engine."""
    return request.param
