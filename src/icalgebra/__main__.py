"""`python -m icalgebra` is `icalgebra`."""

from icalgebra.cli import main

if __name__ == "__main__":
    main()
