"""Networks from their sources: small ones in all forms, and the real ones."""

import json

import numpy as np
import pytest

from tests.datasets.upstream import write_davis, write_named_table, write_text, write_yamanishi
from torchrank.datasets import catalog
from torchrank.datasets.networks import as_kernel, fetch_davis, fetch_yamanishi
from torchrank.datasets.sources import characters, digest

ADJ = np.array([[0, 1, 1], [1, 0, 0]])  # two proteins, three drugs
DRUGS = np.array([[1.0, 0.5, 0.25], [0.75, 0.875, 0.0], [0.25, 0.0, 1.0]])
PROTEINS = np.array([[1.0, 2.0], [2.0, 1.0]])


def expecting(source, values):
    """The same source with the digest of these numbers."""
    return type(source)(**{**vars(source), "digest": digest(values, source.dtype)})


@pytest.fixture
def publish(monkeypatch, public, server, cached):
    """Publish a small set of nuclear receptors."""
    known = catalog.YAMANISHI["nuclear_receptor"]
    expected = known._replace(
        labels=expecting(known.labels, ADJ),
        drugs=expecting(known.drugs, DRUGS),
        targets=expecting(known.targets, PROTEINS),
    )
    monkeypatch.setitem(catalog.YAMANISHI, "nuclear_receptor", expected)

    def write(corner=""):
        write_named_table(public / known.labels.name, ADJ, ["hsa1", "hsa2"], ["D1", "D2", "D3"], corner)
        write_named_table(public / known.drugs.name, DRUGS, ["D1", "D2", "D3"], ["D1", "D2", "D3"], corner)
        write_named_table(public / known.targets.name, PROTEINS, ["hsa1", "hsa2"], ["hsa1", "hsa2"], corner)

    return write


@pytest.mark.parametrize("corner", ["", "name"])
def test_drugs_are_rows_and_similarities_kernels(publish, corner):
    publish(corner)
    data = fetch_yamanishi("nuclear_receptor", progress=False)
    assert data.labels.tolist() == ADJ.T.tolist()
    assert data.rows == ("D1", "D2", "D3")
    assert data.columns == ("hsa1", "hsa2")
    np.testing.assert_array_equal(data.row_kernel, [[1, 0.625, 0.25], [0.625, 0.875, 0], [0.25, 0, 1]])
    np.testing.assert_allclose(data.column_kernel, [[2, 2], [2, 2]], rtol=0, atol=1e-15)
    assert data.notes["added to the diagonal of row_kernel"] == 0
    assert data.notes["added to the diagonal of column_kernel"] == pytest.approx(1, rel=0, abs=1e-15)
    assert repr(data) == "NetworkData('Nuclear receptors and drugs (Yamanishi)': 3 x 2 labels)"


def test_raw_similarities_are_as_the_source_has_them(publish):
    publish()
    data = fetch_yamanishi("nuclear_receptor", raw=True, progress=False)
    np.testing.assert_array_equal(data.row_kernel, DRUGS)
    np.testing.assert_array_equal(data.column_kernel, PROTEINS)
    assert data.notes == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\tD1\tD2\tD3\nhsa1\t0\t1\t1\nhsa2\t1\t0\t1\n", "the SHA-256 of its numbers"),
        ("\tD1\tD2\tD3\nhsa1\t0\t1\t1\nhsa2\t1\t0\n", r"its rows have \[2, 3\] entries"),
        ("\tD1\nhsa1\t0\t1\t1\nhsa2\t1\t0\t0\n", "names 1 columns; the others have 3 numbers"),
        ("<html>\nplease log in\n</html>\n", "not a table of numbers"),
        ("", "not a table of numbers"),
    ],
)
def test_other_content_is_refused(publish, public, text, message):
    publish()
    write_text(public / catalog.YAMANISHI["nuclear_receptor"].labels.name, text)
    with pytest.raises(ValueError, match=rf"nr_admat_dgc\.txt holds another file than expected: .*{message}"):
        fetch_yamanishi("nuclear_receptor", progress=False)


def test_unknown_names():
    with pytest.raises(ValueError, match=r"name='GPCR'.*ion_channel"):
        fetch_yamanishi("GPCR")


def test_kernels_are_symmetric_and_positive_semi_definite():
    rng = np.random.default_rng(0)
    for n in (1, 2, 5, 20):
        similarity = rng.normal(size=(n, n))
        kernel, shift = as_kernel(similarity)
        np.testing.assert_array_equal(kernel, kernel.T)
        assert np.linalg.eigvalsh(kernel)[0] > -1e-12
        np.testing.assert_allclose(kernel - (similarity + similarity.T) / 2, shift * np.eye(n), rtol=0, atol=1e-14)
    definite = np.array([[1.0, 1.0], [1.0, 1.0]])  # singular is good enough
    assert as_kernel(definite)[1] == 0


