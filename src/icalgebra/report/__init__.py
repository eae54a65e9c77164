"""The report: claims, results and figures to one self-contained HTML page.

store.py      which result answers for an experiment: this run's, else the committed one
page.py       puts the page together from the templates beside it
templates/    page.html.jinja, and one file a section
"""
