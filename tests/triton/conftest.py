"""Keep the interpreter's tests out of the main process: Triton has to be told before it is imported."""

import os

collect_ignore = [] if os.environ.get("TRITON_INTERPRET") == "1" else ["interpret"]
