"""A small training of PyTorch Lightning on the CPU, whose steps also launch on the box: lightning_job.py"""
import pathlib
import sys

import lightning
import torch
from torch.utils.data import DataLoader, TensorDataset

EXAMPLES = pathlib.Path(__file__).resolve().parents[4] / "examples"
sys.path[:0] = [str(EXAMPLES / "cases"), str(EXAMPLES / "trackers")]
from gpu import open_gpus  # noqa: E402
from lightning_steps import GpushimSteps  # noqa: E402


class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)
        self.gpu = open_gpus()[0]

    def _register_sharded_tensor_state_dict_hooks_if_available(self):
        """Debian's PyTorch 1.13 cannot import them under Python 3.11."""

    def training_step(self, batch, _):
        self.gpu.copy_in()
        self.gpu.layers(3, 200)
        self.gpu.wait()
        return self.layer(batch[0]).mean()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.01)


BATCHES = DataLoader(TensorDataset(torch.randn(160, 4)), batch_size=8)
lightning.Trainer(max_epochs=2, accelerator="cpu", logger=False, enable_checkpointing=False,
                  enable_progress_bar=False, enable_model_summary=False,
                  callbacks=[GpushimSteps(lambda batch: len(batch[0]))]).fit(Model(), BATCHES)
