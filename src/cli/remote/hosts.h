/* The hosts of a group, from a file of lines
 *
 *     host [slots=N] [address=A]      # N nodes at most; A is where their peers reach them
 *
 * and which nodes run where: the hosts are filled in the file's order. */
#ifndef CLI_REMOTE_HOSTS_H
#define CLI_REMOTE_HOSTS_H

#include <stdbool.h>
#include <stdint.h>

struct hosts_entry {
    char *name;    /* what the remote shell is given */
    char *address; /* NULL: what the name stands for */
    uint32_t slots;
    uint32_t rank_first; /* by remote_hosts_assign */
    uint32_t rank_count; /* 0: this host is not needed */
};

struct hosts {
    struct hosts_entry *entries;
    uint32_t count;
    uint32_t slots; /* of all */
};

enum { HOSTS_FAULT_BYTES = 160 };

/* Parses a file's text. False and a sentence that names the line if it makes no sense.
 * remote_hosts_release either way. */
bool remote_hosts_parse(const char *text, struct hosts *hosts, char fault[HOSTS_FAULT_BYTES]);

/* The same from a file. */
bool remote_hosts_read(const char *path, struct hosts *hosts, char fault[HOSTS_FAULT_BYTES]);

/* Gives each host its ranks. False: there are fewer slots than nodes. */
bool remote_hosts_assign(struct hosts *hosts, uint32_t node_count);

void remote_hosts_release(struct hosts *hosts);

#endif
