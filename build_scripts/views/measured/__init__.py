"""The views of measurements: every number that they show stands in a record, or nothing is shown."""
