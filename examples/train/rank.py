"""One rank: its GPU, its share of every batch, and what follows what within a step.

    copy stream     | batch n+1 up, its samples back |                     | weights up |
    compute stream  | forward n | backward n, bucket by bucket | wait for sums | optimizer | forward n+1 ...
    comm stream                     | AllReduce 0 | AllReduce 1 | ... | loss | sums back |
    host            launches n ...            | loads batch n+1 | waits for sums, new weights, gradient n+1 |

The kernels only take time. What is learned is computed here from bytes that have been on the device: the
samples and the weights are read back from it, the gradient goes up, through AllReduce, and comes back. A byte
that is lost or changed on the way changes the loss.
"""
import model
import nccl
from buckets import DataError, make_buckets
from cuda import FLOAT_BYTES, Device, Driver
from host import Host
from network import Network

_LOAD_US = 200  # what loading a batch and a sample's gradient are worth where the clock is stepped
_GRADIENT_US_PER_SAMPLE = 25


class Rank:
    def __init__(self, options, rank, local_rank, world_size, id_file):
        self._options, self._rank, self._world_size = options, rank, world_size
        self._driver = Driver()
        count = self._driver.device_count()
        if count == 0:
            raise DataError("there is no GPU")
        self._device = Device(self._driver, local_rank % count)
        self._host = Host(self._driver)
        self._compute, self._copy = self._device.stream(), self._device.stream()
        self._comm = self._compute if options.no_overlap else self._device.stream()
        self._communicator = nccl.Communicator(rank, world_size, id_file)
        self._network = Network(self._device, self._compute, options.layers, options.small_kernels,
                                repeat=2 if rank == options.slow_rank else 1)
        self._make_input()
        self._make_learned()

    def _make_input(self):
        options, device = self._options, self._device
        self._dataset = model.Dataset(options.seed)
        self._batch_floats = options.batch * model.ROW
        total = max(self._batch_floats, int(options.input_mb * 1e6) // FLOAT_BYTES)
        # A batch in pageable memory goes where the work is, as `.to(device)` without pinning does.
        self._input_stream = self._compute if options.pageable else self._copy
        self._batches = [device.host_floats(total, options.pageable) for _ in range(2)]
        self._device_batches = [device.floats(total) for _ in range(2)]
        self._samples = device.host_floats(self._batch_floats)
        self._batch_arrived, self._samples_arrived = device.event(), device.event()

    def _make_learned(self):
        device = self._device
        self._buckets = make_buckets(device, self._options.params, self._options.bucket_mb, self._rank)
        self._weights, self._device_weights = device.host_floats(model.WEIGHTS), device.floats(model.WEIGHTS)
        self._gradient, self._sums = device.host_floats(model.WEIGHTS), device.host_floats(model.WEIGHTS)
        self._loss, self._loss_sum = device.host_floats(1), device.host_floats(1)
        self._device_loss = device.floats(1)
        self._sums_arrived = device.event()
        # Rank 0 decides where learning starts; the others get it from there.
        if self._rank == 0:
            self._weights.floats[:] = model.initial_weights(self._options.seed)
        device.upload(self._device_weights, self._weights, self._comm)
        self._communicator.broadcast(self._device_weights, model.WEIGHTS, self._comm)
        self._download_weights(self._comm)
        self._driver.cuCtxSynchronize()  # the buckets were filled on a stream that the others do not wait for

    def train(self, report):
        """Runs all steps; calls report(step, loss of the whole batch) for the steps whose loss is wanted."""
        steps = self._options.steps
        self._load_batch(0)
        for step in range(steps):
            self._forward()
            if step > 0:
                self._apply_sums()
            self._compute_gradient()
            self._backward()
            self._share_loss()
            self._update()
            if self._options.sync_every_step:
                self._driver.cuCtxSynchronize()
            if step % self._options.loss_every == 0 or step + 1 == steps:
                report(step, self._read_loss())
            if step + 1 < steps:
                self._load_batch(step + 1)
            if not self._options.unmarked:
                self._host.mark_step()
        self._apply_sums()
        self._driver.cuCtxSynchronize()

    def _load_batch(self, step):
        """Loads on the host, sends it, and reads the samples back for the host's part of the work."""
        options, slot = self._options, step % 2
        first = (step * self._world_size + self._rank) * options.batch
        self._batches[slot].floats[:self._batch_floats] = self._dataset.batch(first, options.batch)
        self._host.worked(_LOAD_US)
        self._host.wait(options.slow_input)
        device, stream = self._device, self._input_stream
        device.upload(self._device_batches[slot], self._batches[slot], stream)
        self._driver.cuEventRecord(self._batch_arrived, stream)
        device.download(self._samples, self._device_batches[slot], stream)
        self._driver.cuEventRecord(self._samples_arrived, stream)

    def _forward(self):
        self._driver.cuStreamWaitEvent(self._compute, self._batch_arrived, 0)
        self._network.forward()

    def _compute_gradient(self):
        self._driver.cuEventSynchronize(self._samples_arrived)
        loss, gradient = model.loss_and_gradient(self._samples.floats, self._weights.floats)
        self._loss.floats[0] = loss
        self._gradient.floats[:] = gradient
        self._host.worked(_GRADIENT_US_PER_SAMPLE * self._options.batch)

    def _backward(self):
        """A bucket leaves for the other ranks as soon as its last layer is done."""
        layers, sent = self._network.layers, 0
        for layer in range(layers):
            self._network.backward_layer()
            done = len(self._buckets) * (layer + 1) // layers
            for bucket in self._buckets[sent:done]:
                bucket.fill(self._gradient, self._compute)
                bucket.all_reduce(self._communicator, self._comm)
            sent = done

    def _share_loss(self):
        self._device.fill(self._device_loss, 0.0, 1, self._comm)
        self._device.upload(self._device_loss, self._loss, self._comm)
        self._communicator.all_reduce(self._device_loss, 1, self._comm)
        for bucket in self._buckets:
            bucket.fetch(self._sums, self._comm)
        self._driver.cuEventRecord(self._sums_arrived, self._comm)

    def _update(self):
        self._driver.cuStreamWaitEvent(self._compute, self._sums_arrived, 0)
        self._network.update()

    def _read_loss(self):
        self._device.download(self._loss_sum, self._device_loss, self._compute)
        self._driver.cuStreamSynchronize(self._compute)
        return self._loss_sum.floats[0] / self._samples_per_step()

    def _apply_sums(self):
        """The weights come from the device and go back to it: the host keeps none from step to step."""
        self._driver.cuEventSynchronize(self._sums_arrived)
        self._download_weights(self._copy)
        weights, sums = self._weights.floats, self._sums.floats
        weights[:] = model.descend(weights, sums, self._samples_per_step())
        self._device.upload(self._device_weights, self._weights, self._copy)

    def _download_weights(self, stream):
        self._device.download(self._weights, self._device_weights, stream)
        self._driver.cuStreamSynchronize(stream)

    def _samples_per_step(self):
        return self._options.batch * self._world_size

    def check(self):
        """All ranks must have ended with the same weights, and the padding must be what it has to be."""
        self._download_weights(self._copy)
        own = self._weights.floats.tobytes()
        self._communicator.all_reduce(self._device_weights, model.WEIGHTS, self._copy, nccl.MAX)
        self._download_weights(self._copy)
        if self._weights.floats.tobytes() != own:
            raise DataError("the ranks ended with different weights")
        for bucket in self._buckets:
            bucket.check_padding(self._world_size, self._copy)
        return own

    def now_ns(self):
        return self._host.now_ns()

    def gpu_name(self):
        return self._device.name()

    def close(self):
        self._communicator.close()
        self._device.close()
