/* Authentication of packets: a sealed packet opens only with the right key and unchanged. */
#include "unit/unit.h"

#include "fabric/udp/guard.h"

enum { NODES = 5, INCARNATION = 9, BODY_BYTES = 200, BYTES = WIRE_OVERHEAD_BYTES + BODY_BYTES };

static const unsigned char secret[32] = "a secret of thirty-two bytes...";

/* Every way to guard, except those that this CPU cannot do. */
static const struct way {
    enum udp_cipher cipher;
    bool encrypt;
} ways[] = {
    {UDP_CIPHER_AES_256_GCM, false},
    {UDP_CIPHER_AES_256_GCM, true},
    {UDP_CIPHER_CHACHA20, false},
    {UDP_CIPHER_CHACHA20, true},
};

static const struct way *next_way(const struct way *way)
{
    way = way ? way + 1 : ways;
    while (way < ways + sizeof ways / sizeof ways[0] && !udp_cipher_is_possible(way->cipher)) {
        way++;
    }
    return way < ways + sizeof ways / sizeof ways[0] ? way : NULL;
}

static struct udp_guard_config config_of(const struct way *way, uint16_t node)
{
    return (struct udp_guard_config){
        .cipher = way->cipher,
        .encrypt = way->encrypt,
        .node_count = NODES,
        .incarnation = INCARNATION,
        .node = node,
        .secret = secret,
    };
}

static struct udp_guard *make_by(const struct udp_guard_config *config)
{
    struct udp_guard *guard = NULL;
    assert_int_equal(udp_guard_make(config, &guard), 0);
    return guard;
}

static struct udp_guard *make(const struct way *way, uint16_t node)
{
    struct udp_guard_config config = config_of(way, node);
    return make_by(&config);
}

static struct wire_header header_of(uint16_t source, uint32_t body_bytes)
{
    return (struct wire_header){
        .kind = WIRE_UD,
        .source = source,
        .target = 4,
        .pgid = 77,
        .source_incarnation = INCARNATION,
        .target_incarnation = INCARNATION,
        .body_bytes = (uint16_t)body_bytes,
        .counter = UINT64_C(0x123456789a),
    };
}

static void fill(const struct wire_header *header, unsigned char *packet, uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes; i++) {
        packet[i] = (unsigned char)(i * 37);
    }
    wire_header_encode(header, packet);
}

static void seal(struct udp_guard *guard, const struct wire_header *header, unsigned char *packet,
                 uint32_t bytes)
{
    struct swif_guard hooks = udp_guard_hooks(guard);
    hooks.seal(hooks.context, header, packet, bytes);
}

/* Like swif, uses the header that the bytes say. */
static bool opens(struct udp_guard *guard, unsigned char *packet, uint32_t bytes)
{
    struct swif_guard hooks = udp_guard_hooks(guard);
    struct wire_header header;
    return wire_header_decode(packet, bytes, &header) &&
           hooks.open(hooks.context, &header, packet, bytes);
}

static void what_was_sealed_opens_as_it_was(void **state)
{
    (void)state;
    for (const struct way *way = next_way(NULL); way; way = next_way(way)) {
        struct udp_guard *sender = make(way, 3);
        struct udp_guard *receiver = make(way, 4);
        static unsigned char packet[WIRE_PACKET_BYTES_MAX], before[WIRE_PACKET_BYTES_MAX];
        for (uint32_t bytes = WIRE_OVERHEAD_BYTES + 8; bytes <= WIRE_PACKET_BYTES_MAX;
             bytes += bytes < 600 ? 8 : 8 * 41) {
            struct wire_header header = header_of(3, bytes - WIRE_OVERHEAD_BYTES);
            fill(&header, packet, bytes);
            memcpy(before, packet, bytes);
            seal(sender, &header, packet, bytes);
            assert_memory_equal(packet, before, WIRE_PREFIX_BYTES);
            assert_true(opens(receiver, packet, bytes));
            assert_memory_equal(packet, before, bytes - WIRE_TAG_BYTES);
        }
        udp_guard_free(sender);
        udp_guard_free(receiver);
    }
}

