"""What a work raises where the machine lacks what it needs."""
import importlib


class Missing(Exception):
    pass


def imported(name):
    """A package, if it is there and can be loaded: a broken one is as good as none."""
    try:
        return importlib.import_module(name)
    except (ImportError, OSError, AttributeError, RuntimeError) as why:
        raise Missing(f"no {name}: {' '.join(str(why).split())[:160]}") from why


def torch_as_it_is(device):
    """PyTorch, where it has that device."""
    torch = imported("torch")
    if device == "cuda" and not torch.cuda.is_available():
        raise Missing("PyTorch sees no GPU")
    torch.manual_seed(0)
    return torch


def torch_on(device):
    """... and told to do everything in one way."""
    torch = torch_as_it_is(device)
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.backends.cudnn.benchmark = False
    return torch


def waited(torch, device):
    if device == "cuda":
        torch.cuda.synchronize()


def digest(values):
    """A result to the bit, in one word."""
    return float(values.double().sum()).hex()
