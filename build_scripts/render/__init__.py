"""Generic machinery that turns a lesson into numbers, text, figures and files."""
