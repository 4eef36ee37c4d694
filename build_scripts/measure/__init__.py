"""Real speculative decoding with torch: the target, the drafters, the decoding loops.

Nothing here is needed to build the site. Importing this package imports no torch; its
modules do, where they compute.
"""
