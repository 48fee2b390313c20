"""What the tests against Hugging Face's library share: the library itself, and runs of attnc.

Needs torch and transformers; HUGGINGFACE_PYTHON names a Python that has them. They are not part of set-up: without
them a test says so and is skipped.
"""

import os
import subprocess
import sys

try:
    import torch
    import transformers
    from safetensors.torch import save_file
except ImportError as error:
    print(f"skipped: {error}; needed are torch and transformers, for this test alone")
    sys.exit(77)


def attnc(*arguments, text=""):
    done = subprocess.run([os.environ["ATTNC"], *map(str, arguments)], input=text, capture_output=True, text=True,
                          timeout=600)
    if done.returncode:
        raise AssertionError(f"attnc {' '.join(map(str, arguments))}:\n{done.stderr}")
    return done.stdout


def line(ids):
    return " ".join(map(str, ids))