static void every_changed_bit_is_noticed(void **state)
{
    (void)state;
    for (const struct way *way = next_way(NULL); way; way = next_way(way)) {
        struct udp_guard *sender = make(way, 3);
        struct udp_guard *receiver = make(way, 4);
        struct swif_guard hooks = udp_guard_hooks(receiver);
        struct wire_header header = header_of(3, BODY_BYTES);
        unsigned char packet[BYTES], sealed[BYTES];
        fill(&header, sealed, BYTES);
        seal(sender, &header, sealed, BYTES);
        for (unsigned bit = 0; bit < 8 * BYTES; bit++) {
            memcpy(packet, sealed, BYTES);
            packet[bit / 8] ^= (unsigned char)(1u << bit % 8);
            assert_false(opens(receiver, packet, BYTES));
            /* The header as it was must not open it either, where the decoder would not see the
             * change. */
            memcpy(packet, sealed, BYTES);
            packet[bit / 8] ^= (unsigned char)(1u << bit % 8);
            assert_false(hooks.open(hooks.context, &header, packet, BYTES));
        }
        assert_true(opens(receiver, sealed, BYTES));
        udp_guard_free(sender);
        udp_guard_free(receiver);
    }
}

static void a_shorter_or_longer_packet_is_noticed(void **state)
{
    (void)state;
    for (const struct way *way = next_way(NULL); way; way = next_way(way)) {
        struct udp_guard *sender = make(way, 3);
        struct udp_guard *receiver = make(way, 4);
        struct swif_guard hooks = udp_guard_hooks(receiver);
        struct wire_header header = header_of(3, BODY_BYTES);
        unsigned char packet[BYTES + 40], sealed[BYTES + 40] = {0};
        fill(&header, sealed, BYTES);
        seal(sender, &header, sealed, BYTES);
        for (uint32_t bytes = 0; bytes <= sizeof packet; bytes++) {
            memcpy(packet, sealed, sizeof packet);
            assert_true(hooks.open(hooks.context, &header, packet, bytes) == (bytes == BYTES));
        }
        udp_guard_free(sender);
        udp_guard_free(receiver);
    }
}

/* Seals as the config says, and tells whether node 4 of the true group believes it. */
static bool is_believed(const struct way *way, const struct udp_guard_config *sealer,
                        uint16_t claimed_rank, uint32_t claimed_incarnation)
{
    struct udp_guard *stranger = make_by(sealer);
    struct udp_guard *receiver = make(way, 4);
    udp_guard_expect(receiver, 3, INCARNATION);
    struct wire_header header = header_of(sealer->node, BODY_BYTES);
    header.source_incarnation = sealer->incarnation;
    unsigned char packet[BYTES];
    fill(&header, packet, BYTES);
    /* The bytes already say what is claimed; the tag is made with the sealer's key. */
    struct wire_header claimed = header;
    claimed.source = claimed_rank;
    claimed.source_incarnation = claimed_incarnation;
    wire_header_encode(&claimed, packet);
    seal(stranger, &header, packet, BYTES);
    bool believed = opens(receiver, packet, BYTES);
    udp_guard_free(stranger);
    udp_guard_free(receiver);
    return believed;
}

static void nobody_speaks_for_another(void **state)
{
    (void)state;
    for (const struct way *way = next_way(NULL); way; way = next_way(way)) {
        struct udp_guard_config member = config_of(way, 3);
        assert_true(is_believed(way, &member, 3, INCARNATION));
        assert_false(is_believed(way, &member, 2, INCARNATION));
        assert_false(is_believed(way, &member, 4, INCARNATION)); /* the receiver itself */
        assert_false(is_believed(way, &member, 3, INCARNATION + 1));

        struct udp_guard_config former = member;
        former.incarnation = INCARNATION - 1;
        assert_false(is_believed(way, &former, 3, INCARNATION - 1));
        assert_false(is_believed(way, &former, 3, INCARNATION));

        struct udp_guard_config supernumerary = member;
        supernumerary.node_count = NODES + 3;
        supernumerary.node = NODES + 2;
        assert_false(is_believed(way, &supernumerary, NODES + 2, INCARNATION));
        assert_false(is_believed(way, &member, WIRE_NODES_MAX - 1, INCARNATION));

        for (unsigned bit = 0; bit < 8 * sizeof secret; bit += 17) {
            unsigned char other[sizeof secret];
            memcpy(other, secret, sizeof secret);
            other[bit / 8] ^= (unsigned char)(1u << bit % 8);
            struct udp_guard_config stranger = member;
            stranger.secret = other;
            assert_false(is_believed(way, &stranger, 3, INCARNATION));
        }
    }
}

/* A packet of that incarnation of rank 3, sealed by a process that has the secret. */
static void make_packet(const struct way *way, uint32_t incarnation, unsigned char *packet)
{
    struct udp_guard_config config = config_of(way, 3);
    config.incarnation = incarnation;
    struct udp_guard *sender = make_by(&config);
    struct wire_header header = header_of(3, BODY_BYTES);
    header.source_incarnation = incarnation;
    fill(&header, packet, BYTES);
    seal(sender, &header, packet, BYTES);
    udp_guard_free(sender);
}

