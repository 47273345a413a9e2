"""Operations of ranks that send, receive and compute, as messages that wait for others."""
