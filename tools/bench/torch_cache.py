#!/usr/bin/env python3
"""A pack that was prewarmed elsewhere serves a process that has PyTorch's own NVRTC loaded, with no compile.

usage: torch_cache.py LIBRARY PACK
LIBRARY is quern_torch_cache (tools/bench/torch_cache.cpp); PACK was made by
`quern prewarm gather width=8192 dtype=bf16 index=i64 --arch sm_90a --pack PACK`."""
import ctypes
import sys

import torch


def loaded_nvrtc():
    with open("/proc/self/maps", encoding="utf-8") as maps:
        return sorted({line.split()[-1] for line in maps if "libnvrtc" in line})


def main():
    square = torch.cuda.jiterator._create_jit_fn("template <typename T> T square(T x) { return x * x; }")
    x = torch.randn(1024, device="cuda")
    assert torch.equal(square(x), x * x)
    before = loaded_nvrtc()
    print("NVRTC of PyTorch, which has compiled with it:", *before, sep="\n  ")
    assert before, "PyTorch has loaded no NVRTC"
    library = ctypes.CDLL(sys.argv[1])
    library.quern_torch_gather.restype = ctypes.c_char_p
    library.quern_torch_gather.argtypes = [ctypes.c_char_p] + [ctypes.c_void_p] * 3 + [ctypes.c_long, ctypes.c_void_p]
    source = torch.randn(4096, 8192, device="cuda").to(torch.bfloat16)
    index = torch.randint(4096, (2048,), device="cuda")
    out = torch.empty(2048, 8192, device="cuda", dtype=torch.bfloat16)
    report = library.quern_torch_gather(sys.argv[2].encode(), source.data_ptr(), index.data_ptr(), out.data_ptr(),
                                        2048, torch.cuda.current_stream().cuda_stream).decode()
    torch.cuda.synchronize()
    same = torch.equal(out, torch.index_select(source, 0, index))
    print(f"quern: {report}; as torch.index_select: {same}; NVRTC loaded by quern: {loaded_nvrtc() != before}")
    return 0 if same and report.endswith(" 0 misses, 0 compiles") and loaded_nvrtc() == before else 1


if __name__ == "__main__":
    sys.exit(main())
