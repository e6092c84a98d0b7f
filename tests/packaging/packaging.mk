# What is handed on, as its users install it.

.PHONY: check-packaging
check-packaging: ## Build and try what is handed on: an installation, one C file, a self-contained extension, a Python package, Debian's sources
	@$(call ready,check debian,npyext.so)
	@$(suite) tests/packaging

.PHONY: check-clients
check-clients: ## Try what needs PyPI and npm: the ways of docs/install.md (apsw, sqlite-utils, Datasette, Node, browsers), WebDataset's shards
	@sh ext/tools/install-packages.sh check clients cross platforms web browser
	@$(again) npyext.so wheel
	@$(suite) $(wildcard tests/clients/clients_*.py)

.PHONY: check-platforms
check-platforms: ## Run tests/sql on ARM (qemu), musl and Windows (Wine), with the objects of the wheels (some minutes; not in CI)
	@$(call ready,check cross platforms,npyext.so)
	@$(suite) tests/clients/on_platforms.py

.PHONY: check-install
check-install: ## Follow docs/install.md from nothing, each section in a fresh Debian; build and install its packages (root and debootstrap; some minutes; not in CI)
	@sh ext/tools/install-packages.sh check root
	@$(suite) tests/roots/roots_guide.py tests/roots/roots_debian.py

.PHONY: check-debian
check-debian: ## `make demo` and `make check` on Debian 12, 13 and sid, each in a root of its own (root and debootstrap; a quarter of an hour on each; not in CI)
	@sh ext/tools/install-packages.sh check root
	@$(suite) tests/roots/roots_releases.py

.PHONY: check-newest
check-newest: ## `make demo` on sid, Debian's newest, and most of `make check` on sid or Debian 13, by NPYEXT_SEED (root, debootstrap)
	@sh ext/tools/install-packages.sh check root
	@NPYEXT_ROOTS=possible NPYEXT_RELEASES=one $(suite) tests/roots/roots_releases.py -k 'test_check or sid'
