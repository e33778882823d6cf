"""Images and videos: what is decoded of them, safely, and the words and cuts that are found in them at ingestion."""
