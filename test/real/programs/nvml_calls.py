"""What NVML says where no GPU and no driver of the kernel is."""
import asked

MOST_ERRORS = 1000

nvml = asked.Library("libnvidia-ml.so.1")
nvml.number("nvmlDeviceGetCount_v2")
nvml.ask("nvmlInit_v2")
nvml.ask("nvmlInit")
nvml.ask("nvmlInitWithFlags", 1)
nvml.number("nvmlDeviceGetCount_v2")
nvml.number("nvmlSystemGetCudaDriverVersion_v2")
nvml.ask("nvmlShutdown")
for error in range(MOST_ERRORS):
    nvml.text("nvmlErrorString", error)
