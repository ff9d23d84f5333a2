# Every target prepares what it needs, so each works as the first command on a fresh machine with Python and make.
# What the shell tells Python (PYTHONPATH, PYTHONWARNINGS, PYTHONDONTWRITEBYTECODE, ...) is meant for other programs.
unexport $(filter-out PYTHON,$(filter PYTHON%,$(.VARIABLES)))

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
READY  := $(VENV)/.ready

.PHONY: help run setup test suite lint matrix clients team-test team-soak programs pictures properties fuzz bench soak servers million quality learning past_answers embedders packs memory-bench agents serve-bench serve-soak limits accents messy prompts sentences screen screenshots keys settings reference man docs breaks model constraints release zipapp clean

help: ## show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/make \1\t\2/' | expand -t 20

run: $(READY) ## open the app on VAULT=~/notes (without VAULT: the demo vault)
	@$(if $(VAULT),$(BIN)/excerpt "$(VAULT)",$(BIN)/excerpt demo)

setup: $(READY) ## prepare everything, run nothing

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; v = sys.version_info; ok = (3, 11) <= v < (3, 15); ok or sys.exit("excerpt needs Python 3.11 to 3.14; this is %d.%d. Try: make PYTHON=python3.13 ..." % v[:2])'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "excerpt: installing into $(VENV), once" >&2
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable . --group dev
	@$(BIN)/python -m compileall -q src $(VENV)/lib >/dev/null || true
	@touch $@

lint: $(READY) ## ruff, mypy --strict, import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: $(READY) ## lint and the test suite, side by side; the tests that take longer are in make programs
	@$(MAKE) --no-print-directory -j 2 lint suite

suite: $(READY)
	$(BIN)/pytest -n auto --dist worksteal

pictures: $(READY) ## record the pictures of the screen anew that make test compares; look at each that changed
	$(BIN)/pytest -n auto --dist worksteal tests/tui/pictures --snapshot-update

properties: $(READY) ## every property, at random, with at least twenty times as many examples
	EXCERPT_PROPERTIES=thorough $(BIN)/pytest --timeout 0 -n auto --dist worksteal -m hypothesis

fuzz: $(READY) ## 20,000 keys at random, in bursts, on every screen and dialog, with three seeds; is every cell drawn as it should be? Every story in both sizes
	EXCERPT_FUZZ=20000 $(BIN)/pytest --timeout 0 -n auto -m programs tests/tui/test_burst_fuzz.py
	EXCERPT_SIZES=both $(BIN)/pytest --timeout 0 -n auto -m programs tests/e2e/test_stories.py

programs: $(READY) ## the tests that take longer: servers and their kills, every benchmark, stories in a terminal, bursts of keys, the plugin for Neovim
	$(BIN)/pytest -n auto --dist worksteal -m programs

matrix: $(READY) ## the installed wheel on each Python from 3.11 to 3.14 that there is (on PATH, in pyenv's folder)
	$(BIN)/pytest -m matrix -rs tests/matrix

clients: $(READY) ## the MCP server and the Python API with clients and frameworks written elsewhere, which it installs into build/clients once
	$(BIN)/pytest -m clients tests/clients

team-test: $(READY) ## vaults on a real PostgreSQL, which it unpacks into build/team once (root on Debian; else TEST_DSN names one)
	$(BIN)/pytest -m store tests/store

team-soak: $(READY) ## 50 kills of what writes to a PostgreSQL, and of it; ten minutes of eight readers and two writers, and of 48 clients' memories
	EXCERPT_KILLS=50 EXCERPT_SOAK=600 $(BIN)/pytest --timeout 0 -m store tests/store/test_push_killed.py tests/store/test_memories.py

# With --write a measurement keeps what it prints in benchmarks/results/ too.
bench: $(READY) ## measure speed against peers in the same run
	$(BIN)/python -m benchmarks --write $(if $(DATA),--data $(DATA))

million: $(READY) ## measure a million fragments (DATA=../shared, half an hour, 3 GB)
	$(BIN)/python -m benchmarks.million --write $(if $(DATA),--data $(DATA))

soak: $(READY) ## 10,000 queries, 500 edits, 50 reopenings: does memory or the number of open files grow? (DATA=../shared)
	$(BIN)/python -m benchmarks.soak --write $(if $(DATA),--data $(DATA))

servers: $(READY) ## measure the memory of one, two and four MCP servers of a vault (DATA=../shared)
	$(BIN)/python -m benchmarks.servers --write $(if $(DATA),--data $(DATA))

quality: $(READY) ## measure ranking, and what each of its parts is worth (DATA=../shared)
	$(BIN)/python -m benchmarks.quality --write $(if $(DATA),--data $(DATA))

learning: $(READY) ## simulate users who search again: what learning from opened hits is worth (DATA=../shared)
	$(BIN)/python -m benchmarks.learning --write $(if $(DATA),--data $(DATA))

past_answers: $(READY) ## what questions kept with the passage that answered them are worth (DATA=../shared)
	$(BIN)/python -m benchmarks.past_answers --write $(if $(DATA),--data $(DATA))

embedders: $(READY) ## compare a transformer with the model that ships: ranking, times, reranking (DATA=../shared, an hour)
	$(BIN)/python -m benchmarks.embedders --write $(if $(DATA),--data $(DATA))

