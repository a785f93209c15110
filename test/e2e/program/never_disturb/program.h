// What the scenarios of program.c stand on: a context, a kernel, memory, and how to say what a call answered.
#pragma once

#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SAY(call) printf("%s: %d\n", #call, (int)(call))
#define MUST(call)                                                   \
    do {                                                             \
        const int failed = (int)(call);                              \
        if (failed != 0) printf("%s: %d\n", #call, failed), exit(9); \
    } while (0)

enum { kBytes = 4096 };

extern CUcontext context;
extern CUfunction function;
extern CUdeviceptr memory;
extern char* pinned;

int launch(CUstream stream);
CUfunction kernel(const char* name);
CUstream stream_with(unsigned flags);
void operations(CUstream stream, char byte);
void say_bytes(char byte);
void say_graph(CUgraph graph);
// Where somebody makes events beside the program: until he has made some for the current context, and records
// them around launches.
void wait_for_company(CUstream stream);

void capture(void);
void beside(void);
void legacy(void);
void unsafe(void);
void answers(void);
void refused(void);
void fault(void);
void ends(void);
void resets(void);
void devices(void);
void newer(void);
void newer_forms(void);
void hidden(void);
