"""PFC's headroom: the standard's sum, a vendor's, and what the laboratory's switch takes."""
