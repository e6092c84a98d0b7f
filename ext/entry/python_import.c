/*
 * `import npyext` in a folder with ./npyext.so.
 *
 * Python looks into the current folder first, and takes any NAME.so there for a module of its own. So in the
 * folder where npyext was built, this file would hide the installed package. It therefore answers as a module
 * whose creation (PEP 489) gives the import to the package, or fails with an error that says what to do.
 *
 * Nothing of Python is included or linked: its functions are weak, and there when it is Python that calls. On
 * Windows, Python takes only .pyd files for modules; on macOS, a build's file ends with .dylib or lies in the
 * package.
 */
#ifdef __ELF__

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define FROM_PYTHON __attribute__((weak))

typedef struct python_object python_object;

FROM_PYTHON extern const char *Py_GetVersion(void);
FROM_PYTHON extern python_object *PyModuleDef_Init(void *def);
FROM_PYTHON extern python_object *PyDict_New(void);
FROM_PYTHON extern int PyDict_SetItemString(python_object *dict, const char *key, python_object *value);
FROM_PYTHON extern python_object *PyDict_GetItemString(python_object *dict, const char *key);
FROM_PYTHON extern python_object *PyEval_GetBuiltins(void);
FROM_PYTHON extern python_object *PyRun_String(const char *text, int start, python_object *globals,
                                               python_object *locals);
FROM_PYTHON extern void Py_IncRef(python_object *object);
FROM_PYTHON extern void Py_DecRef(python_object *object);

/* Python's Py_file_input, Py_mod_create, Py_mod_gil and Py_MOD_GIL_NOT_USED. */
enum { FILE_INPUT = 257, MODULE_CREATE = 1, MODULE_LOCK = 4, LOCK_NOT_USED = 1 };

/* The import goes on with what spec says after this: the loader of the package runs it. */
static const char give_to_the_package[] =
    "import os, sys, types\n"
    "from importlib.machinery import PathFinder\n"
    "here = os.path.realpath(os.path.dirname(os.path.abspath(spec.origin)))\n"
    "others = [path for path in sys.path if os.path.realpath(path or '.') != here]\n"
    "found = PathFinder.find_spec('npyext', others)\n"
    "if found is None or not (found.origin or '').endswith('__init__.py'):\n"
    "    raise ImportError(f\"{spec.origin} is the extension for SQLite, and no package npyext is installed: "
    "\"\n"
    "                      \"pip install ext/python, or load the extension by its path, as in \"\n"
    "                      \"connection.load_extension('./npyext')\", name='npyext', path=spec.origin)\n"
    "vars(spec).update(vars(found))\n"
    "module = types.ModuleType('npyext')\n";

/* Py_mod_create: a new reference to the module, or NULL with an exception. */
static python_object *create(python_object *spec, void *def) {
    (void)def;
    python_object *module = NULL, *names = PyDict_New();
    if (names == NULL)
        return NULL;
    if (PyDict_SetItemString(names, "__builtins__", PyEval_GetBuiltins()) == 0 &&
        PyDict_SetItemString(names, "spec", spec) == 0) {
        python_object *nothing = PyRun_String(give_to_the_package, FILE_INPUT, names, names);
        if (nothing != NULL) {
            Py_DecRef(nothing);
            module = PyDict_GetItemString(names, "module"); /* borrowed */
            Py_IncRef(module);
        }
    }
    Py_DecRef(names);
    return module;
}

typedef struct module_slot {
    int kind;
    union {
        python_object *(*create)(python_object *spec, void *def);
        uintptr_t number;
    } value;
} module_slot;

/* Python's PyModuleDef after its first member, PyModuleDef_Base: the same in all of Python 3. */
typedef struct module_def {
    void *init;
    ptrdiff_t index;
    python_object *copy;
    const char *name, *doc;
    ptrdiff_t nbytes;
    void *methods;
    const struct module_slot *slots;
    void *traverse, *clear, *free;
} module_def;

static const module_slot slots[] = {{MODULE_CREATE, {create}}, {0, {NULL}}};
static const module_slot slots_without_lock[] = {
    {MODULE_CREATE, {create}}, {MODULE_LOCK, {.number = LOCK_NOT_USED}}, {0, {NULL}}};

/* An object begins with a count and a type; in a Python without the global lock (PEP 703), with two words
 * more. */
static struct {
    void *head[2];
    module_def def;
} with_lock = {.def = {.name = "npyext", .slots = slots}};
static struct {
    void *head[4];
    module_def def;
} without_lock = {.def = {.name = "npyext", .slots = slots_without_lock}};

__attribute__((visibility("default"))) python_object *PyInit_npyext(void);

python_object *PyInit_npyext(void) {
    if (Py_GetVersion == NULL || PyModuleDef_Init == NULL)
        return NULL;
    return PyModuleDef_Init(strstr(Py_GetVersion(), "free-threading") != NULL ? (void *)&without_lock
                                                                              : (void *)&with_lock);
}

#else

typedef int npyext_python_is_not_asked; /* a translation unit must not be empty */

#endif
