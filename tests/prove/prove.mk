# Bounded model checking by CBMC: tests/prove/run.py says how.

proves = sh ext/tools/install-packages.sh build python && (command -v cbmc >/dev/null || sh ext/tools/install-packages.sh root) && \
         $(PYTHON) -B tests/prove/run.py

.PHONY: prove
prove: ## Check parsers and arithmetic of src for every input up to a bound, by CBMC (root and debootstrap, or a cbmc; HARNESSES= some)
	@$(proves) $(HARNESSES)

.PHONY: prove-quick
prove-quick: ## The quick ones of these
	@$(proves) --quick

.PHONY: prove-planted
prove-planted: ## Whether those checks find the fault that each of them names, in a copy of src
	@$(proves) --planted $(HARNESSES)
