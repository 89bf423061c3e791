"""PRISM: sentences as evidence, by agents that add and agents that remove (see `bgr.prism.agent`)."""
