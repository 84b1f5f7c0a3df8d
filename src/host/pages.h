/* Moves pages of the program to the group's file and back, at the same addresses and with the
 * same content. Nothing here allocates or goes through the sanitizers' wrappers, because it runs
 * while the program's threads are stopped, and on whole pages of which the program may use only
 * a part. */
#ifndef HOST_PAGES_H
#define HOST_PAGES_H

#include "host/mappings.h"
#include "host/threads.h"

/* Moves the pieces to their places in the file, while `stop` holds. On an error (DN_EUNMAPPED when
 * something was unmapped meanwhile, DN_ENOMEM, DN_ESYSTEM) they are where they were. */
int host_pages_share(int fd, struct host_pieces *pieces, struct host_stop *stop);

/* Gets private memory for each piece, still empty: 0, or DN_ENOMEM and none. */
int host_pages_reserve(struct host_pieces *pieces);
/* Puts it in the pieces' places, with their content and protection, while `stop` holds. DN_ESYSTEM
 * when the kernel refuses (it limits the number of mappings); then all are shared as before. */
int host_pages_unshare(int fd, struct host_pieces *pieces, struct host_stop *stop);
/* The same in two steps, around fork(): copies the content, 0 or DN_ESYSTEM; */
int host_pages_copy(int fd, const struct host_pieces *pieces);
/* and puts it in place, in the child. Where there is no copy, or the kernel refuses, the child sees
 * the parent's pages and gets its own when it writes. Writes nothing that may lie in a piece before
 * all are in place. */
void host_pages_replace(int fd, struct host_pieces *pieces);
/* Gives back the memory that was not put in place. */
void host_pages_drop(struct host_pieces *pieces);

/* Empties a part of the file, so that it takes no memory and reads as zeros. */
void host_pages_clear(int fd, uint64_t file_offset, uint64_t bytes);

#endif
