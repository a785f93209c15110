"""A few training steps of PyTorch: prints the loss, or how many launches PyTorch's own profiler counts. Or a
captured graph that is replayed: prints what it comes to."""
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


def replayed(torch):
    """A capture, and its replays, while other work goes on in the process: so windows are open meanwhile."""
    torch.manual_seed(0)
    weight, data = torch.randn(256, 256).cuda(), torch.randn(64, 256).cuda()
    for _ in range(2000):  # also what a capture wants: everything was used before
        data = torch.tanh(data @ weight)
    torch.cuda.synchronize()
    results = []
    for _ in range(20):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            result = torch.tanh(data @ weight) + 1
        for _ in range(50):
            graph.replay()
            data = torch.tanh(data + result)
        results.append(float(result.sum()))
    return sum(results)


def main():
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        print("no")
        return
    if sys.argv[1] == "there":
        print("yes" if torch.cuda.is_available() else "no")
    elif sys.argv[1] == "graph":
        print(replayed(torch).hex())
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
