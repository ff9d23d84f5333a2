"""Values, errors, settings and files of state that all packages share."""
