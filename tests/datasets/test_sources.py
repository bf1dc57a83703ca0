import hashlib

import numpy as np
import pytest

from torchrank.datasets.sources import address, characters, digest


def test_an_address_names_repository_commit_and_path():
    url = "https://raw.githubusercontent.com/owner/name/0123abc/data/file.csv"
    assert address("owner/name", "0123abc", "data/file.csv") == url


def test_the_digest_is_the_checksum_of_shape_and_numbers():
    values = np.array([[1.0, 2.0], [3.0, 4.5]])
    expected = hashlib.sha256(b"(2, 2)" + values.astype("<f8").tobytes()).hexdigest()
    assert digest(values) == expected


@pytest.mark.parametrize(
    "same",
    [
        lambda values: values.astype(">f8"),
        lambda values: np.asfortranarray(values),
        lambda values: np.where(values == 0, -0.0, values),
        lambda values: values.astype(np.int64),
        lambda values: values.astype(np.float32),
    ],
)
def test_how_numbers_are_kept_does_not_matter(same):
    values = np.array([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]])
    assert digest(same(values)) == digest(values)


@pytest.mark.parametrize(
    "other",
    [
        lambda values: values.T,
        lambda values: values.ravel(),
        lambda values: values[::-1],
        lambda values: np.nextafter(values, 9),
        lambda values: values[:1],
    ],
)
def test_other_numbers_have_another_digest(other):
    values = np.array([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]])
    assert digest(other(values)) != digest(values)


def test_numbers_are_compared_after_rounding():
    values = np.random.default_rng(0).normal(size=(4, 5))
    assert digest(values, "<f4") == digest(values.astype(np.float32), "<f4")
    assert digest(values.astype(np.float32)) != digest(values)


def test_names_have_a_digest_too():
    assert characters(("a", "bc")).tolist() == [97, 10, 98, 99]
    assert digest(characters(("a", "bc"))) != digest(characters(("ab", "c")))
