"""A few training steps of PyTorch: prints the loss, or how many launches PyTorch's own profiler counts."""
import importlib
import json
import sys


def steps(torch, count):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    data, target = torch.randn(64, 256).cuda(), torch.arange(64).cuda() % 10
    for _ in range(count):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(data), target)
        loss.backward()
        optimizer.step()
    torch.cuda.synchronize()
    return float(loss)


def main():
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        print("no")
        return
    if sys.argv[1] == "there":
        print("yes" if torch.cuda.is_available() else "no")
    elif sys.argv[1] == "train":
        torch.use_deterministic_algorithms(True, warn_only=True)
        print(steps(torch, 20).hex())
    else:
        activity = torch.profiler.ProfilerActivity
        with torch.profiler.profile(activities=[activity.CPU, activity.CUDA]) as profiler:
            steps(torch, 20)
        names = [event.name for event in profiler.events()]
        launches = sum(name.startswith(("cudaLaunchKernel", "cuLaunchKernel")) for name in names)
        print(json.dumps({"launches": launches}))


if __name__ == "__main__":
    main()
