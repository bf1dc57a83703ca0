"""The mathematics that users call: Gram matrices, distances and feature maps of rankings."""
