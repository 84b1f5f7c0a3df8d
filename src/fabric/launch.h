/* The launcher's side of a fabric: what is made, found out and agreed before the nodes of a
 * group start, and what `dimmnet info` shows of it.
 *
 * A group on several hosts comes into being by these steps:
 *
 *     bind      each host makes its nodes' contacts, by which they are reached
 *     survey    each host, knowing all contacts, finds out what the way to them is like
 *     agree     the launcher decides the group's terms from what all hosts have found
 *     seal      each host lays the terms down for its nodes, which can then start
 *
 * and a group on one host by all of them at once (make). Contacts, findings and terms are bytes
 * that only the fabric understands. They travel between hosts as they are: they depend on no
 * host's byte order, and the fabric checks those that it is given.
 *
 * Functions that can fail give 0 or a negative DN_E..., and a sentence that says why: DN_EINVAL
 * where the user asked for something impossible, another where the system refused. A sentence
 * with 0 is a warning. The sentence is empty when it is passed in. */
#ifndef FABRIC_LAUNCH_H
#define FABRIC_LAUNCH_H

#include "fabric/fabrics.h"
#include "group/memory.h"

enum {
    FABRIC_OPTIONS_MAX = 8,
    FABRIC_DESCRIPTORS_MAX = 3,
    FABRIC_CONTACT_BYTES = 64,
    FABRIC_CONTACT_TEXT_BYTES = 64,
    FABRIC_FINDING_BYTES = 16,
    FABRIC_TERMS_BYTES = 96,
    FABRIC_SENTENCE_BYTES = 256,
    FABRIC_DIFFERENCE_BYTES = 512,
};

/* An option of the command line that only this fabric has: a number, a flag (0 or 1) or a text (its
 * setting is the pointer, and 0 unless it is given). */
struct fabric_option {
    const char *name;  /* without "--"; NULL ends a list */
    const char *value; /* the number's or text's name in help texts; NULL: a flag */
    const char *kind;  /* "number of bytes"; NULL: a text, or a flag */
    uint64_t least;
    uint64_t most;
    uint64_t unless_given;
    const char *help;
};

struct fabric_contact {
    unsigned char bytes[FABRIC_CONTACT_BYTES];
};

struct fabric_finding {
    unsigned char bytes[FABRIC_FINDING_BYTES];
};

/* They hold the group's secret: whoever has a copy wipes it. */
struct fabric_terms {
    unsigned char bytes[FABRIC_TERMS_BYTES];
};

/* A host, and where nodes would be bound there. */
struct fabric_host {
    const char *name;
    struct fabric_contact contact;
};

/* One of two runs that ought to be the same, on a fabric in virtual time. */
struct fabric_repeat {
    bool is_second;
    int journal_fd; /* a file without a name: what the first run did */
    /* The fabric's, when the roster is released. */
    bool has_run;
    uint64_t virtual_ps;
    uint64_t hash; /* of all that happened */
    /* How the second one differs from the first; empty: it does not. */
    char difference[FABRIC_DIFFERENCE_BYTES];
};

/* What one host makes for a group. */
struct fabric_roster {
    const struct fabric_launch *fabric;
    const uint64_t *settings; /* one for each option */
    uint32_t node_count;
    uint32_t rank_first; /* of the nodes that start here */
    uint32_t rank_count; /* 0: they all start on other hosts */
    struct group_sizes sizes;
    const char *words; /* what stands behind the fabric's name and a colon, or NULL */
    int notify_fd;     /* whoever writes it makes the launcher look (fault); -1: nobody does */
    struct fabric_repeat *repeat;    /* NULL: there is one run only */
    struct fabric_contact *contacts; /* of all nodes */
    void *state;                     /* the fabric's own */
};

/* Something to be shown. */
enum fabric_fact_kind { FABRIC_NUMBER, FABRIC_TRUTH, FABRIC_TEXT };
struct fabric_fact {
    const char *name;    /* for programs; NULL: only for people */
    const char *heading; /* for people; NULL: only for programs */
    enum fabric_fact_kind kind;
    uint64_t number;  /* of a NUMBER or a TRUTH */
    const char *text; /* of a TEXT */
};
typedef void (*fabric_tell)(void *context, const struct fabric_fact *fact);

/* A group of this fabric, looked at from outside. */
struct fabric_look {
    uint32_t node_count;
    struct group_sizes sizes;
    int fd;
    void *state;    /* the fabric's own: a copy that has been checked */
    uint64_t bytes; /* of it */
};

/* Where nothing else is said, NULL for a function means: nothing to do, and all is well. */
struct fabric_launch {
    const char *name;
    const char *help; /* what carries the stores */
    /* The name of what may stand behind the fabric's name and a colon; NULL: nothing may. */
    const char *words;
    /* Nodes map the memory that the launcher makes. Otherwise that memory holds nothing but
     * their lives, and each node makes its own. */
    bool shares_memory;
    /* One of the nodes runs at a time, wherever there is a core: they are not pinned. */
    bool takes_turns;
    const struct fabric_option *options;
    /* Whether the settings go together. */
    int (*check)(const uint64_t *settings, char *sentence);

