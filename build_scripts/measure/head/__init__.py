"""The EAGLE-style head: the text it learns from, what it is, and how it is trained.

    corpus      the target writes its own training text
    features    what the target thinks while reading that text, kept on disk for the training
    model       the head as a network to train
    training    the training run: budgeted by time, resumable, recorded
    chance      what is drawn in each step and batch, whoever interrupts it
    quantised   the trained head in 8 bits: the file that is shipped

What drafts with it is `drafters/eagle_head.py`.
"""
