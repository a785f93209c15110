"""Steps and samples of PyTorch Lightning's Trainer: Trainer(callbacks=[GpushimSteps()]). Without the preload
nobody is told, and nothing happens."""
import ctypes

from lightning.pytorch import Callback


class GpushimSteps(Callback):
    def __init__(self, samples=len):
        program = ctypes.CDLL(None)
        self.step = getattr(program, "gpushim_step_n", None)
        self.samples = samples  # in a batch

    def tell(self, samples):
        if self.step:
            self.step(ctypes.c_uint64(samples))

    def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
        self.tell(self.samples(batch))

    def on_train_end(self, trainer, pl_module):
        self.tell(0)
