// Names ranges and marks by NVTX 3, as its header has it, and prints what the calls return.
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>

int main(void) {
    printf("%d\n", nvtxRangePushA("outer"));
    printf("%d\n", nvtxRangePushA("inner"));
    nvtxMarkA("a mark");
    printf("%d\n", nvtxRangePop());
    printf("%d\n", nvtxRangePop());
    printf("%d\n", nvtxRangePop());
    const nvtxRangeId_t range = nvtxRangeStartA("across threads");
    nvtxRangeEnd(range);
    nvtxDomainHandle_t domain = nvtxDomainCreateA("a domain");
    nvtxEventAttributes_t words = {0};
    words.version = NVTX_VERSION;
    words.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    words.messageType = NVTX_MESSAGE_TYPE_ASCII;
    words.message.ascii = "in the domain";
    printf("%d\n", nvtxDomainRangePushEx(domain, &words));
    printf("%d\n", nvtxDomainRangePop(domain));
    printf("%d\n", nvtxDomainRegisterStringA(domain, "a text") != NULL);
    nvtxNameOsThreadA(1, "a thread");
    nvtxDomainDestroy(domain);
    return 0;
}
