"""Runs the .mlir tests of the dialect and its passes through attnc-opt and FileCheck.

SPDX-License-Identifier: Apache-2.0
"""

import os

import lit.formats

config.name = "attn"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir"]
config.excludes = ["Inputs"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = lit_config.params["build"]
if "ASAN_OPTIONS" in os.environ:
    config.environment["ASAN_OPTIONS"] = os.environ["ASAN_OPTIONS"]
config.substitutions += [
    ("attnc-opt", lit_config.params["attnc_opt"]),
    ("FileCheck", lit_config.params["filecheck"]),
]
