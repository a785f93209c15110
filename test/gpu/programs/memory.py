"""Takes memory of the device, gives some back, takes more, and says the most there was, as one line of JSON:
allocated (in use), reserved (taken from the driver), used (total less free, by the driver, meanwhile).

    memory.py torch [--device cpu]      by PyTorch's own words; on the CPU there are none, null
    memory.py driver                    cuMemAlloc, counted here; the box has nothing else
"""
import argparse
import ctypes
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve()
sys.path[:0] = [str(HERE.parent / "workloads"), str(HERE.parents[3] / "examples" / "train")]

from missing import Missing, torch_as_it_is  # noqa: E402

MIB = 1 << 20
SIZES = (256 * MIB, 100 * MIB, 7 * MIB + 512)
MORE = (300 * MIB, 64 * MIB)  # after the first of those was freed


def by_torch(asked):
    torch = torch_as_it_is(asked.device)
    scale = 1 if asked.device == "cuda" else 1 << 10  # a CPU's memory is not to be filled
    tensors = [torch.ones(size // scale, dtype=torch.uint8, device=asked.device) for size in SIZES]
    del tensors[0]
    tensors += [torch.ones(size // scale, dtype=torch.uint8, device=asked.device) for size in MORE]
    if asked.device != "cuda":
        return {"allocated": None, "reserved": None, "used": None, "tensors": len(tensors)}
    matrix = tensors[0][:MIB].view(512, 2048).half()
    (matrix.T @ matrix).sum().item()  # libraries have memory of their own
    free, total = torch.cuda.mem_get_info()
    return {"allocated": torch.cuda.max_memory_allocated(), "reserved": torch.cuda.max_memory_reserved(),
            "used": total - free}


def by_the_driver():
    import cuda  # pylint: disable=import-outside-toplevel
    driver = cuda.Driver()
    driver.cuInit(0)
    held = [cuda.Device(driver, 0)]
    address, addresses = ctypes.c_uint64(), []
    for size in SIZES:
        driver.cuMemAlloc_v2(ctypes.byref(address), size)
        addresses.append(address.value)
    driver.cuMemFree_v2(addresses[0])
    for size in MORE:
        driver.cuMemAlloc_v2(ctypes.byref(address), size)
    most = max(sum(SIZES), sum(SIZES[1:] + MORE))
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    ctypes.CDLL("libcuda.so.1").cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total))
    held[0].close()
    return {"allocated": most, "reserved": most, "used": total.value - free.value}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("by", choices=("torch", "driver"))
    parser.add_argument("--device", default="cuda")
    asked = parser.parse_args()
    try:
        print(json.dumps(by_torch(asked) if asked.by == "torch" else by_the_driver()))
    except Missing as why:
        print(json.dumps({"missing": str(why)}))


if __name__ == "__main__":
    main()
