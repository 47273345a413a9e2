"""Other people's files: readers and writers, one file for each, and the commands around them."""
