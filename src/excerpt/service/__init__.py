"""The application: what the screen, the servers and the commands do with vaults, written once and without a screen."""
