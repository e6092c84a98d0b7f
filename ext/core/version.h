/* The version, in this one place. */
#ifndef NPYEXT_VERSION_H
#define NPYEXT_VERSION_H

#define NPYEXT_VERSION "0.3.0"

#endif
