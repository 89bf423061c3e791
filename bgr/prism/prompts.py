"""The prompts of PRISM: one file a step beside this module.

Their examples name passages 71 and 72: a model that copies an example names what seldom exists, and it is seen.
"""

from __future__ import annotations

from bgr.llm.prompts import Prompts

prompt = Prompts("bgr.prism")
