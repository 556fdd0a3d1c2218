"""The rules: tables by subject, in the order in which they win where several match."""
