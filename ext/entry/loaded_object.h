/*
 * The shared object that this code is in, and copies of it with variables of their own: what dlopen of POSIX
 * and LoadLibrary of Windows do differently.
 */
#ifndef NPYEXT_LOADED_OBJECT_H
#define NPYEXT_LOADED_OBJECT_H

#include <stddef.h>

enum { NPYEXT_OBJECT_WHY_NBYTES = 200 };

/* The path of the object that has something at the address, in UTF-8. Falls back on "" where nobody knows. */
void npyext_object_path(const void *address, char *path, size_t capacity_nbytes);

/* Loads a copy of the file, which is never unloaded, and keeps the first object loaded, too. NULL with the
 * reason in why. */
void *npyext_object_copy(const char *path, char why[NPYEXT_OBJECT_WHY_NBYTES]);

/* What the object exports by that name; NULL: nothing. */
void *npyext_object_symbol(void *object, const char *name);

#endif
