"""The probability that a leaf of a retrieved item is gold, by boosted trees over cheap features.

``words`` holds what an item gives whatever is asked, ``forest`` one question's retrieved items, ``matching`` and
``features`` what they have to do with the question, ``trees`` the model in JSON, and ``fitting`` trains it.
"""
