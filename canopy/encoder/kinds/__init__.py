"""One module for each kind of encoder: ``Settings``, ``load``, ``check`` and ``REMEDY`` (if the check fails)."""
