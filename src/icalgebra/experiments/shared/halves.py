"""Honest selection: what is chosen among many (heads, sets) is chosen on one half of the rows, judged on the other."""

CHOOSING, JUDGING = slice(0, None, 2), slice(1, None, 2)  # as in MinimalPairs.halves and RoleScores.halves
