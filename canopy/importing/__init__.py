"""Folders of everyday documents to the native format: what `canopy import` does.

One module a family of files; nothing fetched, nothing run.
"""
