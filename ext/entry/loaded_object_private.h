/*
 * The shared object that this code is in, and copies of it with variables of their own: where
 * dlopen of POSIX and LoadLibrary of Windows differ.
 */
#ifndef NPYEXT_LOADED_OBJECT_PRIVATE_H
#define NPYEXT_LOADED_OBJECT_PRIVATE_H

#include <stddef.h>

enum { NPYEXT_OBJECT_WHY_NBYTES = 200 };

/* The path, in UTF-8, of the object that contains the address; "" if it cannot be found. */
void npyext_object_path(const void *address, char *path, size_t capacity_nbytes);

/* Loads a copy of the file, which is never unloaded, and keeps the original loaded, too. On failure returns
 * NULL, with the reason in why. */
void *npyext_object_copy(const char *path, char why[NPYEXT_OBJECT_WHY_NBYTES]);

/* What the object exports under that name; NULL if nothing. */
void *npyext_object_symbol(void *object, const char *name);

#endif
