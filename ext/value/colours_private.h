/* Colour maps: 256 colours each, from the least value to the greatest. */
#ifndef NPYEXT_COLOURS_PRIVATE_H
#define NPYEXT_COLOURS_PRIVATE_H

#include <stddef.h>
#include <stdint.h>

typedef struct npyext_colour_map {
    const char *name;
    const uint32_t *colours; /* 0xRRGGBB; NULL: gray */
} npyext_colour_map;

/* NULL if there is no map of that name. */
const npyext_colour_map *npyext_colour_map_find(const char *name, size_t nbytes);

/* The names of all maps, for messages: `gray, viridis`. */
extern const char npyext_colour_map_names[];

#endif
