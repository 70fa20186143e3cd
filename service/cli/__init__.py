"""The operator's command line: each module holds its commands and their parsers. A worker process never imports it."""
