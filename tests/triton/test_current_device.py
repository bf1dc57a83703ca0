"""Kernels are launched on the device of their tensors, whichever is the current one, and with autocast off."""

from importlib.util import find_spec

import pytest
import torch

if find_spec("triton") is None:
    pytest.skip("triton is not installed", allow_module_level=True)

import torchrank
from kernels_triton.inversions import score, strict
from kernels_triton.launching import on_device_of_tensors
from kernels_triton.signs import signs
from kernels_triton.tiles import InversionTile
from tests.triton.card import CARD, Card, to_card

X = torch.randn(5, 9, generator=torch.Generator().manual_seed(0))


def smoothed_with_gradient(x):
    torchrank.smoothed_kendall_gram(x.requires_grad_(), window=0.5).sum().backward()


@pytest.mark.parametrize(
    "call",
    [
        lambda x: torchrank.kendall_gram(x, method="signs"),
        lambda x: torchrank.kendall_gram(x, method="inversions"),
        lambda x: torchrank.pair_counts(x.round(), method="inversions"),
        lambda x: torchrank.kendall_gram(x.round(), missing="topk"),
        smoothed_with_gradient,
    ],
    ids=["signs", "inversions", "strict inversions", "expected signs", "smoothed"],
)
def test_every_launch_of_a_public_call_has_the_tensors_device(monkeypatch, call):
    with Card(monkeypatch) as card:
        call(to_card(X))
    assert card.launches
    assert {launch.device for launch in card.launches} == {CARD}
    assert not any(launch.args for launch in card.launches), "arguments of launches have names"


def test_launchers_below_the_ops_guard_themselves_too(monkeypatch):
    tile = InversionTile(128, 128, 4)
    with Card(monkeypatch) as card:
        x = torch.zeros(1, 3, 7, dtype=torch.int32, device=CARD)
        out = torch.zeros(1, 3, 3, dtype=torch.int32, device=CARD)
        signs(x, None, out, strict=False, workspace=2**20, arch=90)
        score(x, None, out, untied=(False, False), workspace=2**20, tile=tile)
        strict(x, None, out, complete=False, workspace=2**20, tile=tile)
    assert {launch.device for launch in card.launches} == {CARD}


def test_launchers_switch_autocast_off():
    """Products of ones that bfloat16 would round: 301 common items."""

    @on_device_of_tensors
    def product(x):
        return x @ x.mT

    ones = torch.ones(2, 301)
    with torch.autocast("cpu", torch.bfloat16):
        assert (ones @ ones.mT).float().max() != 301
        assert (product(ones) == 301).all()
