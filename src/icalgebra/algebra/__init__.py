"""Finite structures with one operation.

axioms.py         axioms as predicates on Cayley tables: associativity, identity, Latin square
structures.py     structures, and the catalogue that finds one by name
random_tables.py  seeded random quasigroups, semigroups, monoids and magmas
table_files.py    a user's own table from CSV or JSON
"""
