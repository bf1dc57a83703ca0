"""Rock, paper, scissors: a relation between players that no ranking of them explains.

Pahikkala, Waegeman, Tsivtsivadze, Salakoski and De Baets, Efficient regularized least-squares algorithms for
conditional ranking on relational data, Machine Learning 93 (2013), doi:10.1007/s10994-013-5354-7, Section 6.1.
"""

import numpy as np

from torchrank.datasets.data import EdgeData
from torchrank.rankings.validate import check_count, check_finite

BEATS = np.array([[0, -1, 1], [1, 0, -1], [-1, 1, 0]])  # rock loses to paper, beats scissors


def rock_paper_scissors(
    n_players: int = 100, n_games: int = 1000, *, w: float = 10.0, seed: int | None = None
) -> EdgeData:
    """Games of rock, paper, scissors between players each of whom has a mixed strategy.

    A player plays the three moves with probabilities softmax(w u / 3), u uniform on the cube. The generator is
    described in an earlier paper of the authors (European Journal of Operational Research 206, 2010); the factor 1/3
    was fitted to the errors published, everything else follows the text.

    Args:
        n_players: number of players.
        n_games: number of games, each between another pair of players; a draw is decided by a coin.
        w: how unbalanced strategies are: the paper has 1 (games are almost pure chance), 10 and 100 (most
            players play one move nearly always).
        seed: of NumPy's generator.

    Returns:
        ``nodes`` (n_players, 3) are the probabilities of rock, paper and scissors; each game is two edges, with ``y``
        1 from the winner and -1 from the loser; all those from the first player named come before all the reverse
        ones. ``notes["advantage"]`` (n_players, n_players) is what is to be learned: the chance of the row to win
        minus that of the column.

    Raises:
        ValueError: fewer than two players, more games than pairs, ``w`` negative or infinite.
    """
    check_count(n_players, "n_players", least=2)
    check_count(n_games, "n_games", least=0)
    check_finite(w, "w", least=0)
    n_pairs = n_players * (n_players - 1) // 2
    if n_games > n_pairs:
        raise ValueError(f"n_games={n_games} is too large; {n_players} players make {n_pairs} pairs")
    rng = np.random.default_rng(seed)
    moves = strategies(rng, w, n_players)
    edges, y = play(rng, moves, n_games)
    return EdgeData(moves, edges, y, title="Rock, paper, scissors", notes={"advantage": advantage(moves)})


def strategies(rng: np.random.Generator, w: float, n: int) -> np.ndarray:
    """Probabilities ``(n, 3)`` of the three moves."""
    logits = w * rng.random((n, 3)) / 3
    weights = np.exp(logits - logits.max(1, keepdims=True))
    return weights / weights.sum(1, keepdims=True)


def play(rng: np.random.Generator, moves: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Edges ``(2 n, 2)`` and labels of n games between different pairs: each game in both directions."""
    pairs = np.stack(np.triu_indices(len(moves), 1), axis=1)
    pairs = pairs[rng.choice(len(pairs), n, replace=False)]
    win = rng.random(n) < (1 + np.einsum("qa,ab,qb->q", moves[pairs[:, 0]], BEATS, moves[pairs[:, 1]])) / 2
    outcome = np.where(win, 1.0, -1.0)
    return np.concatenate([pairs, pairs[:, ::-1]]), np.concatenate([outcome, -outcome])


def advantage(moves: np.ndarray) -> np.ndarray:
    """The chance of each player (row) to win against each other (column) minus that to lose."""
    return moves @ BEATS @ moves.T
