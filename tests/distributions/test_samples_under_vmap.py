"""Samples under torch.func.vmap: those of a batch of laws, drawn differently or alike; or an error that says why."""

import pytest
import torch

from torchrank import Mallows, PlackettLuce, RelaxedPlackettLuce, pair_weights

LOGITS = torch.tensor([[5.0, 0.0, -5.0, -9.0], [0.0, 5.0, 9.0, -5.0], [0.0, 0.0, 0.0, 0.0]])
LAMS = torch.tensor([20.0, -20.0, 0.0])
DRAWS = {
    "PlackettLuce": (lambda t: PlackettLuce(t).sample((2000,)), LOGITS),
    "RelaxedPlackettLuce": (lambda t: RelaxedPlackettLuce(0.1, t).rsample((2000,)), LOGITS),
    "top k": (lambda t: RelaxedPlackettLuce(0.1, t).rsample_top_k(2, (2000,)), LOGITS),
    "Mallows": (lambda t: Mallows(torch.tensor([4.0, 2, 3, 1]), t).sample((2000,)), LAMS),
}
draws = pytest.mark.parametrize(("draw", "parameters"), DRAWS.values(), ids=DRAWS)


@draws
@pytest.mark.parametrize("randomness", ["different", "same"])
def test_are_those_of_a_batch(draw, parameters: torch.Tensor, randomness: str) -> None:
    torch.manual_seed(0)
    found = torch.func.vmap(draw, randomness=randomness)(parameters)
    wanted = draw(parameters).transpose(0, 1)
    assert found.shape == wanted.shape
    torch.testing.assert_close(found.mean(1), wanted.mean(1), rtol=0, atol=0.15)
    twice = torch.func.vmap(draw, randomness=randomness)(torch.stack([parameters[-1]] * 2))
    assert torch.equal(twice[0], twice[1]) == (randomness == "same")


@draws
def test_without_a_kind_of_randomness(draw, parameters: torch.Tensor) -> None:
    with pytest.raises(RuntimeError, match="randomness"):
        torch.func.vmap(draw)(parameters)


def test_gradients_of_each() -> None:
    def reward(logits: torch.Tensor) -> torch.Tensor:
        return RelaxedPlackettLuce(0.5, logits).rsample((50,)).square().mean(0) @ torch.arange(4.0)

    slopes = torch.func.vmap(torch.func.grad(reward), randomness="different")(LOGITS)
    assert slopes.shape == LOGITS.shape
    assert slopes.isfinite().all()


@pytest.mark.parametrize("randomness", ["error", "different", "same"])
def test_ties_are_refused(randomness: str) -> None:
    def draw(logits: torch.Tensor) -> torch.Tensor:
        return PlackettLuce(logits, log_ties=torch.zeros(1)).sample()

    with pytest.raises(RuntimeError, match=r"vmap cannot go through PlackettLuce.sample: with ties .* batch of logits"):
        torch.func.vmap(draw, randomness=randomness)(LOGITS)


@pytest.mark.parametrize("scheme", ["product", "sum", "hyperbolic"])
def test_pair_weights(scheme: str) -> None:
    items = torch.rand(3, 4, generator=torch.Generator().manual_seed(0))
    found = torch.func.vmap(lambda row: pair_weights(row, scheme=scheme))(items)
    assert torch.equal(found, torch.stack([pair_weights(row, scheme=scheme) for row in items]))
    if scheme != "hyperbolic":
        items[1, 2] = -1
        with pytest.raises(ValueError, match=r"items\[2\] is -1"):
            torch.func.vmap(lambda row: pair_weights(row, scheme=scheme))(items)
        with pytest.raises(ValueError, match=r"items\[2\] is -1"):
            pair_weights(items[1], scheme=scheme)
