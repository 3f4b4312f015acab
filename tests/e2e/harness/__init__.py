"""Parts of the end-to-end tests: IOCs, Channel Access clients, the exporter and its scrapes."""
