/* Any bytes as attributes of management: what is decoded and encoded again stays the same, and
 * nothing appears that was not there. The first byte chooses the attribute. */
#include "fuzz.h"
#include "wire/ib_performance.h"
#include "wire/ib_subnet.h"

enum { ATTRIBUTE_BYTES = WIRE_IB_PERFORMANCE_BYTES };

#define TRY(type, bytes)                                  \
    do {                                                  \
        struct type one = {0};                            \
        type##_decode(data, &one);                        \
        memset(again, 0xff, sizeof again);                \
        type##_encode(&one, again);                       \
        for (size_t i = 0; i < (bytes); i++) {            \
            FUZZ_ASSERT((again[i] & ~data[i]) == 0);      \
        }                                                 \
        struct type two = {0};                            \
        type##_decode(again, &two);                       \
        FUZZ_ASSERT(memcmp(&one, &two, sizeof one) == 0); \
    } while (0)

static void try_notice(const unsigned char *data)
{
    struct wire_ib_notice notice;
    struct wire_ib_notice again;
    unsigned char bytes[WIRE_MAD_DATA_BYTES];
    wire_ib_notice_decode(data, &notice);
    wire_ib_notice_encode(&notice, bytes);
    wire_ib_notice_decode(bytes, &again);
    FUZZ_ASSERT(memcmp(&notice, &again, sizeof notice) == 0);
}

static void try_header(const unsigned char *data)
{
    struct wire_mad mad;
    unsigned char again[WIRE_MAD_AT_MKEY];
    wire_mad_decode(data, &mad);
    wire_mad_encode(&mad, again);
    FUZZ_ASSERT(memcmp(data, again, 18) == 0 && memcmp(data + 20, again + 20, 4) == 0);
    (void)wire_mad_class_name(mad.class);
    (void)wire_mad_method_name(mad.method);
    (void)wire_mad_attribute_name(mad.class, mad.attribute);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t bytes)
{
    static unsigned char again[ATTRIBUTE_BYTES];
    if (bytes < 1 + ATTRIBUTE_BYTES) {
        return 0;
    }
    unsigned char *data = fuzz_copy(input + 1, ATTRIBUTE_BYTES);
    switch (input[0] % 9) {
    case 0: TRY(wire_ib_node_info, WIRE_MAD_DATA_BYTES); break;
    case 1: TRY(wire_ib_switch_info, WIRE_MAD_DATA_BYTES); break;
    case 2: TRY(wire_ib_port_info, WIRE_MAD_DATA_BYTES); break;
    case 3: TRY(wire_ib_sm_info, WIRE_MAD_DATA_BYTES); break;
    case 4: TRY(wire_ib_class_port_info, ATTRIBUTE_BYTES); break;
    case 5: TRY(wire_ib_port_counters, ATTRIBUTE_BYTES); break;
    case 6: TRY(wire_ib_port_counters_extended, ATTRIBUTE_BYTES); break;
    case 7: try_notice(data); break;
    default: try_header(data); break;
    }
    free(data);
    return 0;
}
