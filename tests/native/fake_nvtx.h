/* The binary interface between a program that uses NVTX 3 and a library that is injected
 * into it, as the public NVTX headers have it: numbers of modules and functions, the
 * export table, and the attributes of an event.
 *
 * A program holds a slot for each function.  InitializeInjectionNvtx2 gets a function that
 * leads to these slots and puts its own functions there; what it leaves becomes NULL. */
#ifndef FAKE_NVTX_H
#define FAKE_NVTX_H

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

enum { NVTX_ETID_CALLBACKS = 1, NVTX_ETID_VERSIONINFO = 3 };
enum { NVTX_MODULE_CORE = 1, NVTX_MODULE_CORE2 = 5 };
enum { NVTX_MESSAGE_ASCII = 1, NVTX_MESSAGE_UNICODE = 2, NVTX_MESSAGE_REGISTERED = 3 };
enum { NVTX_COLOR_ARGB = 1 };
enum { NVTX_PAYLOAD_INT64 = 2 };

typedef void (*nvtx_function)(void);
typedef nvtx_function **nvtx_table; /* array of pointers to the slots; entry 0 is NULL */

struct nvtx_callbacks {
    size_t struct_size;
    int (*get_module_function_table)(int module, nvtx_table *table, unsigned *size);
};
struct nvtx_version_info {
    size_t struct_size;
    uint32_t version, reserved0;
    void (*set_injection_version)(uint32_t version);
};
typedef const void *(*nvtx_get_export_table)(uint32_t id);

struct nvtx_attributes {
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved0;
    uint64_t payload;
    int32_t message_type;
    union {
        const char *ascii;
        const wchar_t *unicode;
        void *registered; /* what nvtxDomainRegisterStringA answered */
    } message;
};
typedef uint64_t nvtx_range;
typedef const struct nvtx_attributes *nvtx_event;
typedef void *nvtx_domain, *nvtx_string;

/* F(number, name, result, parameters, arguments) */
#define NVTX_CORE_FUNCTIONS(F)                                                                     \
    F(1, MarkEx, void, (nvtx_event event), (event))                                                \
    F(2, MarkA, void, (const char *text), (text))                                                  \
    F(3, MarkW, void, (const wchar_t *text), (text))                                               \
    F(4, RangeStartEx, nvtx_range, (nvtx_event event), (event))                                    \
    F(5, RangeStartA, nvtx_range, (const char *text), (text))                                      \
    F(6, RangeStartW, nvtx_range, (const wchar_t *text), (text))                                   \
    F(7, RangeEnd, void, (nvtx_range range), (range))                                              \
    F(8, RangePushEx, int, (nvtx_event event), (event))                                            \
    F(9, RangePushA, int, (const char *text), (text))                                              \
    F(10, RangePushW, int, (const wchar_t *text), (text))                                          \
    F(11, RangePop, int, (void), ())                                                               \
    F(12, NameCategoryA, void, (uint32_t category, const char *text), (category, text))            \
    F(13, NameCategoryW, void, (uint32_t category, const wchar_t *text), (category, text))         \
    F(14, NameOsThreadA, void, (uint32_t thread, const char *text), (thread, text))                \
    F(15, NameOsThreadW, void, (uint32_t thread, const wchar_t *text), (thread, text))
#define NVTX_CORE2_FUNCTIONS(F)                                                                    \
    F(1, DomainMarkEx, void, (nvtx_domain domain, nvtx_event event), (domain, event))              \
    F(2, DomainRangeStartEx, nvtx_range, (nvtx_domain domain, nvtx_event event), (domain, event))  \
    F(3, DomainRangeEnd, void, (nvtx_domain domain, nvtx_range range), (domain, range))            \
    F(4, DomainRangePushEx, int, (nvtx_domain domain, nvtx_event event), (domain, event))          \
    F(5, DomainRangePop, int, (nvtx_domain domain), (domain))                                      \
    F(6, DomainResourceCreate, void *, (nvtx_domain domain, void *resource), (domain, resource))   \
    F(7, DomainResourceDestroy, void, (void *resource), (resource))                                \
    F(8, DomainNameCategoryA, void, (nvtx_domain domain, uint32_t category, const char *text),     \
      (domain, category, text))                                                                    \
    F(9, DomainNameCategoryW, void, (nvtx_domain domain, uint32_t category, const wchar_t *text),  \
      (domain, category, text))                                                                    \
    F(10, DomainRegisterStringA, nvtx_string, (nvtx_domain domain, const char *text),              \
      (domain, text))                                                                              \
    F(11, DomainRegisterStringW, nvtx_string, (nvtx_domain domain, const wchar_t *text),           \
      (domain, text))                                                                              \
    F(12, DomainCreateA, nvtx_domain, (const char *name), (name))                                  \
    F(13, DomainCreateW, nvtx_domain, (const wchar_t *name), (name))                               \
    F(14, DomainDestroy, void, (nvtx_domain domain), (domain))                                     \
    F(15, Initialize, void, (const void *reserved), (reserved))

#define NVTX_NUMBER(number, name, result, parameters, arguments) NVTX_##name = number,
enum { NVTX_CORE_FUNCTIONS(NVTX_NUMBER) NVTX_CORE_SIZE };
enum { NVTX_CORE2_FUNCTIONS(NVTX_NUMBER) NVTX_CORE2_SIZE };

#endif
