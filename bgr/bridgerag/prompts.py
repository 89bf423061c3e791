"""The prompts of BridgeRAG: one file a step beside this module."""

from __future__ import annotations

from bgr.llm.prompts import Prompts

prompt = Prompts("bgr.bridgerag")
