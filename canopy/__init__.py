"""CANOPY: adaptive-granularity evidence compression for multimodal RAG (arXiv 2610.00923), as a plain library."""

__version__ = "0.1.0"
