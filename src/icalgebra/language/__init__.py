"""Sequences of facts as text and tokens, and the world they come from.

vocabulary.py  tokens, slots, text to ids and back
world.py       the generative process as one frozen value
sequences.py   a batch of sequences with its latents
parsing.py     a user's own sequences; mistakes are reported by line and column
"""
