"""The torch.library boundary: one file an op, with schema, fake kernel and engine registration."""
