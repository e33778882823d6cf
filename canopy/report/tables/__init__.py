"""One file a table or figure of the paper, and one for each further part of the report."""
