#include "nvtx_given.h"

namespace gpushim::shim {
namespace {

constexpr NvtxText kNotKnown = {"(name not known)", 16};

using Domains = NvtxTexts<kMostDomains, kLongestDomain>;
using Strings = NvtxTexts<kMostStrings, kLongest>;
constinit Domains domains = {};
constinit Strings strings = {};
// What the program gets for those that found no place.
constinit char one_too_many = 0;
static_assert(Domains::kNone == kUnknownDomain);

size_t encode(uint32_t point, char (&to)[4]) {
    if (point >= 0x110000 || (point >= 0xd800 && point < 0xe000)) point = 0xfffd;
    if (point < 0x80) {
        to[0] = static_cast<char>(point);
        return 1;
    }
    const size_t length = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    for (size_t i = length - 1; i > 0; --i, point >>= 6) to[i] = static_cast<char>(0x80 | (point & 0x3f));
    to[0] = static_cast<char>((0xf00 >> length & 0xf0) | point);
    return length;
}

// Structures of other versions are longer or shorter at the end; they say how long.
#define IS_THERE(member) \
    (given.size >= offsetof(nvtxEventAttributes_t, member) + sizeof(nvtxEventAttributes_t::member))

NvtxText message_of(const nvtxEventAttributes_t& given, Room& room) {
    if (!IS_THERE(message)) return {nullptr, 0};
    switch (given.messageType) {
        case NVTX_MESSAGE_TYPE_ASCII:
            return text_of(given.message.ascii);
        case NVTX_MESSAGE_TYPE_UNICODE:
            return text_of(given.message.unicode, room);
        case NVTX_MESSAGE_TYPE_REGISTERED: {
            if (given.message.registered == nullptr) return {nullptr, 0};
            const size_t index = strings.index_of_handle(given.message.registered);
            return index == Strings::kNone ? kNotKnown : strings.text(index);
        }
        default:
            return {nullptr, 0};
    }
}

bool payload_of(const nvtxEventAttributes_t& given, double& payload) {
    if (!IS_THERE(payload)) return false;
    switch (given.payloadType) {
        case NVTX_PAYLOAD_TYPE_UNSIGNED_INT64:
            payload = static_cast<double>(given.payload.ullValue);
            return true;
        case NVTX_PAYLOAD_TYPE_INT64:
            payload = static_cast<double>(given.payload.llValue);
            return true;
        case NVTX_PAYLOAD_TYPE_DOUBLE:
            payload = given.payload.dValue;
            return true;
        case NVTX_PAYLOAD_TYPE_UNSIGNED_INT32:
            payload = given.payload.uiValue;
            return true;
        case NVTX_PAYLOAD_TYPE_INT32:
            payload = given.payload.iValue;
            return true;
        case NVTX_PAYLOAD_TYPE_FLOAT:
            payload = static_cast<double>(given.payload.fValue);
            return true;
        default:
            return false;
    }
}

}  // namespace

// No more than `most` bytes, and no part of a character.
NvtxText text_of(const char* text, size_t most) {
    if (text == nullptr) return {nullptr, 0};
    size_t length = strnlen(text, most);
    if (length == most)
        for (int i = 0; i < 3 && (text[length] & 0xc0) == 0x80; ++i) --length;
    return {text, length};
}

// Wide texts as UTF-8, in the caller's room.
NvtxText text_of(const wchar_t* text, Room& room) {
    if (text == nullptr) return {nullptr, 0};
    size_t length = 0;
    for (; *text != L'\0'; ++text) {
        char bytes[4];
        const size_t more = encode(static_cast<uint32_t>(*text), bytes);
        if (length + more > kLongest) break;
        memcpy(room + length, bytes, more);
        length += more;
    }
    return {room, length};
}

size_t domain_of(nvtxDomainHandle_t handle) {
    return handle == nullptr ? kDefaultDomain : domains.index_of_handle(handle);
}

NvtxText name_of_domain(size_t domain) {
    if (domain == kDefaultDomain) return {nullptr, 0};
    return domain == kUnknownDomain ? kNotKnown : domains.text(domain);
}

Said said(const nvtxEventAttributes_t* attributes, Room& room) {
    Said said = {};
    if (attributes == nullptr) return said;
    const nvtxEventAttributes_t& given = *attributes;
    said.text = message_of(given, room);
    said.category = IS_THERE(category) ? given.category : 0;
    said.has_payload = payload_of(given, said.payload);
    return said;
}

nvtxStringHandle_t registered(NvtxText text) {
    void* handle = strings.handle(strings.index_of(text));
    return static_cast<nvtxStringHandle_t>(handle != nullptr ? handle : &one_too_many);
}

nvtxDomainHandle_t domain_named(NvtxText text) {
    void* handle = domains.handle(domains.index_of(text));
    return static_cast<nvtxDomainHandle_t>(handle != nullptr ? handle : &one_too_many);
}

}  // namespace gpushim::shim
