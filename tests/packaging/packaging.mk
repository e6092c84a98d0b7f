# What is handed on, as its users install it.

.PHONY: check-packaging
check-packaging: npyext.so ## Build and try what is handed on: an installation, one C file, a self-contained extension, a Python package, Debian's sources
	@sh tests/tools/install-packages.sh check debian
	@$(suite) tests/packaging

.PHONY: check-clients
check-clients: ## Try what needs PyPI and npm: the ways of docs/install.md (apsw, sqlite-utils, Datasette, Node, browsers), WebDataset's shards
	@sh tests/tools/install-packages.sh check clients cross platforms web browser
	@$(again) npyext.so wheel
	@$(suite) $(wildcard tests/packaging/clients_*.py)

.PHONY: check-platforms
check-platforms: npyext.so ## Run tests/sql on ARM (qemu), musl and Windows (Wine), with the objects of the wheels (some minutes; not in CI)
	@sh tests/tools/install-packages.sh check cross platforms
	@$(suite) tests/packaging/on_platforms.py

.PHONY: check-install
check-install: ## Follow docs/install.md from nothing, each section in a fresh Debian; build and install its packages (root and debootstrap; some minutes; not in CI)
	@sh tests/tools/install-packages.sh check root
	@$(suite) $(wildcard tests/packaging/roots_*.py)

.PHONY: check-newest
check-newest: ## Build and show it with Debian's newest compiler and C library, in a root of their own (root, debootstrap)
	@sh tests/tools/install-packages.sh check root
	@NPYEXT_ROOTS=possible $(suite) tests/packaging/roots_releases.py -k sid
