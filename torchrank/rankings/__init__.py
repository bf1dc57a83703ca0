"""What a ranking is: accepted inputs, dense ranks, and conversions between forms."""
