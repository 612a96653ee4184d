# `make demo` and `make test` are the two to begin with; README.md says what they do.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.ONESHELL:
.PHONY: help demo release static deb deb-life image install test soak torture chaos fuzz conformance-inn packages peers check fmt-check lint repository fmt bench man book

CARGO ?= cargo
TARGET := $(or $(CARGO_TARGET_DIR),target)
DEMO := $(TARGET)/demo
DEMO_PORT ?= 11119

# A C compiler is needed to build; the others only let tests try more (manual
# pages, completions) and those tests are skipped without them.
PACKAGES := gcc libc6-dev gnupg groff-base zsh fish ncompress bzip2 xz-utils zstd strace systemd openssl xfsprogs btrfs-progs fuse3 rsync lintian

# Other news systems that tests meet, and newsreaders. They are unpacked and not installed, so that
# no server is set up or started, no mail system comes along and nothing is setuid;
# of what they need only libraries are installed.
PEERS := inn2 inn2-inews uucp tin slrn slrnpull suck leafnode neomutt

help:
	@cat <<'TEXT'
	make demo    build, make a news directory, file a batch, look at it
	make test    every check and test
	make install the optimised program, manual pages and completions, into $(PREFIX) (PREFIX=/usr/local)
	make static  the optimised program alone, linked statically: $(TARGET)/broadsheet
	make deb     Debian packages, in $(TARGET)/deb
	make deb-life    the package on a clean Debian with systemd, from install to purge (as root)
	make image   a container image, by podman or buildah
	make soak    ten minutes of mixed load: memory stays flat, nothing fails (SOAK_SECONDS=600)
	make torture hours of power cuts and faults below real file systems (TORTURE_SECONDS=3600)
	make chaos   an hour of faults in clusters of three nodes and three servers (CHAOS_SECONDS=3600)
	make fuzz    fuzz each target for an hour of CPU time (FUZZ_SECONDS=3600, FUZZ_TARGETS=all)
	make conformance-inn    the NNTP conformance suite against INN
	make bench   time the real binary; see docs/performance.md
	make man     manual pages, into $(TARGET)/man8
	make book    the manual as web pages, into $(TARGET)/book
	make fmt     format the sources
	TEXT

# The program and the generator of batches are built nearly as optimised as a release, in less time; the news
# directory is made anew each time.
demo:
	@$(CARGO) build --profile quick -p broadsheet -p bench
	export PATH="$$(cd "$(TARGET)/quick" && pwd):$$PATH"
	rm -rf "$(DEMO)"
	mkdir -p "$(DEMO)"
	cd "$(DEMO)"
	run() { printf '\n$$ %s\n' "$$*"; "$$@"; }
	bench generate demo --dir made
	run broadsheet init --dir news --name news.example.org --active made/active --newsgroups made/newsgroups < /dev/null
	cp made/sys news/sys
	export BROADSHEET_DIR=news
	printf '\n$$ export BROADSHEET_DIR=news\n'
	printf '\n$$ broadsheet check | tail -n 6\n'
	broadsheet check | tail -n 6
	run broadsheet rnews --json made/batch
	run broadsheet group list comp
	run broadsheet overview comp.lang.c 1-5
	run broadsheet article comp.lang.c/1
	run broadsheet history find "$$(broadsheet overview comp.lang.c 1 | cut -f 5)"
	printf '\nThe same batch once more: all of it is known.\n'
	run broadsheet rnews --json made/batch
	run broadsheet fsck
	run broadsheet status
	printf '\nA neighbour gets what is here in batches, dropped into its in.coming/; it files them.\n'
	broadsheet init --dir neighbour --name neighbour.example.org --active made/active < /dev/null > /dev/null
	printf '\n$$ cat >> news/broadsheet.toml\n'
	tee -a news/broadsheet.toml <<'TOML'

	[[site]]
	name = "neighbour.example.org"
	groups = "comp,news,sci"
	start = "oldest"
	via = { directory = "../neighbour/in.coming", compress = "zstd" }
	TOML
	run broadsheet sendbatches neighbour.example.org
	run broadsheet newsrun --dir neighbour --json
	run broadsheet overview --dir neighbour comp.lang.c 1-3
	printf '\nThe daemon serves readers and peers over NNTP, files what comes, and serves feeds; commands work as before.\n'
	printf '\n$$ broadsheet serve --listen 127.0.0.1:%s &\n' "$(DEMO_PORT)"
	broadsheet serve --listen "127.0.0.1:$(DEMO_PORT)" &
	daemon=$$!
	trap 'kill "$$daemon" 2> /dev/null || true' EXIT
	until broadsheet status --json | grep -q '"pid"'; do sleep 0.1; done
	printf '\nA reader asks, over a socket:\n'
	ask() { printf '%s\r\n' "$$@" QUIT | (exec 3<> "/dev/tcp/127.0.0.1/$(DEMO_PORT)"; cat >&3; tr -d '\r' <&3); }
	ask 'GROUP comp.lang.c' 'OVER 1-3' 'HEAD 1'
	printf 'hello, world\n' > post
	run broadsheet inews -t 'A first post' -n comp.lang.c -f 'You <you@example.org>' post
	run broadsheet feed list neighbour.example.org
	run broadsheet sendbatches neighbour.example.org
	run broadsheet stop
	run broadsheet newsrun --dir neighbour --json
	printf '\nWhat would go by the policy in explist: nothing yet, the articles have just come.\n'
	run broadsheet expire -n
	printf '\nA month later (--now): all of it goes; low marks rise.\n'
	run broadsheet expire --force --now "$$(( $$(date +%s) + 31 * 86400 ))"
	run broadsheet group list comp
	run broadsheet fsck
	printf '\nIt is all in %s; the program is %s.\n' "$(DEMO)/news" "$(TARGET)/quick/broadsheet"
	printf 'To read it with slrn, tin or Thunderbird (nothing has expired in the neighbour):\n'
	printf '  %s serve --dir %s --listen 127.0.0.1:%s\n' "$(TARGET)/quick/broadsheet" "$(DEMO)/neighbour" "$(DEMO_PORT)"

