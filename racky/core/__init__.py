"""Racky's decisions, pure: what it sees and the time go in, judgements and requests come out."""
