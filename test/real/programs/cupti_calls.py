"""What CUPTI says where no GPU is: it refuses. The argument is the library."""
import ctypes
import sys

import asked

KERNEL, CONCURRENT_KERNEL, DRIVER_API = 3, 10, 1
MOST_ERRORS = 60

cupti = asked.Library(sys.argv[1])
cupti.number("cuptiGetVersion")
for error in range(MOST_ERRORS):
    said = ctypes.c_char_p()
    cupti.ask("cuptiGetResultString", error, ctypes.byref(said))
    print(" ", said.value)
CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_void_p)
callback = CALLBACK(lambda *_: None)
subscriber = ctypes.c_void_p()
cupti.ask("cuptiSubscribe", ctypes.byref(subscriber), callback, None)
cupti.ask("cuptiSubscribe", ctypes.byref(ctypes.c_void_p()), callback, None)
cupti.ask("cuptiEnableDomain", 1, subscriber, DRIVER_API)
cupti.ask("cuptiActivityEnable", KERNEL)
cupti.ask("cuptiActivityEnable", CONCURRENT_KERNEL)
cupti.ask("cuptiActivityFlushAll", 1)
driver = asked.Library("libcuda.so.1")
driver.ask("cuInit", 0)
cupti.ask("cuptiActivityEnable", CONCURRENT_KERNEL)
cupti.number("cuptiDeviceGetNumEventDomains", 0)
cupti.ask("cuptiUnsubscribe", subscriber)
cupti.ask("cuptiFinalize")
