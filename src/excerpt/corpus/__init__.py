"""What a search reads of a vault, whether it is indexed in a folder or kept in a store: protocols and shared values."""
