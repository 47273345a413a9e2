"""The command line: the program around the commands, the list of them, what their options share."""
