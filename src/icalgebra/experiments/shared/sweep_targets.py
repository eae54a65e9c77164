"""Hold-out accuracies that mark a run's progress. A module of its own, for readings, which import no torch."""

PLATEAU_END = 0.5  # the plateau is over at the first evaluation with half of the hold-out queries right
LEARNED = 0.9  # the task counts as learned
