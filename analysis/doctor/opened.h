// A library opened in this process, to be asked what it has. Kept: what is found in it stays.
#pragma once

#include <dlfcn.h>

#include <string>

namespace gpushim::analysis {

// Opened as programs do: the loader's own search.
struct Opened {
    explicit Opened(const char* name) : handle(dlopen(name, RTLD_NOW | RTLD_LOCAL)) {
        if (handle == nullptr) why = dlerror();
    }
    template <class... Parameters>
    int (*function(const char* name, int (*)(Parameters...) = nullptr) const)(Parameters...) {
        return reinterpret_cast<int (*)(Parameters...)>(dlsym(handle, name));
    }
    std::string file_with(const char* symbol) const {
        Dl_info info = {};
        void* address = dlsym(handle, symbol);
        return address != nullptr && dladdr(address, &info) != 0 ? info.dli_fname : "";
    }
    void* handle;
    std::string why;
};

}  // namespace gpushim::analysis
