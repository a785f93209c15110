"""Gradients on the device in buckets, summed over all ranks one bucket at a time while backward goes on.

The part that is learned is tiny, so every bucket carries a slice of it at its head and is padded to a
realistic size. The padding is not idle: it holds rank + 1, so its sum is known and the last AllReduce of each
bucket is checked to the byte.
"""
from array import array

from cuda import FLOAT_BYTES
from model import WEIGHTS


class DataError(Exception):
    """Bytes came back other than they must be."""


class Bucket:
    def __init__(self, device, count, learned, rank):
        self._device, self._count, self._learned = device, count, learned
        self._own, self._summed = device.floats(count), device.floats(count)
        self._filled, self.summed = device.event(), device.event()
        device.fill(self._own, rank + 1, count, None)

    def fill(self, gradient, stream):
        """Puts this rank's slice at the head, behind the backward kernels that stand for it."""
        if self._learned:
            self._device.upload(self._own, gradient, stream, self._learned.start, len(self._learned))
        self._device.driver.cuMemcpyDtoDAsync_v2(self._summed, self._own, self._count * FLOAT_BYTES, stream)
        self._device.driver.cuEventRecord(self._filled, stream)

    def all_reduce(self, communicator, stream):
        self._device.driver.cuStreamWaitEvent(stream, self._filled, 0)
        communicator.all_reduce(self._summed, self._count, stream)

    def fetch(self, gradient, stream):
        if self._learned:
            self._device.download(gradient, self._summed, stream, self._learned.start, len(self._learned))

    def check_padding(self, world_size, stream):
        everything = self._device.host_floats(self._count, pageable=True)
        self._device.download(everything, self._summed, stream)
        self._device.driver.cuStreamSynchronize(stream)
        padding = everything.floats[len(self._learned):]
        expected = world_size * (world_size + 1) / 2
        if padding != memoryview(array("f", [expected]) * len(padding)):
            raise DataError("the padding of a gradient bucket came back changed")


def make_buckets(device, params, bucket_mb, rank):
    per_bucket = max(1, int(bucket_mb * 1e6) // FLOAT_BYTES)
    number = -(-params // per_bucket)
    if params < WEIGHTS or params // number < WEIGHTS // number + 1:
        raise DataError(f"--params {params} leaves no room for the {WEIGHTS} weights that are learned")
    def share(total, index):
        return range(total * index // number, total * (index + 1) // number)
    return [Bucket(device, len(share(params, i)), share(WEIGHTS, i), rank) for i in range(number)]
