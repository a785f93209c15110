// NVML as this process has it: opened by its name, found as any program would find it. Its state belongs to
// the whole process — a program, NCCL, a monitor in it and we share one library, one set of descriptors and
// one count of initialisations — so it must be used on a thread with the program's own descriptors, and is
// never shut down: at the exit it may be gone before us. The thread of nvml_sampler.h, or of a process of
// ours.
#pragma once

#define NVML_NO_UNVERSIONED_FUNC_DEFS  // every version is a function of its own
#include <nvml.h>

#include "device.h"

namespace gpushim::shim {

class NvmlLibrary {
  public:
    // Takes the loader's lock, then as long as NVML likes. False: not there, or not to be initialised.
    bool open();

    void* find(const char* name) const;  // null: it has no such function
    template <class Function>
    Function* function(const char* name) const {
        return reinterpret_cast<Function*>(find(name));
    }

    // By its UUID, else by its address on the bus. Null: NVML does not show it.
    nvmlDevice_t find_device(const Device& device) const;

  private:
    void* handle_ = nullptr;
};

// NVML_FUNCTION(library, nvmlX): its address with its type, or null.
#define NVML_FUNCTION(library, name) (library).function<decltype(::name)>(#name)

}  // namespace gpushim::shim
