"""The report: results, claims and readings to one self-contained HTML page. It never touches a model.

store.py          which result is used for an experiment: this run's, else the committed one; verdicts
evidence.py       the best result about each model, for the findings
findings.py       the main findings; their numbers and thresholds are in findings_behaviour.py, findings_mechanisms.py
                  and findings_training.py
universality.py   what belongs to the task and what to the recipe: one word per claim, by a rule over all models
seeds_figure.py   every model's value of some of these claims in one figure
highlights.py     the first screen's findings, each with a small picture
verdicts.py       one verdict per claim, counted, by section with their reasons; this run's beside the committed ones
drawings.py       an experiment's figures as SVG
page.py           puts the page together
templates/        page, first_screen, verdicts, your_run, findings, universality, methods, values (a plain list, where a
                  result lacks what a section quotes); sections are in the experiments' folders
"""
