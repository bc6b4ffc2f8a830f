"""A report as one HTML page, which needs nothing but itself."""
