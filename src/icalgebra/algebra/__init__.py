"""Finite structures with one operation.

axioms.py         what a Cayley table may obey: associativity, identity, Latin square, …
structures.py     a structure, and the catalogue that finds one by its name
random_tables.py  seeded random quasigroups, semigroups, monoids and magmas
table_files.py    a user's own table from CSV or JSON
"""
