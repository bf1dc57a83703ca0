import itertools

import pytest
import torch

from torchrank.linalg import kron_matmul
from torchrank.linalg import kronecker as module
from torchrank.linalg.kronecker import Plan, VecTrickEngine, cheapest_plan, plan_cost
from torchrank.linalg.sparse import SparsityPattern

PLANS = [Plan(*choice) for choice in itertools.product((True, False), repeat=3)]
SHAPES = [(3, 4, 5, 2), (6, 6, 6, 6), (1, 1, 1, 1), (2, 7, 9, 3), (9, 3, 2, 7)]


def random_pairs(rows, columns, q):
    return torch.stack([torch.randint(rows, (q,)), torch.randint(columns, (q,))])


def double(*shape):
    return torch.randn(*shape, dtype=torch.float64)


@pytest.mark.parametrize("shape", SHAPES)
def test_whole_product_is_kron_times_row_major_vector_in_both_orders(shape):
    r, m, s, n = shape
    A, B, F = double(r, m), double(s, n), double(2, m, n)
    expected = F.reshape(2, -1) @ torch.kron(A, B).mT
    torch.testing.assert_close(kron_matmul(A, B, F).reshape(2, -1), expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("q_out", "q_in"), [(7, 40), (40, 7), (1, 1), (0, 5), (5, 0)])
def test_the_vec_trick_equals_the_picked_entries_of_the_kronecker_product(plan, shape, q_out, q_in):
    r, m, s, n = shape
    A, B, v = double(r, m), double(s, n), double(q_in)
    rows, columns = random_pairs(r, s, q_out), random_pairs(m, n, q_in)  # 40 pairs of so few nodes repeat
    explicit = torch.kron(A, B)[rows[0] * s + rows[1]][:, columns[0] * n + columns[1]]
    result = VecTrickEngine(A, B, rows, columns, plan=plan)(v)
    torch.testing.assert_close(result, explicit @ v, rtol=0, atol=1e-12)


@pytest.mark.parametrize("plan", PLANS)
def test_matrices_may_be_views_of_any_strides(plan):
    big = double(20, 20)
    for A, B in ((big[2:8, 3:9], big[::2, 1:8]), (big.mT[:6, :6], big[:6, ::3])):
        rows, columns, v = random_pairs(6, len(B), 9), random_pairs(6, B.shape[1], 9), double(9)
        expected = (A[rows[0]][:, columns[0]] * B[rows[1]][:, columns[1]]) @ v
        engine = VecTrickEngine(A, B, rows, columns, plan=plan)
        torch.testing.assert_close(engine(v), expected, rtol=0, atol=1e-12)
        torch.testing.assert_close(engine(2 * v), 2 * expected, rtol=0, atol=1e-12)  # its memory is used again


def pattern(pairs, rows, columns):
    return SparsityPattern.of(pairs, (rows, columns))


def test_the_cheapest_plan_is_taken():
    few, many = pattern(random_pairs(50, 50, 5), 50, 50), pattern(random_pairs(50, 50, 50_000), 50, 50)
    best = cheapest_plan(few, few)
    assert best[1:] == (True, True)
    assert cheapest_plan(many, many)[1:] == (False, False)
    assert cheapest_plan(few, few, sparse=False)[1:] == (False, False)
    assert all(plan_cost(best, few, few) <= plan_cost(plan, few, few) for plan in PLANS)


def test_the_order_follows_the_smaller_count():
    square, tall = pattern(random_pairs(40, 40, 10), 40, 40), pattern(random_pairs(40, 2000, 10), 40, 2000)
    assert cheapest_plan(square, tall).start_first  # the first step then makes 40 columns, not 2,000
    assert not cheapest_plan(square, tall.mT).start_first


def test_repeated_pairs_count_once_in_the_cost():
    often = pattern(torch.zeros((2, 10_000), dtype=torch.int64), 30, 30)
    assert plan_cost(Plan(True, True, True), often, often) == 2 * 30 * module.SPARSE_COST


def test_no_gradient_passes_through():
    K, pairs = double(4, 4).requires_grad_(), random_pairs(4, 4, 6)
    for plan in PLANS:
        assert not VecTrickEngine(K, K, pairs, pairs, plan=plan)(double(6).requires_grad_()).requires_grad