def test_small_davis(monkeypatch, public, server, cached):
    Kd, similar = np.array([[10000.0, 1.0, 30.0]]), np.array([[4.0, 2, 0], [2, 16, 1], [0, 1, 1]])
    for name, values in (("DAVIS_LABELS", Kd), ("DAVIS_DRUGS", [[1.0]]), ("DAVIS_TARGETS", similar)):
        source = expecting(getattr(catalog, name), np.array(values))
        monkeypatch.setattr(catalog, name, source)
        write_text(public / source.name, "".join(" ".join(map(repr, row)) + "\n" for row in np.array(values).tolist()))
    for name, names in (("DAVIS_DRUG_NAMES", ("1",)), ("DAVIS_TARGET_NAMES", ("c", "b", "a"))):
        source = expecting(getattr(catalog, name), characters(names))
        monkeypatch.setattr(catalog, name, source)
        write_text(public / source.name, json.dumps(dict.fromkeys(names, "C")))
    data = fetch_davis(progress=False)
    np.testing.assert_allclose(data.labels, [[5, 9, 9 - np.log10(30)]], rtol=0, atol=1e-15)
    np.testing.assert_array_equal(data.column_kernel, [[1, 0.25, 0], [0.25, 1, 0.25], [0, 0.25, 1]])
    assert (data.rows, data.columns) == (("1",), ("c", "b", "a"))
    raw = fetch_davis(raw=True, progress=False)
    np.testing.assert_array_equal(raw.labels, Kd)
    np.testing.assert_array_equal(raw.column_kernel, similar)
    write_text(public / catalog.DAVIS_DRUG_NAMES.name, "[]")
    (cached / catalog.DAVIS_DRUG_NAMES.name).unlink()
    with pytest.raises(ValueError, match="it does not hold a JSON object"):
        fetch_davis(progress=False)


@pytest.mark.slow
@pytest.mark.data
def test_davis(data_folder, public, server, cached):
    write_davis(data_folder, public)
    raw, data = fetch_davis(raw=True, progress=False), fetch_davis(progress=False)
    with np.load(data_folder / "drug_target" / "davis.npz") as copy:
        np.testing.assert_array_equal(raw.labels, copy["kd_nM"])
        np.testing.assert_array_equal(raw.row_kernel, copy["drug_sim"])
        np.testing.assert_array_equal(raw.column_kernel, copy["target_sim"])
        np.testing.assert_array_equal(data.row_kernel, copy["drug_sim"])
        assert raw.rows == data.rows == tuple(copy["drug_ids"])
        assert raw.columns == data.columns == tuple(copy["target_ids"])
    assert (raw.labels <= 30).sum() == 1527
    np.testing.assert_allclose(data.labels, -np.log10(raw.labels / 1e9), rtol=0, atol=1e-14)
    for kernel in (data.row_kernel, data.column_kernel):
        np.testing.assert_array_equal(kernel, kernel.T)
        np.testing.assert_allclose(kernel.diagonal(), 1, rtol=0, atol=1e-15)
        assert np.linalg.eigvalsh(kernel)[0] > -1e-12


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "shape", "links"),
    [
        ("nuclear_receptor", (54, 26), 90),
        ("gpcr", (223, 95), 635),
        ("ion_channel", (210, 204), 1476),
        ("enzyme", (445, 664), 2926),
    ],
)
def test_yamanishi(data_folder, public, server, cached, name, shape, links):
    write_yamanishi(data_folder, public, name)
    raw, data = fetch_yamanishi(name, raw=True, progress=False), fetch_yamanishi(name, progress=False)
    with np.load(data_folder / "drug_target" / f"{name}.npz") as copy:
        np.testing.assert_array_equal(data.labels, copy["adj"].T)
        np.testing.assert_array_equal(raw.row_kernel, copy["drug_sim"])
        np.testing.assert_array_equal(raw.column_kernel, copy["target_sim_ppi" if name == "enzyme" else "target_sim"])
        assert data.rows == tuple(copy["drug_ids"])
        assert data.columns == tuple(copy["target_ids"])
    assert data.labels.shape == shape
    assert data.labels.sum() == links
    for kernel, similarity in ((data.row_kernel, raw.row_kernel), (data.column_kernel, raw.column_kernel)):
        np.testing.assert_array_equal(kernel, kernel.T)
        assert np.linalg.eigvalsh(kernel)[0] > -1e-12
        off = ~np.eye(len(kernel), dtype=bool)
        np.testing.assert_array_equal(kernel[off], ((similarity + similarity.T) / 2)[off])
