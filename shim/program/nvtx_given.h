// What a call of NVTX was given, read without trust: texts of three kinds, bounded and in UTF-8; attributes
// of any version; handles, which may be none of ours. Any thread.
#pragma once

#include "nvtx_texts.h"

#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>

namespace gpushim::shim {

constexpr size_t kLongest = 1024;  // bytes of a text that are kept
constexpr size_t kLongestDomain = 120;
constexpr size_t kMostDomains = 64;
constexpr size_t kMostStrings = 4096;

using Room = char[kLongest];  // for what has to be encoded

NvtxText text_of(const char* text, size_t most = kLongest);
NvtxText text_of(const wchar_t* text, Room& room);

struct Said {
    NvtxText text;
    uint32_t category;
    bool has_payload;
    double payload;
};
Said said(const nvtxEventAttributes_t* attributes, Room& room);

// Domains have numbers: their place in the table, then those that found none, then the default one.
constexpr size_t kUnknownDomain = kMostDomains;
constexpr size_t kDefaultDomain = kMostDomains + 1;
constexpr size_t kDomains = kMostDomains + 2;
size_t domain_of(nvtxDomainHandle_t handle);
NvtxText name_of_domain(size_t domain);  // of the default one: none

nvtxDomainHandle_t domain_named(NvtxText text);
nvtxStringHandle_t registered(NvtxText text);

}  // namespace gpushim::shim
