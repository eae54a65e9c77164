"""The battery: somebody tries to break the product, and counts what is lost.

    make battery                                  everything, about 20 minutes on two cores
    make battery SEED=7                           other random moments, damages and inputs
    PYTHONPATH=tests python -m battery --parts kills,fuzz --counts kills=10,fuzz=5000

Each part is a function `run(tally, count, rng, folder)` in a module of this folder. What a part did is kept in
build/battery/seed-N.json, so a battery that was interrupted goes on with the parts that are left. tests/battery/
test_battery.py runs every part that needs seconds with small counts; it is part of `make test`.
"""