PREFIX ?= /usr/local
HOST = $(shell rustc -vV | sed -n 's/^host: //p')

# Linked statically and at a fixed address, since a process then starts in half the time: rnews often runs for a few milliseconds, and
# relocations would write to 37 pages first. (SECURITY.md says what that means.) With --target the flags do not reach procedural macros,
# which they would break. The copy starts a fifth faster than what the linker wrote: the kernel has it in
# larger pieces. PGO=yes lays the program out by counts of the code that runs (packaging/profile); PGO=auto does where llvm-profdata is.
release:
	@variable="CARGO_TARGET_$$(tr 'a-z.-' 'A-Z__' <<< "$(HOST)")_RUSTFLAGS"
	flags="-C target-feature=+crt-static -C relocation-model=static"
	if [[ "$(PGO)" = yes ]] || { [[ "$(PGO)" = auto ]] && packaging/profile --tool "$(HOST)" > /dev/null; }; then
	  counts="$$(packaging/profile "$(TARGET)" "$(HOST)" "$$flags")"
	  flags="$$flags -C profile-use=$$counts"
	fi
	env "$$variable=$$flags" $(CARGO) build --release --locked -p broadsheet --target "$(HOST)"
	@cp --remove-destination "$(TARGET)/$(HOST)/release/broadsheet" "$(TARGET)/broadsheet"

static: release

# The packages broadsheet and broadsheet-classic, in $(TARGET)/deb. They need nothing beside dpkg-deb.
deb: PGO ?= auto
deb: release
	@packaging/deb/build "$(TARGET)/broadsheet" "$(TARGET)/deb"

# Boots a clean Debian, which is kept in $(TARGET)/debian, in a container of systemd.
deb-life: deb
	@packaging/deb/life "$$(ls -t "$(TARGET)"/deb/broadsheet_*.deb | head -n 1)" "$(TARGET)/debian"

# An image with the program alone, by podman or buildah: packaging/Containerfile.
image: release
	@for tool in podman buildah; do
	  if command -v "$$tool" > /dev/null; then
	    exec "$$tool" build -t broadsheet -f packaging/Containerfile "$(TARGET)"
	  fi
	done
	echo "Install podman or buildah first."
	exit 1

# By sudo it does not build: root may have no Rust, and its files would be in the way of later builds.
install: $(if $(SUDO_USER),,release)
	@test -x "$(TARGET)/broadsheet" || { echo "Run make release first, without sudo."; exit 1; }
	@install -D -m 755 "$(TARGET)/broadsheet" "$(DESTDIR)$(PREFIX)/bin/broadsheet"
	share="$(DESTDIR)$(PREFIX)/share"
	mkdir -p "$$share/man/man8" "$$share"/{bash-completion/completions,zsh/site-functions,fish/vendor_completions.d}
	"$(TARGET)/broadsheet" man --out "$$share/man/man8" > /dev/null
	"$(TARGET)/broadsheet" completion bash > "$$share/bash-completion/completions/broadsheet"
	"$(TARGET)/broadsheet" completion zsh > "$$share/zsh/site-functions/_broadsheet"
	"$(TARGET)/broadsheet" completion fish > "$$share/fish/vendor_completions.d/broadsheet.fish"
	units="$(DESTDIR)$(PREFIX)/lib/systemd/system"
	mkdir -p "$$units"
	for unit in packaging/systemd/*; do sed 's,/usr/local/bin/,$(PREFIX)/bin/,' "$$unit" > "$$units/$${unit##*/}"; done

