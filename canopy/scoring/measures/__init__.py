"""The measures: every module's ``MEASURES``. A new measure is a line here, or a module of its own."""
