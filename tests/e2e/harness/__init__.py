"""What the end-to-end tests are made of: IOCs, Channel Access clients, the exporter and its scrapes."""