# Tests often wait for processes, disks and timers, so twice as many as there are processors run at once.
test: packages peers check
	@mkdir -p "$(TARGET)"
	status=0
	export RUST_TEST_THREADS="$${RUST_TEST_THREADS:-$$(( 2 * $$(nproc) ))}"
	$(CARGO) test --workspace --no-fail-fast -- --show-output 2>&1 | tee "$(TARGET)/test.log" || status=$$?
	passed=$$(awk '/^test result:/ { sum += $$4 } END { print sum + 0 }' "$(TARGET)/test.log")
	sort -u "$(TARGET)/test.log" | grep '^skipped:' || echo "Nothing was skipped."
	echo "$$passed tests passed."
	if (( status )); then
	  # Once more what the failed tests printed, at most 200 lines of each: it is far above.
	  awk '/^(successes:|test result:)/ { failed = 0 } /^failures:/ { failed = 1; lines = 0 } /^----/ { lines = 0 } failed && lines++ < 200' "$(TARGET)/test.log"
	  exit "$$status"
	fi
	test "$$passed" -gt 0

SOAK_SECONDS ?= 600

soak:
	@BROADSHEET_SOAK_SECONDS=$(SOAK_SECONDS) $(CARGO) test -p broadsheet --test all a_mixed_load_runs_flat -- --ignored --nocapture

TORTURE_SECONDS ?= 3600
TORTURE_SEED ?=

# Seeds are printed; recordings of runs with losses stay in $(TARGET)/torture. See torture/README.md.
torture: packages
	@$(CARGO) build -p broadsheet -p torture
	"$(TARGET)/debug/torture" all --seconds $(TORTURE_SECONDS) $(if $(TORTURE_SEED),--seed $(TORTURE_SEED)) --keep "$(TARGET)/torture"

CHAOS_SECONDS ?= 3600
CHAOS_SEED ?=
# The program of an earlier build, for one of the nodes.
CHAOS_OLDER ?=

# Each seed is printed; everything of a run that fails stays in $(TARGET)/tmp/chaos-SEED. docs/cluster.md describes the runs.
chaos: packages peers
	@BROADSHEET_CHAOS_SECONDS=$(CHAOS_SECONDS) $(if $(CHAOS_SEED),BROADSHEET_CHAOS_SEED=$(CHAOS_SEED)) \
	  $(if $(CHAOS_OLDER),BROADSHEET_CHAOS_OLDER="$(realpath $(CHAOS_OLDER))") \
	  $(CARGO) test -p broadsheet --test all chaos::for_as_long -- --ignored --nocapture

FUZZ_SECONDS ?= 3600

# Goes on where an interrupted run was; see fuzz/README.md.
fuzz:
	@FUZZ_SECONDS=$(FUZZ_SECONDS) FUZZ_TARGETS="$(FUZZ_TARGETS)" fuzz/run

# The same cases that `make test` plays against ours; see conformance/INN.md.
conformance-inn: packages peers
	@NNTP_TEST_SUBJECT=inn $(CARGO) test -p conformance --test all it_conforms -- --show-output

check: fmt-check lint repository

# What the repository promises about itself.
repository:
	@$(CARGO) xtask check

fmt-check:
	@if $(CARGO) fmt --version > /dev/null 2>&1; then
	  $(CARGO) fmt --all --check
	else
	  echo "skipped: the check of the format (cargo fmt is not present: rustup component add rustfmt)"
	fi

lint:
	@if $(CARGO) clippy --version > /dev/null 2>&1; then
	  $(CARGO) clippy --workspace --all-targets -- -D warnings
	  $(CARGO) clippy -p broadsheet --no-default-features -- -D warnings
	else
	  echo "skipped: the lints (cargo clippy is not present: rustup component add clippy)"
	fi

fmt:
	@$(CARGO) fmt --all

