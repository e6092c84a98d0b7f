/* The version, in this one place. */
#ifndef NPYEXT_VERSION_H
#define NPYEXT_VERSION_H

#define NPYEXT_VERSION "0.2.0"

#endif
