/* Keys from the group's secret, tags over packets.
 *
 * A nonce is the packet's counter alone: it is unique under its key, because every process has a
 * key of its own. The key also depends on the cipher and on
 * whether packets are encrypted, so that no key is ever used in two ways. */
#include "fabric/udp/guard.h"

#include <sodium.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "base/secret.h"
#include "fabric/udp/vault.h"

enum { KEY_BYTES = 32, NONCE_BYTES = 12, STACK_BYTES = 6144, CIPHER_STACK_BYTES = 1536 };
_Static_assert(KEY_BYTES == crypto_aead_aes256gcm_KEYBYTES &&
                   KEY_BYTES == crypto_aead_chacha20poly1305_ietf_KEYBYTES &&
                   KEY_BYTES >= crypto_generichash_BYTES_MIN &&
                   KEY_BYTES <= crypto_generichash_KEYBYTES_MAX,
               "one size of key for everything");
_Static_assert(NONCE_BYTES == crypto_aead_aes256gcm_NPUBBYTES &&
                   NONCE_BYTES == crypto_aead_chacha20poly1305_ietf_NPUBBYTES,
               "both ciphers take the same nonce");
_Static_assert(WIRE_TAG_BYTES == crypto_aead_aes256gcm_ABYTES &&
                   WIRE_TAG_BYTES == crypto_aead_chacha20poly1305_ietf_ABYTES,
               "both ciphers make the wire's tag");

/* What one sender's packets are sealed and opened with. */
struct sender_key {
    alignas(CACHE_LINE_BYTES) union {
        crypto_aead_aes256gcm_state aes; /* round keys and powers of the hash key */
        unsigned char chacha20[KEY_BYTES];
    } with;
};

struct sender {
    struct sender_key *key; /* NULL until the rank's first packet */
    uint32_t incarnation;   /* that the key is of */
    bool is_known;          /* this incarnation is the rank's, and no other one */
};

struct udp_guard {
    struct udp_guard_config config; /* its secret is in the vault, for keys of peers to come */
    struct udp_vault vault;         /* of the secret and the keys */
    struct sender senders[];        /* by rank */
};

/* ---- Ciphers ---------------------------------------------------------------------- */

bool udp_cipher_is_possible(enum udp_cipher cipher)
{
    /* sodium_init gives 1 if anybody has called it before. What the CPU can do is only known
     * after it. */
    if (sodium_init() < 0) {
        return false;
    }
    return cipher == UDP_CIPHER_CHACHA20 ||
           (cipher == UDP_CIPHER_AES_256_GCM && crypto_aead_aes256gcm_is_available());
}

enum udp_cipher udp_cipher_best(void)
{
    return udp_cipher_is_possible(UDP_CIPHER_AES_256_GCM) ? UDP_CIPHER_AES_256_GCM
                                                          : UDP_CIPHER_CHACHA20;
}

const char *udp_cipher_name(enum udp_cipher cipher)
{
    switch (cipher) {
    case UDP_CIPHER_NONE: return "none";
    case UDP_CIPHER_AES_256_GCM: return "AES-256-GCM";
    case UDP_CIPHER_CHACHA20: return "ChaCha20-Poly1305";
    }
    return "unknown";
}

/* The dynamic linker looks up a function when it is first called, and saves the vector registers on
 * the stack meanwhile. The ciphers call others while parts of keys are in these registers, so the
 * first calls are made with a key that nobody uses. */
static void rehearse(enum udp_cipher cipher)
{
    static const unsigned char key[KEY_BYTES];
    static const unsigned char nonce[NONCE_BYTES];
    unsigned char text[KEY_BYTES] = {0};
    unsigned char tag[WIRE_TAG_BYTES];
    int fault;
    if (cipher == UDP_CIPHER_AES_256_GCM) {
        crypto_aead_aes256gcm_state state;
        (void)crypto_aead_aes256gcm_beforenm(&state, key);
        (void)crypto_aead_aes256gcm_encrypt_detached_afternm(text, tag, NULL, text, sizeof text,
                                                             key, sizeof key, NULL, nonce, &state);
        fault = crypto_aead_aes256gcm_decrypt_detached_afternm(text, NULL, text, sizeof text, tag,
                                                               key, sizeof key, nonce, &state);
    } else {
        (void)crypto_aead_chacha20poly1305_ietf_encrypt_detached(text, tag, NULL, text, sizeof text,
                                                                 key, sizeof key, NULL, nonce, key);
        fault = crypto_aead_chacha20poly1305_ietf_decrypt_detached(
            text, NULL, text, sizeof text, tag, key, sizeof key, nonce, key);
    }
    INVARIANT(!fault);
}

