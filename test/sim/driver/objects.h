// What the driver's handles stand for. A handle is the address of its object; a registry per kind tells
// living ones from dead, foreign and random ones, so wrong arguments get the documented error. All of it
// under engine::lock().
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "api.h"
#include "engine/arena.h"
#include "engine/engine.h"
#include "engine/kernel_image.h"

namespace gpusim::driver {

struct Context;
struct Device;
struct Pool;
class Capture;  // capture.h

// The living objects of one kind.
template <class T>
class Registry {
  public:
    template <class... A>
    T* make(A&&... a) {
        T* made = new T{std::forward<A>(a)...};
        alive_.insert(made);
        return made;
    }
    // The object behind a handle; null where there is none (any more).
    template <class Handle>
    T* find(Handle handle) const {
        T* object = reinterpret_cast<T*>(handle);
        return alive_.contains(object) ? object : nullptr;
    }
    void destroy(T* object) {
        if (alive_.erase(object) != 0) delete object;
    }
    const std::unordered_set<T*>& all() const { return alive_; }

  private:
    std::unordered_set<T*> alive_;
};

struct Stream {
    Context* context = nullptr;
    uint64_t id = 0;
    unsigned flags = 0;  // CU_STREAM_NON_BLOCKING or not
    int priority = 0;
    Point tail;                  // everything issued so far
    bool ends_in_event = false;  // the last was one
    bool had_event = false;
    std::optional<Point> before_last;  // where the last was a kernel: what that came after
    std::shared_ptr<Capture> capture;  // set while this stream records into a graph instead of executing
    std::array<std::byte, 64> attribute_values[CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING + 1]{};
    bool is_legacy = false;
    bool is_per_thread = false;
    bool blocking() const { return !is_legacy && (flags & CU_STREAM_NON_BLOCKING) == 0; }
};

struct Event {
    Context* context = nullptr;
    unsigned flags = 0;
    bool recorded = false;
    Point point;                       // what the last record waits for; its end is the time stamp
    std::shared_ptr<Capture> capture;  // last recorded inside this capture: cannot be waited for by the host
    std::vector<struct GraphNode*> captured_after;
    std::shared_ptr<void> shared;  // interprocess events: what other processes see (ipc.cpp)
};

struct Parameter {
    size_t offset = 0;
    size_t size = 0;
};

struct Module;

struct Function {
    const char* name = "";  // interned: lives for ever
    Module* module = nullptr;
    std::vector<Parameter> parameters;
    size_t parameter_bytes() const {
        return parameters.empty() ? 0 : parameters.back().offset + parameters.back().size;
    }
    bool parameters_known = false;  // PTX tells them; any other image does not
    int attributes[CU_FUNC_ATTRIBUTE_MAX]{};
    Ns duration_ns = 0;                    // how long its name or the knob says that it runs
    int fails_with = 0;                    // the asynchronous error that its name says it ends in
    unsigned legacy_block[3] = {1, 1, 1};  // cuFuncSetBlockShape and its kin
    unsigned legacy_shared = 0;
    std::vector<std::byte> legacy_parameters;
};

// A loaded image: PTX text tells its names; of any other image every name is taken to be there.
struct Image {
    std::map<std::string, std::vector<Parameter>, std::less<>> functions;
    std::map<std::string, size_t, std::less<>> globals;
    bool names_known = false;
    const KernelImage* kernels = nullptr;
};

struct Module {
    Context* context = nullptr;
    std::shared_ptr<const Image> image;
    bool of_library = false;
    std::map<std::string, Function*, std::less<>> functions;  // those asked for
    std::map<std::string, CUdeviceptr, std::less<>> globals;
};

struct Kernel;

// Context-independent: its functions are made per context when used.
struct Library {
    std::shared_ptr<const Image> image;
    std::map<std::string, Kernel*, std::less<>> kernels;
    std::map<Context*, Module*> modules;
};

struct Kernel {
    const char* name = "";
    Library* library = nullptr;
};

struct Context {
    Device* device = nullptr;
    uint64_t id = 0;
    unsigned flags = 0;
    unsigned api_version = 3020;
    bool primary = false;
    int users = 1;  // cuCtxAttach, cuCtxDetach
    std::shared_ptr<Fault> fault = std::make_shared<Fault>();
    Stream* legacy = nullptr;
    std::unordered_map<std::thread::id, Stream*> per_thread;
    std::set<Stream*> streams;  // all but legacy
    std::set<Module*> modules;
    std::set<Context*> peers;  // contexts whose memory this one may use
    std::map<int, size_t> limits;
    std::vector<Point> queues;  // hardware's, where the box has them: until its last command had begun
    Point departed;             // the work of streams that have been destroyed
    Point departed_blocking;    // of those, what the legacy stream waits for
    CUfunc_cache cache_config = CU_FUNC_CACHE_PREFER_NONE;
    CUsharedconfig shared_config = CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE;
};

struct Device {
    int ordinal = 0;
    Context* primary = nullptr;
    int primary_retained = 0;
    unsigned primary_flags = 0;
    std::unique_ptr<Arena> arena;
    Pool* default_pool = nullptr;
    Pool* current_pool = nullptr;
};

Registry<Context>& contexts();
Registry<Stream>& streams();
Registry<Event>& events();
Registry<Module>& modules();
Registry<Function>& functions();
Registry<Library>& libraries();
Registry<Kernel>& kernels();

// Devices 0 … GPUSIM_DEVICES-1; null for others.
Device* device(CUdevice ordinal);
int device_count();

// The calling thread's contexts, top last; the top one is current. Needs no destructor: a thread's objects
// are gone before its last calls of the driver come.
class ContextStack {
  public:
    struct Entry {
        Context* context;
        uint64_t id;  // tells it from a later one at the same address
    };
    bool empty() const { return depth_ == 0; }
    bool full() const { return depth_ == kDeepest; }
    const Entry& back() const { return entries_[depth_ - 1]; }
    void push_back(Context& context) { entries_[depth_++] = {&context, context.id}; }
    void pop_back() { --depth_; }

  private:
    static constexpr size_t kDeepest = 64;
    Entry entries_[kDeepest];
    size_t depth_;
};
ContextStack& context_stack();
Context* current_context();                        // null: none, or it has been destroyed
CUresult fault_at(const Fault& fault, Ns moment);  // the error, once its moment has come
CUresult fault_by_now(const Fault& fault);
CUresult current_fault();          // its sticky error if the moment has come; takes the lock
CUresult current_context_error();  // why there is none: no context, or one that was destroyed; takes the lock

uint64_t next_stream_id();

// The stream a handle means for this call: 0, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD or a made one. Null:
// none.
Stream* find_stream(CUstream handle);
CUresult stream_error();  // what a call says when `find_stream` gave null: INVALID_CONTEXT or INVALID_HANDLE

// A function's constants and its place in a module; made at first look-up. Null: the image has no such name.
Function* get_function(Module& module, std::string_view name);

// The function a CUfunction or CUkernel means in this context. Null: none.
Function* find_function(CUfunction handle, Context& context);

Stream* make_stream(Context& context, unsigned flags, int priority);
void destroy_stream(Stream& stream);
Context* make_context(Device& device, unsigned flags, unsigned api_version);
void destroy_context(Context& context,
                     engine::Lock& lock);  // waits for its work, then ends all that it holds
Module* make_module(Context& context, std::shared_ptr<const Image> image);
void destroy_module(Module& module);
void forget_libraries(Context& context);

// All of a context's work so far.
Point context_point(Context& context);

}  // namespace gpusim::driver
