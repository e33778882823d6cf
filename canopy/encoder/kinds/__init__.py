"""One module for each kind of encoder: its settings (``Settings``), its loader (``load``) and its check (``check``, ``REMEDY``)."""
