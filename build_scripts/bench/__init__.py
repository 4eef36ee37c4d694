"""How long building takes, and how much a reader's browser fetches. Run by `make bench`."""
