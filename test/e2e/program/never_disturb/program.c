// What a program can see of the driver around its operations: results of calls, nodes of graphs, bytes,
// memory that is free, its own events and its current context. One scenario per run; a line for each thing
// seen.
#include "program.h"

#include <string.h>

enum { kPoolEvents = 100 };
CUcontext context;
CUfunction function;
CUdeviceptr memory;
char* pinned;

int launch(CUstream stream) { return cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, 0, 0); }

CUfunction kernel(const char* name) {
    CUmodule module;
    CUfunction made;
    MUST(cuModuleLoadData(&module, "an image"));
    MUST(cuModuleGetFunction(&made, module, name));
    return made;
}

// How often the driver was asked for something, by whomever.
static unsigned long calls_of(const char* name) {
    char path[512];
    struct {
        char name[72];
        unsigned long entered, returned, nested;
    } record;
    unsigned long found = 0;
    snprintf(path, sizeof path, "%s.counts", getenv("GPUSIM_TRUTH"));
    FILE* counts = fopen(path, "r");
    while (counts != 0 && fread(&record, sizeof record, 1, counts) == 1 && record.name[0] != 0)
        if (strcmp(record.name, name) == 0) found = record.entered;
    if (counts != 0) fclose(counts);
    return found;
}

void wait_for_company(CUstream stream) {
    const unsigned long before = calls_of("cuEventCreate");
    if (getenv("COMPANY") == 0) return;
    for (int i = 0; i < 5000 && calls_of("cuEventCreate") < before + kPoolEvents; ++i) {
        if (i % 10 == 0) launch(stream);
        usleep(1000);
    }
    for (int i = 0, seen = 0; i < 300 && seen < 3; ++i) {
        const unsigned long records = calls_of("cuEventRecord");
        launch(stream);
        seen = calls_of("cuEventRecord") > records ? seen + 1 : 0;
        usleep(1000);
    }
}

static void start(void) {
    MUST(cuInit(0));
    MUST(cuDevicePrimaryCtxRetain(&context, 0));
    MUST(cuCtxSetCurrent(context));
    function = kernel("work__20us");
    MUST(cuMemAlloc(&memory, kBytes));
    MUST(cuMemHostAlloc((void**)&pinned, kBytes, 0));
    wait_for_company(0);
}

CUstream stream_with(unsigned flags) {
    CUstream stream;
    MUST(cuStreamCreate(&stream, flags));
    return stream;
}

void say_graph(CUgraph graph) {
    CUgraphNode nodes[64];
    size_t count = 64, edges = 0;
    SAY(cuGraphGetNodes(graph, nodes, &count));
    SAY(cuGraphGetEdges(graph, 0, 0, 0, &edges));
    printf("nodes %zu edges %zu:", count, edges);
    for (size_t i = 0; i < count; ++i) {
        CUgraphNodeType type;
        MUST(cuGraphNodeGetType(nodes[i], &type));
        printf(" %d", (int)type);
    }
    puts("");
}

void operations(CUstream stream, char byte) {
    SAY(cuMemsetD8Async(memory, (unsigned char)byte, kBytes, stream));
    SAY(launch(stream));
    SAY(cuMemcpyDtoHAsync(pinned, memory, kBytes, stream));
    SAY(launch(stream));
}

void say_bytes(char byte) {
    int wrong = 0;
    for (int i = 0; i < kBytes; ++i) wrong += pinned[i] != byte;
    printf("wrong bytes: %d\n", wrong);
}

int main(int count, char** words) {
    static const struct {
        const char* name;
        void (*run)(void);
    } scenarios[] = {
        {"capture", capture},        {"beside", beside},   {"legacy", legacy}, {"unsafe", unsafe},
        {"answers", answers},        {"refused", refused}, {"fault", fault},   {"ends", ends},
        {"resets", resets},          {"devices", devices}, {"newer", newer},   {"hidden", hidden},
        {"newer_forms", newer_forms}};
    if (count != 2) return 1;
    start();
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; ++i) {
        if (strcmp(words[1], scenarios[i].name) != 0) continue;
        scenarios[i].run();
        if (getenv("COMPANY") != 0) usleep(300000);  // until the last of it was looked at
        return puts("done"), 0;
    }
    return 2;
}
