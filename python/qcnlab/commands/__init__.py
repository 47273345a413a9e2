"""The commands of the command line that have no room of their own."""
