"""Pure formulas: numbers in, numbers out. No input or output, and nothing of ours imported."""
