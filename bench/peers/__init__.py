"""The programs with which the service is compared."""