static bool takes(struct udp_guard *receiver, const unsigned char *sealed)
{
    unsigned char packet[BYTES];
    memcpy(packet, sealed, BYTES);
    return opens(receiver, packet, BYTES);
}

/* Strangers name any incarnation before the rank's own first packet comes, and none of it counts.
 * A second process in the rank is not believed, though it has the secret. */
static void the_first_incarnation_that_proves_itself_is_the_ranks(void **state)
{
    (void)state;
    for (const struct way *way = next_way(NULL); way; way = next_way(way)) {
        struct udp_guard *receiver = make(way, 4);
        unsigned char first[BYTES], second[BYTES];
        make_packet(way, INCARNATION, first);
        make_packet(way, INCARNATION + 5, second);
        for (uint32_t i = 0; i < 1000; i++) {
            unsigned char forged[BYTES];
            memcpy(forged, first, BYTES);
            wire_put32(forged + 12, INCARNATION + i);
            forged[BYTES - 1] ^= 1;
            assert_false(takes(receiver, forged));
        }
        assert_true(takes(receiver, first));
        assert_false(takes(receiver, second));
        udp_guard_expect(receiver, 3, INCARNATION + 5); /* too late */
        assert_false(takes(receiver, second));
        assert_true(takes(receiver, first));
        udp_guard_free(receiver);
    }
}

static void an_incarnation_that_was_told_is_the_ranks(void **state)
{
    (void)state;
    for (const struct way *way = next_way(NULL); way; way = next_way(way)) {
        struct udp_guard *receiver = make(way, 4);
        unsigned char first[BYTES], second[BYTES], forged[BYTES];
        make_packet(way, INCARNATION, first);
        make_packet(way, INCARNATION + 5, second);
        memcpy(forged, second, BYTES);
        forged[BYTES - 1] ^= 1;
        assert_false(takes(receiver, forged)); /* there is a key for another one now */
        udp_guard_expect(receiver, 3, INCARNATION);
        assert_false(takes(receiver, second));
        assert_true(takes(receiver, first));
        udp_guard_free(receiver);
    }
}

static void ways_do_not_mix(void **state)
{
    (void)state;
    for (const struct way *one = next_way(NULL); one; one = next_way(one)) {
        for (const struct way *other = next_way(NULL); other; other = next_way(other)) {
            struct udp_guard_config config = config_of(other, 3);
            assert_true(is_believed(one, &config, 3, INCARNATION) == (one == other));
        }
    }
}

static bool contains(const unsigned char *where, size_t where_bytes, const unsigned char *what,
                     size_t what_bytes)
{
    for (size_t at = 0; at + what_bytes <= where_bytes; at++) {
        if (memcmp(where + at, what, what_bytes) == 0) {
            return true;
        }
    }
    return false;
}

static void encryption_hides_the_body_and_nothing_else_does(void **state)
{
    (void)state;
    for (const struct way *way = next_way(NULL); way; way = next_way(way)) {
        struct udp_guard *sender = make(way, 3);
        struct wire_header header = header_of(3, BODY_BYTES);
        unsigned char packet[BYTES], body[BODY_BYTES];
        fill(&header, packet, BYTES);
        memcpy(body, packet + WIRE_PREFIX_BYTES, BODY_BYTES);
        seal(sender, &header, packet, BYTES);
        if (way->encrypt) {
            for (unsigned at = 0; at + 4 <= BODY_BYTES; at++) {
                assert_false(contains(packet, BYTES, body + at, 4));
            }
        } else {
            assert_memory_equal(packet + WIRE_PREFIX_BYTES, body, BODY_BYTES);
        }
        udp_guard_free(sender);
    }
}

/* The same content is sealed differently by another sender, in another life and with another
 * counter: equal counters of different senders are not a repeated nonce. */