packs: $(READY) ## measure what packs hold, save and cost (DATA=../shared)
	$(BIN)/python -m benchmarks.packs --write $(if $(DATA),--data $(DATA))

memory-bench: $(READY) ## measure search and packs on published sets, beside four forms of plain search (DATA=../shared, an hour)
	$(BIN)/python -m benchmarks.memory_bench --write $(if $(DATA),--data $(DATA))

agents: $(READY) ## measure what an agent spends until it has the answer, and plot it for the README (DATA=../shared)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --group plots
	$(BIN)/python -m benchmarks.agents --write $(if $(DATA),--data $(DATA))

prompts: $(READY) ## measure how often prompts get passages from the hook, wanted or not (DATA=../shared)
	$(BIN)/python -m benchmarks.prompts --write $(if $(DATA),--data $(DATA))

sentences: $(READY) ## measure which sentences a check names as not found in their source (DATA=../shared)
	$(BIN)/python -m benchmarks.cited_sentences --write $(if $(DATA),--data $(DATA))

serve-bench: $(READY) ## measure the line server: time of an answer, memory over 100,000 requests (DATA=../shared)
	$(BIN)/python -m benchmarks.line_server --write $(if $(DATA),--data $(DATA))

limits: $(READY) ## ask every tool, method and the hook with up to 10 MB of hostile text: answers, times, memory (DATA=../shared)
	$(BIN)/python -m benchmarks.limits --write $(if $(DATA),--data $(DATA))

serve-soak: $(READY) ## 10,000 lines at random for the line server and as many messages for the MCP server, and 20 kills
	EXCERPT_FUZZED_LINES=10000 EXCERPT_FUZZED_MESSAGES=10000 EXCERPT_KILLS=20 $(BIN)/pytest --timeout 0 -n auto -m programs tests/servers/line_server/test_server.py tests/servers/mcp/test_connections.py

accents: $(READY) ## measure what is lost by typing words without their accents, in six languages (VAULT=~/notes: and in that folder)
	$(BIN)/python -m benchmarks.accents --write $(if $(VAULT),--vault $(VAULT))

messy: $(READY) ## what becomes of 200 hostile and damaged files (DATA=../shared)
	$(BIN)/python -m benchmarks.messy --write $(if $(DATA),--data $(DATA))

screen: $(READY) ## count rows, cells, colours, signs and words of the screen (DATA=../shared)
	$(BIN)/python -m benchmarks.screen --write $(if $(DATA),--data $(DATA))

screenshots: $(READY) ## make every picture in screenshots/
	$(BIN)/python -m benchmarks.screenshots
	$(BIN)/python -m benchmarks.demo

keys: $(READY) ## write the guide's page on keys from the table of the app
	$(BIN)/python -m benchmarks.key_page

settings: $(READY) ## write the guide's tables of settings from the settings' fields
	$(BIN)/python -m benchmarks.settings_page

reference: $(READY) ## write the guide's commands, signals, methods of the line server and example package from the code
	$(BIN)/python -m benchmarks.reference_pages

man: $(READY) ## write the pages of man from the commands
	$(BIN)/python tools/man_pages.py

DOCS := .venv-docs/bin

docs: .venv-docs/.ready ## build the guide as a site into build/site
	NO_MKDOCS_2_WARNING=1 $(DOCS)/mkdocs build --strict --quiet
	@echo "build/site/index.html"

breaks: .venv-docs/.ready ## what in the Python API breaks programs written for the last release (the newest tag)
	$(DOCS)/python tools/api_breaks.py

.venv-docs/.ready: pyproject.toml
	@test -x $(DOCS)/python || $(PYTHON) -m venv .venv-docs
	@$(DOCS)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	@$(DOCS)/python -m pip install --quiet --disable-pip-version-check --group docs
	@touch $@

model: ## rebuild the embedding model from its sources (Debian, about an hour)
	$(PYTHON) -m venv .venv-model
	.venv-model/bin/python -m pip install --quiet --requirement tools/embedding/requirements.txt
	.venv-model/bin/python tools/embedding/make_model.py --out src/excerpt/embedding --work build/embedding

release: $(READY) ## build wheel, sdist, zipapp, bundle and list of packages into dist/, twice, and say how to publish them
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --group release
	@$(BIN)/python tools/release.py

zipapp: $(READY) ## build one file that runs with this version of Python on this system, into dist/
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --group release
	@$(BIN)/python tools/release.py --zipapp

# On the oldest Python: what it can install, the others can.
constraints: ## write constraints.txt: the versions of all that make setup installs, the newest there are
	rm -rf build/constraints
	$(PYTHON) -c 'import sys; sys.version_info[:2] == (3, 11) or sys.exit("Try: make PYTHON=python3.11 constraints")'
	$(PYTHON) -m venv build/constraints
	build/constraints/bin/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	build/constraints/bin/python -m pip install --quiet --disable-pip-version-check --editable . --group dev --group release
	@{ echo "# The versions with which excerpt is developed and tested. Written by make constraints."; \
	  build/constraints/bin/python -m pip freeze --exclude-editable; } > build/constraints.txt
	mv build/constraints.txt constraints.txt

clean: ## remove what the other targets made
	rm -rf $(VENV) .venv-docs .venv-model build dist .mypy_cache .ruff_cache .pytest_cache
