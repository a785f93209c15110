// A CUDA program that tells NVTX what it does: ranges WAY. Each way prints what NVTX's functions return, so
// that tests can compare it with what is documented.
#include <cuda.h>
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kThreads = 4, kRangesPerThread = 200, kMany = 100000 };

static void open_gpu(void) {
    CUcontext context;
    if (cuInit(0) || cuCtxCreate_v4(&context, 0, 0, 0)) exit(9);
}

static void advance(unsigned long long ns) {
    void (*by)(unsigned long long) = (void (*)(unsigned long long))dlsym(RTLD_DEFAULT, "gpusim_advance_ns");
    if (by) by(ns);
}

static nvtxEventAttributes_t saying(const char* text) {
    nvtxEventAttributes_t said = {0};
    said.version = NVTX_VERSION;
    said.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    said.messageType = NVTX_MESSAGE_TYPE_ASCII;
    said.message.ascii = text;
    return said;
}

static void every_function(void) {
    open_gpu();
    nvtxMarkA("begin");
    printf("push %d\n", nvtxRangePushA("outer"));
    advance(1000);
    printf("push %d\n", nvtxRangePushW(L"inner gr\u00fc\u00df \U0001f600"));
    advance(500);
    printf("pop %d\n", nvtxRangePop());
    advance(100);
    printf("pop %d\n", nvtxRangePop());

    nvtxRangeId_t first = nvtxRangeStartA("started first");
    advance(10);
    nvtxRangeId_t second = nvtxRangeStartW(L"started second");
    advance(20);
    nvtxRangeEnd(first);
    advance(40);
    nvtxRangeEnd(second);
    printf("ids %s\n", first != 0 && second != 0 && first != second ? "differ" : "do not differ");

    nvtxEventAttributes_t said = saying("with all");
    said.category = 7;
    said.colorType = NVTX_COLOR_ARGB;
    said.color = 0xff112233;
    said.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
    said.payload.dValue = 2.5;
    nvtxNameCategoryA(7, "seventh");
    nvtxRangePushEx(&said);
    advance(5);
    nvtxRangePop();
    nvtxMarkEx(&said);
    nvtxRangeEnd(nvtxRangeStartEx(&said));
}

static void payload(int type, const void* value, size_t size) {
    nvtxEventAttributes_t said = saying("payload");
    said.payloadType = type;
    memcpy(&said.payload, value, size);
    nvtxMarkEx(&said);
}

static void payloads(void) {
    open_gpu();
    uint64_t u64 = 1ull << 40;
    int64_t i64 = -3;
    double d = -0.0;
    uint32_t u32 = 4000000000u;
    int32_t i32 = -5;
    float f = 0.5f;
    payload(NVTX_PAYLOAD_TYPE_UNSIGNED_INT64, &u64, 8);
    payload(NVTX_PAYLOAD_TYPE_INT64, &i64, 8);
    payload(NVTX_PAYLOAD_TYPE_DOUBLE, &d, 8);
    payload(NVTX_PAYLOAD_TYPE_UNSIGNED_INT32, &u32, 4);
    payload(NVTX_PAYLOAD_TYPE_INT32, &i32, 4);
    payload(NVTX_PAYLOAD_TYPE_FLOAT, &f, 4);
    payload(0x7777, &u64, 8);
}

static void domains(void) {
    nvtxDomainHandle_t early = nvtxDomainCreateA("early");
    nvtxStringHandle_t kept = nvtxDomainRegisterStringA(early, "registered before");
    nvtxDomainRangePushEx(early, &(nvtxEventAttributes_t){0});
    nvtxRangePushA("before the context");
    open_gpu();
    nvtxEventAttributes_t said = saying(0);
    said.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    said.message.registered = kept;
    said.category = 3;
    nvtxDomainNameCategoryW(early, 3, L"third");
    printf("push %d\n", nvtxDomainRangePushEx(early, &said));
    nvtxDomainHandle_t late = nvtxDomainCreateW(L"late");
    said.message.registered = nvtxDomainRegisterStringW(late, L"registered after");
    printf("push %d\n", nvtxDomainRangePushEx(late, &said));
    advance(8);
    printf("pop %d\n", nvtxDomainRangePop(early));
    printf("pop %d\n", nvtxDomainRangePop(early));
    printf("pop %d\n", nvtxDomainRangePop(late));
    nvtxDomainMarkEx(late, &said);
    nvtxDomainRangeEnd(late, nvtxDomainRangeStartEx(late, &said));
    printf("same %d\n", nvtxDomainCreateA("late") == late);
    nvtxDomainDestroy(late);
    printf("pop %d\n", nvtxRangePop());
}

static void unbalanced(void) {
    open_gpu();
    printf("pop %d\n", nvtxRangePop());
    nvtxRangePushA("closed");
    advance(30);
    printf("pop %d\n", nvtxRangePop());
    printf("pop %d\n", nvtxRangePop());
    nvtxRangePushA("left open");
    nvtxRangePushA("left open inside");
    nvtxRangeStartA("never ended");
    nvtxRangeEnd(12345);
    advance(30);
}

