"""The programs that the service is measured against."""
