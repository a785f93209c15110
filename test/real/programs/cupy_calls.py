"""What CuPy says where no GPU is."""
import cupy


def say(what, function):
    try:
        print(what, function())
    except Exception as error:  # whichever it raises is what is compared
        print(what, type(error).__name__, error)


print(cupy.__version__)
say("available", cupy.cuda.is_available)
say("runtime", cupy.cuda.runtime.runtimeGetVersion)
say("driver", cupy.cuda.runtime.driverGetVersion)
say("devices", cupy.cuda.runtime.getDeviceCount)
say("context", cupy.cuda.driver.ctxGetCurrent)
say("zeros", lambda: cupy.zeros(16))
say("stream", cupy.cuda.Stream)
say("synchronize", cupy.cuda.runtime.deviceSynchronize)
