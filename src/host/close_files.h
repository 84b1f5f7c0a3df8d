/* Closing what a process inherited and does not keep: for processes that are forked and become no
 * program. Takes no lock and allocates nothing, as the parent may have threads. */
#ifndef HOST_CLOSE_FILES_H
#define HOST_CLOSE_FILES_H

/* Closes the descriptors from `first` to `last` that are open. */
void host_close_files(unsigned first, unsigned last);

#endif
