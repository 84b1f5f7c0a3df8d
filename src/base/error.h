/* Error codes as words. */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include <stdbool.h>

/* Whether it is DN_OK or one of the codes. */
bool base_error_is_known(int error);
const char *base_error_sentence(int error);
const char *base_error_name(int error);

#endif
