"""Calls the graphs of a bundle's shared library from Python, as a C program would. Standard library only."""

import ctypes
import json
import pathlib


class _Invocation(ctypes.Structure):
    _fields_ = [("context", ctypes.c_void_p), ("tensors", ctypes.POINTER(ctypes.c_void_p)),
                ("sizes", ctypes.POINTER(ctypes.c_int64)), ("arena", ctypes.c_void_p), ("state", ctypes.c_void_p),
                ("weights", ctypes.c_void_p), ("kernels", ctypes.c_void_p)]


_SIZES = ctypes.POINTER(ctypes.c_int64)


class _Entry(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("run", ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.POINTER(_Invocation))),
                ("arena_bytes", ctypes.CFUNCTYPE(ctypes.c_int64, _SIZES))]


class _Variant(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("features", ctypes.c_char_p), ("kernels", ctypes.c_void_p)]


class _Descriptor(ctypes.Structure):
    _fields_ = [("abi_version", ctypes.c_uint32), ("entry_count", ctypes.c_uint32), ("variant_count", ctypes.c_uint32),
                ("kernel_count", ctypes.c_uint32), ("name", ctypes.c_char_p), ("entries", ctypes.POINTER(_Entry)),
                ("variants", ctypes.POINTER(_Variant)), ("state_bytes", ctypes.c_void_p), ("hash", ctypes.c_char_p)]


_libc = ctypes.CDLL(None)


class _Aligned:
    """Memory at a multiple of 64 bytes, not a byte more than asked for: a sanitizer sees its end."""

    def __init__(self, size, content=b""):
        self.address = ctypes.c_void_p()
        if _libc.posix_memalign(ctypes.byref(self.address), ctypes.c_size_t(64), ctypes.c_size_t(max(size, 1))) != 0:
            raise MemoryError
        ctypes.memmove(self.address, content, len(content))

    def __del__(self):
        _libc.free(self.address)


class Bundle:
    def __init__(self, folder):
        self.manifest = json.loads((folder / "manifest.json").read_text())
        self.library = ctypes.CDLL(str(next(folder.glob("*.so"))))
        self.descriptor = _Descriptor.in_dll(self.library, self.manifest["name"] + "_descriptor")
        file = (folder / self.manifest["weights"]["file"]).read_bytes()
        data = file[8 + int.from_bytes(file[:8], "little"):]
        self.weights = _Aligned(len(data), data)

    def variants(self):
        """Numbers of the variants that this machine can run, by their names; the most demanding one comes last."""
        flags = set(pathlib.Path("/proc/cpuinfo").read_text().split())
        return {v["name"]: number for number, v in enumerate(self.manifest["variants"])
                if flags.issuperset(v["features"].split())}

    def call(self, entry, sizes, *inputs, variant=None):
        """Runs `entry` on lists of numbers, by the best variant unless said; gives one list for each result."""
        if variant is None:
            variant = list(self.variants().values())[-1]
        number = next(i for i, e in enumerate(self.manifest["entries"]) if e["name"] == entry)
        described = self.manifest["entries"][number]
        vector = (ctypes.c_int64 * len(self.manifest["sizes"]))(*(sizes.get(s, 0) for s in self.manifest["sizes"]))
        tensors = []
        for argument, values in zip(described["arguments"] + described["results"],
                                    list(inputs) + [None] * len(described["results"])):
            count = 1
            for extent in argument["shape"]:
                count *= extent if isinstance(extent, int) else sizes[extent]
            kind = ctypes.c_float if argument["type"] == "f32" else ctypes.c_int32
            assert values is None or len(values) == count, (argument["name"], len(values), count)
            tensors.append((kind * max(count, 1))(*(values or [])))
        arena = _Aligned(self.descriptor.entries[number].arena_bytes(vector))
        pointers = (ctypes.c_void_p * len(tensors))(*(ctypes.addressof(t) for t in tensors))
        kernels = self.descriptor.variants[variant].kernels
        call = _Invocation(None, pointers, vector, arena.address, None, self.weights.address, kernels)
        code = self.descriptor.entries[number].run(ctypes.byref(call))
        if code != 0:
            raise RuntimeError(f"entry {entry} gave {code}")
        return [list(t) for t in tensors[len(inputs):]]