static void garbage(void) {
    open_gpu();
    nvtxMarkA(0);
    nvtxMarkW(0);
    nvtxMarkEx(0);
    nvtxEventAttributes_t said = saying("never read");
    said.size = 0;
    nvtxMarkEx(&said);
    said = saying("of another version");
    said.version = 99;
    said.size = 4096;
    nvtxMarkEx(&said);
    said.messageType = 1234;
    nvtxMarkEx(&said);
    said.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    said.message.registered = (nvtxStringHandle_t)(uintptr_t)0x1234567;
    nvtxMarkEx(&said);
    nvtxDomainMarkEx((nvtxDomainHandle_t)(uintptr_t)0x1234567, &said);
    printf("pop %d\n", nvtxDomainRangePop((nvtxDomainHandle_t)(uintptr_t)0x1234567));
    nvtxDomainRegisterStringA(0, 0);
    nvtxDomainCreateA(0);
    nvtxNameCategoryA(1, 0);
    char text[4001];
    memset(text, 'x', 4000);
    memcpy(text + 1023, "\xc3\xbc", 2);
    text[4000] = 0;
    nvtxMarkA(text);
}

static void* in_a_thread(void* nothing) {
    (void)nothing;
    char text[32];
    for (int i = 0; i < kRangesPerThread; ++i) {
        snprintf(text, sizeof text, "piece %d", i % 3);
        nvtxRangePushA(text);
        nvtxRangePushA("deeper");
        nvtxRangePop();
        nvtxRangePop();
    }
    return 0;
}

static void threads(void) {
    open_gpu();
    pthread_t all[kThreads];
    for (int i = 0; i < kThreads; ++i) pthread_create(&all[i], 0, in_a_thread, 0);
    for (int i = 0; i < kThreads; ++i) pthread_join(all[i], 0);
}

static void many(void) {
    open_gpu();
    for (int i = 0; i < kMany; ++i) {
        nvtxRangePushA("one of many");
        nvtxRangePop();
        if (i % 1000 == 0) usleep(2000);
    }
}

static void forks(void) {
    nvtxDomainHandle_t domain = nvtxDomainCreateA("of the parent");
    open_gpu();
    nvtxRangePushA("in the parent");
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        nvtxRangePushA("not recorded: the child has no context");
        nvtxRangePop();
        execl("/proc/self/exe", "ranges", "all", (char*)0);
        _exit(8);
    }
    int status;
    waitpid(child, &status, 0);
    nvtxEventAttributes_t said = saying("after the fork");
    nvtxDomainMarkEx(domain, &said);
    printf("child %d pop %d\n", status, nvtxRangePop());
}

static void work(int step) {
    char text[32];
    snprintf(text, sizeof text, "%d", step);
    advance(100);
    nvtxRangePushA("work");
    nvtxMarkA(text);
    advance(900);
    nvtxRangePop();
}

static void steps(void) {
    open_gpu();
    char text[32];
    for (int i = 0; i < 3; ++i) {
        snprintf(text, sizeof text, "ProfilerStep#%d", i);
        nvtxRangePushA(text);
        work(i);
        nvtxRangePop();
    }
}

static void own_steps(void) {
    open_gpu();
    nvtxDomainHandle_t own = nvtxDomainCreateA("gpushim");
    nvtxEventAttributes_t step = saying("step");
    nvtxMarkEx(&step);
    for (int i = 0; i < 3; ++i) {
        nvtxRangeId_t id = 0;
        if (i == 1)
            id = nvtxDomainRangeStartEx(own, &step);
        else
            nvtxDomainMarkEx(own, &step);
        work(i);
        if (id) nvtxDomainRangeEnd(own, id);
    }
}

static void killed(void) {
    open_gpu();
    nvtxRangePushA("ended");
    nvtxRangePop();
    nvtxRangePushA("open when it was killed");
    raise(SIGKILL);
}

static void nothing(void) {
    const char* path = getenv("NVTX_INJECTION64_PATH");
    printf("%s\n", path ? path : "unset");
    printf("push %d\n", nvtxRangePushA("nobody records"));
}

int main(int count, char** words) {
    static const struct {
        const char* name;
        void (*go)(void);
    } ways[] = {
        {"all", every_function}, {"payloads", payloads},   {"domains", domains}, {"unbalanced", unbalanced},
        {"garbage", garbage},    {"threads", threads},     {"many", many},       {"forks", forks},
        {"steps", steps},        {"own_steps", own_steps}, {"killed", killed},   {"nothing", nothing}};
    for (size_t i = 0; count == 2 && i < sizeof ways / sizeof *ways; ++i)
        if (strcmp(ways[i].name, words[1]) == 0) return ways[i].go(), 0;
    return 2;
}
