"""The operator's command line. A worker process never imports it."""