    /* ---- Starting nodes */

    /* Makes everything for a group whose nodes all start on this host. */
    int (*make)(struct fabric_roster *roster, char *sentence);
    void (*release)(struct fabric_roster *roster);
    /* How many descriptors are open here for each node until it has started. */
    uint32_t files_by_node;
    /* The variables that tell a node the numbers of the descriptors it inherits; NULL ends
     * them. */
    const char *variables[FABRIC_DESCRIPTORS_MAX + 1];
    /* The descriptors of the node rank_first + index, one for each variable. */
    void (*descriptors)(const struct fabric_roster *roster, uint32_t index, int *fds);
    /* That node has started: closes here what it alone needs. */
    void (*hand_over)(struct fabric_roster *roster, uint32_t index);
    /* That node's process has ended, well or not. */
    void (*ended)(struct fabric_roster *roster, uint32_t index, bool well);
    /* Nodes that end from now on are made to by the launcher: a signal, a time-out, a failure. */
    void (*cut)(struct fabric_roster *roster);
    /* All nodes have ended: tells what there is to tell. False: not all could be written, which has
     * been said. */
    bool (*report)(struct fabric_roster *roster);
    /* Why the group cannot go on, in a sentence that is given once; NULL: it can. */
    const char *(*fault)(struct fabric_roster *roster);

    /* ---- Groups on several hosts; if it does not span them, the rest of this part is NULL */

    bool spans_hosts;
    /* Raised when the bytes that hosts and nodes are told change. */
    uint32_t version;
    /* A host from which nothing has come for this long is lost. */
    uint64_t (*silence_ns)(const uint64_t *settings);
    int (*find_host)(const char *name, struct fabric_contact *contact, char *sentence);
    /* Whether nodes on the two can reach each other. */
    int (*match_hosts)(const struct fabric_host *one, const struct fabric_host *other,
                       char *sentence);
    bool (*contact_is_sound)(const struct fabric_contact *contact);
    const char *(*contact_text)(const struct fabric_contact *contact,
                                char text[FABRIC_CONTACT_TEXT_BYTES]);
    int (*bind)(struct fabric_roster *roster, const struct fabric_contact *host, char *sentence);
    /* DN_EPEER and errno: *rank cannot be reached. */
    int (*survey)(const struct fabric_roster *roster, struct fabric_finding *finding,
                  uint32_t *rank);
    /* Adds what one more host has found to `all`. */
    void (*merge)(struct fabric_finding *all, const struct fabric_finding *one);
    int (*agree)(const struct fabric_roster *roster, const struct fabric_finding *finding,
                 struct fabric_terms *terms, char *sentence);
    int (*seal)(struct fabric_roster *roster, const struct fabric_terms *terms, char *sentence);

    /* ---- What people are shown */

    /* False: it does not work on this machine. */
    bool (*tell_machine)(fabric_tell tell, void *context);
    /* The name of the memory file that variables[0] stands for. NULL: there is none, nothing of
     * a group can be shown, and the rest of this part is NULL. */
    const char *file_name;
    /* Copies such a file and checks the copy; look_away closes the descriptor. */
    int (*look)(int fd, struct fabric_look *look);
    void (*look_away)(struct fabric_look *look);
    void (*tell_group)(const struct fabric_look *look, fabric_tell tell, void *context);
    /* False: the node has told nothing, or not here. */
    bool (*tell_node)(const struct fabric_look *look, uint32_t rank, fabric_tell tell,
                      void *context);
    /* Where peers reach it. */
    const char *(*node_text)(const struct fabric_look *look, uint32_t rank,
                             char text[FABRIC_CONTACT_TEXT_BYTES]);
    /* 0: not known. */
    uint32_t (*trip_ns)(const struct fabric_look *look, uint32_t rank, uint32_t peer);
};

/* All of them, in the order of fabric/fabrics.h; NULL ends the list. */
extern const struct fabric_launch *const fabric_launches[];

/* NULL: there is none of that name. */
const struct fabric_launch *fabric_launch_find(const char *name);

/* Fills a sentence in; gives the error. */
int fabric_launch_refuse(char sentence[FABRIC_SENTENCE_BYTES], int error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The settings when no option is given. */
void fabric_launch_defaults(const struct fabric_launch *fabric,
                            uint64_t settings[FABRIC_OPTIONS_MAX]);
/* Whether each setting is one that its option takes. */
bool fabric_launch_accepts(const struct fabric_launch *fabric, const uint64_t *settings);

/* Makes room for the contacts; the caller has filled in all fields above them. DN_ENOMEM. */
int fabric_roster_open(struct fabric_roster *roster);
/* Does nothing for a roster that is not open. */
void fabric_roster_release(struct fabric_roster *roster);

#endif
