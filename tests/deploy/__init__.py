"""The files that deploy the service: Dockerfile, compose.yaml and deploy/."""
