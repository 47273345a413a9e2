"""Configurations of SONiC switches and of the adapters at them: read, judged by others, mapped."""
