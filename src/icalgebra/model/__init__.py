"""The transformer, its checkpoints, and its accuracy."""
