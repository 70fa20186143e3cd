"""The judge: it holds a history of requests and answers against the promises of the service. See README.md."""