# Debian packages, where they are missing and can be had.
packages:
	@missing=()
	for package in $(PACKAGES); do
	  dpkg -s "$$package" > /dev/null 2>&1 || missing+=("$$package")
	done
	(( $${#missing[@]} )) || exit 0
	as_root=()
	if (( $$(id -u) )); then as_root=(sudo -n); fi
	if ! command -v apt-get > /dev/null; then
	  echo "skipped: installing $${missing[*]} (no apt-get here)"
	elif (( $$(id -u) )) && ! sudo -n true 2> /dev/null; then
	  echo "skipped: installing $${missing[*]} (neither root nor sudo without a password)"
	elif ! said="$$({ "$${as_root[@]}" apt-get update -qq &&
	         "$${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
	           apt-get install -y -qq --no-install-recommends "$${missing[@]}"; } 2>&1)"; then
	  echo "skipped: installing $${missing[*]} (apt-get failed: $$(tail -n 1 <<< "$$said"))"
	fi

peers: packages
	@into="$$(mkdir -p "$(TARGET)/peers" && cd "$(TARGET)/peers" && pwd)"
	for package in $(PEERS); do
	  [[ -e "$$into/.$$package" ]] && continue
	  if ! command -v apt-get > /dev/null; then
	    echo "skipped: fetching $$package (no apt-get here)"
	    continue
	  fi
	  fetched="$$(mktemp -d)"
	  said=
	  libraries="$$(apt-cache depends "$$package" | sed -n 's/^ *Depends: \(lib[a-z0-9.+-]*[0-9][a-z0-9.]*\)$$/\1/p')"
	  if said="$$(cd "$$fetched" && apt-get download -qq "$$package" 2>&1)" &&
	     said="$$(dpkg-deb -x "$$fetched"/*.deb "$$into" 2>&1)" &&
	     $(MAKE) -s packages PACKAGES="$$(tr '\n' ' ' <<< "$$libraries")"; then
	    chmod -R a-s,a+rX "$$into"
	    touch "$$into/.$$package"
	  else
	    echo "skipped: fetching $$package (apt-get failed: $$(tail -n 1 <<< "$$said"))"
	  fi
	  rm -rf "$$fetched"
	done
	# The tests of clusters; the release with which they were written.
	if [[ ! -e "$$into/nats-server" ]]; then
	  if ! command -v go > /dev/null; then
	    echo "skipped: building nats-server (no Go here)"
	  elif ! GOBIN="$$into" go install github.com/nats-io/nats-server/v2@v2.15.2 > /dev/null 2>&1; then
	    echo "skipped: building nats-server (go install failed)"
	  fi
	fi
	# The tests of a bucket of S3, and of Google's interface, which is the same.
	if [[ ! -e "$$into/versitygw" ]]; then
	  if ! command -v go > /dev/null; then
	    echo "skipped: building versitygw (no Go here)"
	  elif ! GOBIN="$$into" go install github.com/versity/versitygw/cmd/versitygw@v1.8.0 > /dev/null 2>&1; then
	    echo "skipped: building versitygw (go install failed)"
	  fi
	fi
	# The tests of Azure Blob Storage: Microsoft's emulator, 190 MB; the last release that runs with Node.js before 21. npm is not among
	# PACKAGES, since Debian's brings hundreds of others.
	if [[ ! -e "$$into/azurite/node_modules/.bin/azurite-blob" ]]; then
	  if ! command -v npm > /dev/null; then
	    echo "skipped: fetching azurite (no npm here)"
	  elif ! npm install --prefix "$$into/azurite" --ignore-scripts --omit=optional --no-audit --no-fund azurite@3.35.0 > /dev/null 2>&1; then
	    rm -rf "$$into/azurite"
	    echo "skipped: fetching azurite (npm failed)"
	  fi
	fi
	# The tests of storage classes of S3.
	if [[ ! -d "$$into/moto/moto" ]]; then
	  if ! command -v python3 > /dev/null; then
	    echo "skipped: fetching moto (no Python here)"
	  elif ! python3 -m pip install -q --target "$$into/moto" 'moto[s3]==5.1.22' flask flask-cors > /dev/null 2>&1; then
	    rm -rf "$$into/moto"
	    echo "skipped: fetching moto (pip failed)"
	  fi
	fi
	# Python had nntplib up to 3.12.
	if command -v python3 > /dev/null && ! PYTHONPATH="$$into/python" python3 -W ignore -c 'import nntplib' 2> /dev/null; then
	  python3 -m pip install -q --target "$$into/python" standard-nntplib > /dev/null 2>&1 ||
	    echo "skipped: fetching nntplib for Python (pip failed)"
	fi

bench:
	@bench/run $(BENCH)

man:
	@$(CARGO) run -q -p broadsheet -- man --out "$(TARGET)/man8"
	echo "$(TARGET)/man8"

# The manual of docs/SUMMARY.md. mdbook is built where it is not installed, which takes some minutes; Debian 12 has no package of it.
book:
	@mdbook="$$(command -v mdbook || echo "$(TARGET)/mdbook/bin/mdbook")"
	if [[ ! -x "$$mdbook" ]]; then
	  $(CARGO) install --locked --no-default-features --root "$(TARGET)/mdbook" mdbook@0.4.52
	fi
	mkdir -p "$(TARGET)/book"
	"$$mdbook" build --dest-dir "$$(cd "$(TARGET)/book" && pwd)" docs
	echo "$(TARGET)/book/index.html"
