"""What the experiments wrote down: the format of a record, reading and writing it, and the
statistics of its samples. No torch: the site is built from records where nothing is measured."""
