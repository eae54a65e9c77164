"""How large a request to the explorer may be. Larger ones are refused with one sentence."""

MAX_FACTS = 300  # the query included; models are trained on 200
MAX_TEXT = 5 * MAX_FACTS + 200  # characters of a sequence, with room for spaces around it
MAX_BODY = 64 * 1024  # bytes
MAX_NAMES = 200  # characters of a list of structures
MAX_SITES = 64  # heads, MLPs or positions in one request
MAX_CHECKPOINTS = 32  # of a run; all stay in memory once asked
