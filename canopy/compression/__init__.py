"""Question and items to evidence: the one place that cuts, builds trees, encodes, scores, selects and writes regions.

``models`` opens an encoder, ``sources`` reads items, ``candidates`` scores and selects, ``writing`` makes the result,
whose types are in ``evidence``. ``compressor`` is the door to all of it (`canopy.Compressor`).

The function `canopy.compress` is the reason why this room is not called ``canopy.compress``: a module of that name
would take the function's place as soon as it is imported.
"""