static void no_two_packets_look_alike(void **state)
{
    (void)state;
    for (const struct way *way = next_way(NULL); way; way = next_way(way)) {
        enum { VARIANTS = 4, HIDDEN_BYTES = BYTES - WIRE_PREFIX_BYTES };
        unsigned char seen[VARIANTS][HIDDEN_BYTES];
        for (unsigned variant = 0; variant < VARIANTS; variant++) {
            struct udp_guard_config config = config_of(way, variant == 1 ? 2 : 3);
            config.incarnation += variant == 2;
            struct udp_guard *sender = make_by(&config);
            struct wire_header header = header_of(config.node, BODY_BYTES);
            header.source_incarnation = config.incarnation;
            header.counter += variant == 3 ? UINT64_C(1) << 63 : 0;
            unsigned char packet[BYTES];
            fill(&header, packet, BYTES);
            /* Only keys and nonces differ, not the authenticated bytes. */
            struct wire_header same = header_of(3, BODY_BYTES);
            same.counter = header.counter;
            wire_header_encode(&same, packet);
            seal(sender, &header, packet, BYTES);
            memcpy(seen[variant], packet + WIRE_PREFIX_BYTES, HIDDEN_BYTES);
            udp_guard_free(sender);
        }
        for (unsigned one = 0; one < VARIANTS; one++) {
            for (unsigned other = 0; other < one; other++) {
                size_t from = way->encrypt ? 0 : BODY_BYTES;
                for (size_t at = from; at + 8 <= HIDDEN_BYTES; at += 8) {
                    assert_memory_not_equal(seen[one] + at, seen[other] + at, 8);
                }
            }
        }
    }
}

/* Computed by other implementations (Python's hashlib, OpenSSL's ciphers). Hosts with different
 * builds understand each other only as long as this stays the same. */
static void the_bytes_on_the_wire_stay(void **state)
{
    (void)state;
    static const unsigned char tags[][WIRE_TAG_BYTES] = {
        {0x20, 0x84, 0x99, 0x9b, 0x9f, 0x7f, 0xc4, 0x42, 0x99, 0x1e, 0x28, 0x8e, 0x95, 0xc8, 0x0d,
         0xb3},
        {0xb8, 0x7b, 0x5c, 0xbf, 0x56, 0x4e, 0x75, 0x90, 0x9a, 0x89, 0xa5, 0x09, 0x2c, 0x01, 0xfb,
         0xe1},
        {0x28, 0xb7, 0x0a, 0x84, 0x23, 0x39, 0x70, 0x11, 0x77, 0x59, 0x07, 0x45, 0xd6, 0x8f, 0x34,
         0x83},
        {0x2f, 0x4f, 0xa2, 0xb1, 0x87, 0x36, 0x69, 0x75, 0xdd, 0x64, 0x13, 0x76, 0xac, 0x8a, 0xbd,
         0x4d},
    };
    for (const struct way *way = next_way(NULL); way; way = next_way(way)) {
        struct udp_guard *sender = make(way, 3);
        struct wire_header header = header_of(3, BODY_BYTES);
        unsigned char packet[BYTES];
        fill(&header, packet, BYTES);
        seal(sender, &header, packet, BYTES);
        assert_memory_equal(packet + BYTES - WIRE_TAG_BYTES, tags[way - ways], WIRE_TAG_BYTES);
        udp_guard_free(sender);
    }
}

static void what_cannot_be_done_is_refused(void **state)
{
    (void)state;
    struct udp_guard *guard = NULL;
    struct way none = {UDP_CIPHER_NONE, false};
    struct udp_guard_config config = config_of(&none, 3);
    assert_int_equal(udp_guard_make(&config, &guard), DN_EVERSION);
    config.cipher = (enum udp_cipher)77;
    assert_int_equal(udp_guard_make(&config, &guard), DN_EVERSION);
    if (!udp_cipher_is_possible(UDP_CIPHER_AES_256_GCM)) {
        config.cipher = UDP_CIPHER_AES_256_GCM;
        assert_int_equal(udp_guard_make(&config, &guard), DN_EVERSION);
    }
    assert_null(guard);
    udp_guard_free(NULL);

    assert_true(udp_cipher_is_possible(UDP_CIPHER_CHACHA20));
    assert_true(udp_cipher_is_possible(udp_cipher_best()));
    assert_string_equal(udp_cipher_name(UDP_CIPHER_AES_256_GCM), "AES-256-GCM");
    assert_string_equal(udp_cipher_name(UDP_CIPHER_CHACHA20), "ChaCha20-Poly1305");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_sealed_opens_as_it_was),
        cmocka_unit_test(every_changed_bit_is_noticed),
        cmocka_unit_test(a_shorter_or_longer_packet_is_noticed),
        cmocka_unit_test(nobody_speaks_for_another),
        cmocka_unit_test(the_first_incarnation_that_proves_itself_is_the_ranks),
        cmocka_unit_test(an_incarnation_that_was_told_is_the_ranks),
        cmocka_unit_test(ways_do_not_mix),
        cmocka_unit_test(encryption_hides_the_body_and_nothing_else_does),
        cmocka_unit_test(no_two_packets_look_alike),
        cmocka_unit_test(the_bytes_on_the_wire_stay),
        cmocka_unit_test(what_cannot_be_done_is_refused),
    };
    return cmocka_run_group_tests_name("fabric/udp/guard", tests, NULL, NULL);
}
