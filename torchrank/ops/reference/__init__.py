"""Plain-torch truth of every op, and its default on devices without an engine of their own."""
