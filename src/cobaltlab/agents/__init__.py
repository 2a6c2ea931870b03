"""Programs of the lab that run in pods; they import nothing of this package."""
