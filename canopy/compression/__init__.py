"""Question and items to evidence: the one place that cuts, builds trees, encodes, scores, selects and writes regions.

``models`` opens an encoder, ``sources`` reads items, ``candidates`` scores and selects, ``evidence`` and ``writing`` make
the result, ``compressor`` is the door to all of it (`canopy.Compressor`).
"""
