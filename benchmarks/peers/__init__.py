"""Other software that computes the same, each behind one function (m, n) -> (m, m)."""
