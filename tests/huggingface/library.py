"""What the tests against Hugging Face's libraries share: the libraries themselves, and runs of this project's programs.

Needs torch, transformers, sentencepiece and yaml; HUGGINGFACE_PYTHON names a Python that has them. They are not part of
set-up: without them a test says so and is skipped.
"""

import json
import os
import subprocess
import sys

try:
    import sentencepiece
    import torch
    import transformers
    import yaml
except ImportError as error:
    print(f"skipped: {error}; needed are torch, transformers, sentencepiece and yaml, for the tests of Hugging Face alone")
    sys.exit(77)


def run(program, *arguments, text=""):
    """What the program, which the environment names, prints; it must not fail."""
    done = subprocess.run([os.environ[program], *map(str, arguments)], input=text, capture_output=True, text=True,
                          timeout=600)
    if done.returncode:
        raise AssertionError(f"{program} {' '.join(map(str, arguments))}:\n{done.stderr}")
    return done.stdout


def attnc(*arguments, text=""):
    return run("ATTNC", *arguments, text=text)


def line(ids):
    return " ".join(map(str, ids))


def tokenize(folder, description, size, unknown, lines):
    """Ids of each line and the text of these ids, as the runtime has them."""
    numbers = [size] if unknown is None else [size, unknown]
    answer = run("TOKENIZE_LINES", folder, json.dumps(description), *numbers,
                 text="".join(json.dumps(each) + "\n" for each in lines))
    return [json.loads(each) for each in answer.split("\n")[:-1]]
