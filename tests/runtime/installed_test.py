#!/usr/bin/env python3
"""Installs the runtime, builds the program of docs/runtime.md against the copy, and runs it on the toy bundle."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
CMAKE, BUILD, LIBRARY, WRITER = (os.environ[name] for name in ("CMAKE", "BUILD", "TOY_LIBRARY", "WRITE_TOY_BUNDLE"))


class Installed(unittest.TestCase):
    def test_the_documented_program_builds_and_decodes(self):
        program = re.search(r"```c\n(.*?)```", (HERE / "../../docs/runtime.md").read_text(), re.DOTALL)[1]
        with tempfile.TemporaryDirectory(prefix="attnrt-installed-") as scratch:
            scratch = pathlib.Path(scratch)
            shutil.copytree(HERE / "installed", scratch / "project")
            (scratch / "project/decode.c").write_text(program)
            self.call(CMAKE, "--install", BUILD, "--prefix", scratch / "prefix", "--component", "attnrt")
            flags = os.environ.get("SANITIZER_FLAGS", "")
            self.call(CMAKE, "-G", "Ninja", "-S", scratch / "project", "-B", scratch / "build", f"-DCMAKE_PREFIX_PATH={scratch}/prefix",
                      f"-DCMAKE_C_COMPILER={os.environ['C_COMPILER']}", f"-DCMAKE_CXX_COMPILER={os.environ['CXX_COMPILER']}",
                      f"-DCMAKE_C_FLAGS={flags}", f"-DCMAKE_EXE_LINKER_FLAGS={flags}")
            self.call(CMAKE, "--build", scratch / "build")
            self.call(WRITER, LIBRARY, scratch / "toy")
            output = self.call(scratch / "build/decode", scratch / "toy", "abc")
            self.assertRegex(output, r"^([xyz?] )+\(-\d\.\d+\)\n$")

    def test_headers_say_which_standard_they_need(self):
        def check(compiler, language, standard, header):
            command = [os.environ[compiler], "-x", language, f"-std={standard}", "-fsyntax-only", "-Wall", "-Wextra", "-pedantic", "-Werror",
                       "-I", HERE / "../../runtime/include", "-"]
            return subprocess.run([*map(str, command)], input=f'#include "attnrt/{header}"\n', capture_output=True, text=True, timeout=300)

        for compiler, language, standard in (("C_COMPILER", "c", "c99"), ("CXX_COMPILER", "c++", "c++11")):
            for header in ("attnrt.h", "cpu.h"):
                done = check(compiler, language, standard, header)
                self.assertEqual((0, ""), (done.returncode, done.stderr), (header, standard))
        self.assertEqual(0, check("CXX_COMPILER", "c++", "c++20", "attnrt.hpp").returncode)
        self.assertIn("attnrt.hpp needs C++20", check("CXX_COMPILER", "c++", "c++17", "attnrt.hpp").stderr)

    def call(self, *command):
        done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=300)
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        return done.stdout


if __name__ == "__main__":
    unittest.main()
