/* Error codes as words. */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

const char *base_error_sentence(int error);
const char *base_error_name(int error);

#endif
