"""The transformer and its checkpoints."""