/* And they leave parts of keys in these registers and on the stack. */
static inline void clear_traces(void)
{
#ifdef __x86_64__
#define CLEAR(number) "pxor %%xmm" #number ", %%xmm" #number "\n\t"
    __asm__ volatile(CLEAR(0) CLEAR(1) CLEAR(2) CLEAR(3) CLEAR(4) CLEAR(5) CLEAR(6) CLEAR(7) CLEAR(
                         8) CLEAR(9) CLEAR(10) CLEAR(11) CLEAR(12) CLEAR(13) CLEAR(14) CLEAR(15)::
                         : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8",
                           "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
#undef CLEAR
#endif
    sodium_stackzero(CIPHER_STACK_BYTES);
}

/* ---- Keys ------------------------------------------------------------------------- */

/* Makes the sender's key for its incarnation, in the place of one for another that nobody has
 * proved. */
static int derive(struct udp_guard *guard, uint16_t rank, struct sender *sender)
{
    struct sender_key *made = sender->key ? sender->key : udp_vault_take(&guard->vault);
    if (!made) {
        return DN_ENOMEM;
    }
    /* The first words keep these keys apart from others that may be derived from the same
     * secret. */
    unsigned char whose[32] = "DIMMnet packet key";
    wire_put16(whose + 20, rank);
    wire_put32(whose + 22, sender->incarnation);
    whose[26] = (unsigned char)guard->config.cipher;
    whose[27] = guard->config.encrypt;
    unsigned char key[KEY_BYTES];
    int fault = crypto_generichash(key, sizeof key, whose, sizeof whose, guard->config.secret,
                                   KEY_BYTES);
    INVARIANT(!fault);
    if (guard->config.cipher == UDP_CIPHER_AES_256_GCM) {
        fault = crypto_aead_aes256gcm_beforenm(&made->with.aes, key);
        INVARIANT(!fault);
    } else {
        memcpy(made->with.chacha20, key, sizeof key);
    }
    sodium_memzero(key, sizeof key);
    clear_traces();
    sodium_stackzero(STACK_BYTES); /* hashing leaves more */
    sender->key = made;
    return 0;
}

int udp_guard_make(const struct udp_guard_config *config, struct udp_guard **guard)
{
    INVARIANT(config->node_count <= WIRE_NODES_MAX && config->node < config->node_count);
    if (sodium_init() < 0) {
        return DN_ESYSTEM;
    }
    if (!udp_cipher_is_possible(config->cipher)) {
        return DN_EVERSION;
    }
    rehearse(config->cipher);
    struct udp_guard *made = calloc(1, sizeof *made + config->node_count * sizeof made->senders[0]);
    if (!made) {
        return DN_ENOMEM;
    }
    made->config = *config;
    int error = udp_vault_open(&made->vault, sizeof(struct sender_key), config->node_count + 1);
    if (!error) {
        unsigned char *secret = udp_vault_take(&made->vault);
        base_secret_copy(secret, config->secret, KEY_BYTES);
        made->config.secret = secret;
        made->senders[config->node] = (struct sender){.incarnation = config->incarnation,
                                                      .is_known = true};
        error = derive(made, config->node, &made->senders[config->node]);
    }
    if (error) {
        udp_guard_free(made);
        return error;
    }
    *guard = made;
    return 0;
}

void udp_guard_free(struct udp_guard *guard)
{
    if (guard) {
        udp_vault_close(&guard->vault);
        free(guard);
    }
}

void udp_guard_expect(struct udp_guard *guard, uint16_t rank, uint32_t incarnation)
{
    struct sender *sender = &guard->senders[rank];
    if (sender->is_known) {
        return;
    }
    bool has_another_key = sender->key && sender->incarnation != incarnation;
    sender->incarnation = incarnation;
    sender->is_known = true;
    if (has_another_key) {
        (void)derive(guard, rank, sender); /* in its place, so there is memory */
    }
}

/* Whether there is a key now that may open a packet of this rank and incarnation. */
static bool prepare(struct udp_guard *guard, uint16_t rank, struct sender *sender,
                    uint32_t incarnation)
{
    if (sender->incarnation != incarnation) {
        if (sender->is_known) {
            return false;
        }
        sender->incarnation = incarnation;
    }
    return derive(guard, rank, sender) == 0; /* or lost, as packets are when memory is short */
}

/* ---- Packets ---------------------------------------------------------------------- */

/* A packet as a cipher sees it. */
struct parts {
    const unsigned char *open; /* readable by all, but not changeable */
    unsigned long long open_bytes;
    unsigned char *hidden; /* encrypted in place */
    unsigned long long hidden_bytes;
    unsigned char *tag;
    unsigned char nonce[NONCE_BYTES];
};

static inline void take_apart(const struct udp_guard *guard, unsigned char *packet, uint32_t bytes,
                              struct parts *parts)
{
    uint32_t before_tag = bytes - WIRE_TAG_BYTES;
    uint32_t open_bytes = guard->config.encrypt ? WIRE_PREFIX_BYTES : before_tag;
    parts->open = packet;
    parts->open_bytes = open_bytes;
    parts->hidden = packet + open_bytes;
    parts->hidden_bytes = before_tag - open_bytes;
    parts->tag = packet + before_tag;
    memset(parts->nonce, 0, NONCE_BYTES - WIRE_COUNTER_BYTES);
    memcpy(parts->nonce + NONCE_BYTES - WIRE_COUNTER_BYTES, packet + WIRE_HEADER_BYTES,
           WIRE_COUNTER_BYTES);
}

static void guard_seal(void *context, const struct wire_header *header, unsigned char *packet,
                       uint32_t bytes)
{
    const struct udp_guard *guard = context;
    INVARIANT(header->source == guard->config.node &&
              header->source_incarnation == guard->config.incarnation &&
              bytes >= WIRE_OVERHEAD_BYTES);
    const struct sender_key *key = guard->senders[guard->config.node].key;
    struct parts parts;
    take_apart(guard, packet, bytes, &parts);
    if (guard->config.cipher == UDP_CIPHER_AES_256_GCM) {
        (void)crypto_aead_aes256gcm_encrypt_detached_afternm(
            parts.hidden, parts.tag, NULL, parts.hidden, parts.hidden_bytes, parts.open,
            parts.open_bytes, NULL, parts.nonce, &key->with.aes);
    } else {
        (void)crypto_aead_chacha20poly1305_ietf_encrypt_detached(
            parts.hidden, parts.tag, NULL, parts.hidden, parts.hidden_bytes, parts.open,
            parts.open_bytes, NULL, parts.nonce, key->with.chacha20);
    }
    clear_traces();
}

static bool guard_open(void *context, const struct wire_header *header, unsigned char *packet,
                       uint32_t bytes)
{
    struct udp_guard *guard = context;
    if (UNLIKELY(header->source >= guard->config.node_count || bytes < WIRE_OVERHEAD_BYTES)) {
        return false;
    }
    struct sender *sender = &guard->senders[header->source];
    if (UNLIKELY(header->source_incarnation != sender->incarnation || !sender->key) &&
        !prepare(guard, header->source, sender, header->source_incarnation)) {
        return false;
    }
    const struct sender_key *key = sender->key;
    struct parts parts;
    take_apart(guard, packet, bytes, &parts);
    int fault;
    if (guard->config.cipher == UDP_CIPHER_AES_256_GCM) {
        fault = crypto_aead_aes256gcm_decrypt_detached_afternm(
            parts.hidden, NULL, parts.hidden, parts.hidden_bytes, parts.tag, parts.open,
            parts.open_bytes, parts.nonce, &key->with.aes);
    } else {
        fault = crypto_aead_chacha20poly1305_ietf_decrypt_detached(
            parts.hidden, NULL, parts.hidden, parts.hidden_bytes, parts.tag, parts.open,
            parts.open_bytes, parts.nonce, key->with.chacha20);
    }
    clear_traces();
    sender->is_known = sender->is_known || fault == 0;
    return fault == 0;
}

struct swif_guard udp_guard_hooks(struct udp_guard *guard)
{
    return (struct swif_guard){.context = guard, .seal = guard_seal, .open = guard_open};
}
