"""Counters of the service, beside BentoML's own, at /metrics."""

from __future__ import annotations

from serving.schemas import CompressResponse


class Counters:
    """Prometheus counters; made in the worker, after BentoML has set up its multi-process folder."""

    def __init__(self) -> None:
        from prometheus_client import Counter

        self._items = Counter("canopy_items_compressed_total", "Items compressed", ["modality"])
        self._before = Counter("canopy_tokens_before_total", "Tokens of the items as they came")
        self._after = Counter("canopy_tokens_after_total", "Tokens of the kept evidence")
        self._hits = Counter("canopy_node_cache_hits_total",
                             "Items whose node vectors came from the store or the cache")
        self._misses = Counter("canopy_node_cache_misses_total", "Items whose nodes were encoded for a request")
        self._bad = Counter("canopy_items_rejected_total", "Raw items that could not be used")
        self._retrieved = Counter("canopy_retrievals_total", "Calls of /retrieve that were answered")

    def count_compression(self, response: CompressResponse) -> None:
        """Count one answer of /compress."""
        for item in response.items:
            self._items.labels(item.modality).inc()
        self._before.inc(response.tokens_before)
        self._after.inc(response.tokens_after)
        self._hits.inc(response.cached)
        self._misses.inc(response.encoded)
        self._bad.inc(len(response.errors))

    def count_retrieval(self) -> None:
        """Count one answer of /retrieve."""
        self._retrieved.inc()
