"""What arrays and files take of half precision."""

import numpy as np
import pytest
import torch

import torchrank as tr

X = torch.from_numpy(np.random.default_rng(0).normal(size=(30, 8)))
MATRICES = {
    "kernel": lambda X, **out: tr.kendall_gram(X, **out),
    "Mallows": lambda X, **out: tr.mallows_gram(X, lam=0.3, **out),
    "distance": lambda X, **out: tr.kendall_distance(X, **out),
    "smoothed": lambda X, **out: tr.smoothed_kendall_gram(X, window=0.5, **out),
}


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_goes_into_tensors(name, dtype):
    expected = MATRICES[name](X.to(dtype))
    out = torch.empty_like(expected)
    assert MATRICES[name](X.to(dtype), out=out, block=30) is out
    assert torch.equal(out, expected)


@pytest.mark.parametrize("name", MATRICES)
def test_half_precision_goes_to_disk_where_numpy_has_it(tmp_path, name):
    expected = MATRICES[name](X.half())
    found = MATRICES[name](X.half(), out=tmp_path / "g.npy", block=30)
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == expected.numpy().dtype


@pytest.mark.parametrize("ending", ["npy", "zarr"])
@pytest.mark.parametrize("name", ["kernel", "Mallows", "smoothed"])
def test_bfloat16_has_no_file(tmp_path, name, ending):
    if ending == "zarr":
        pytest.importorskip("zarr", minversion="3")
    message = rf"out='.*g.{ending}' is made by NumPy, which lacks bfloat16.*; pass scores in float32, or a tensor of bf"
    with pytest.raises(TypeError, match=message):
        MATRICES[name](X.bfloat16(), out=tmp_path / f"g.{ending}")
    assert not [*tmp_path.iterdir()]


def test_distances_of_bfloat16_are_float32_on_disk(tmp_path):
    found = tr.kendall_distance(X.bfloat16(), out=tmp_path / "g.npy")
    np.testing.assert_array_equal(found, tr.kendall_distance(X.bfloat16()))


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize(
    "layout", [lambda a: a[::-1], lambda a: a[:, ::-1], lambda a: a.T, lambda a: np.repeat(a, 3, 1)[:, ::3]]
)
def test_arrays_of_any_layout_are_filled(name, layout):
    expected = MATRICES[name](X.numpy(), out=np.empty((30, 30)), block=7)
    out = layout(np.full((30, 30), np.nan))
    assert MATRICES[name](X.numpy(), out=out, block=7) is out
    np.testing.assert_array_equal(out, expected)


def test_other_byte_orders_are_refused():
    with pytest.raises(TypeError, match="out has dtype >f8, which torch lacks"):
        tr.kendall_gram(X.numpy(), out=np.empty((30, 30), ">f8"))
