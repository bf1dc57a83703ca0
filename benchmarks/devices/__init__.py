"""Public calls on the CPU and on a card, side by side."""
