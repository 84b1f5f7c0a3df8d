# The few commands of daily work. Meson does the building: `ninja -C build` works too.
PREFIX ?= /usr/local
DESTDIR ?=
BUILD ?= build
MESON_OPTIONS ?=

.PHONY: all run test test-all test-rest bench soak soak-faults install format clean help

all:
	@scripts/build $(BUILD) --prefix=$(PREFIX) $(MESON_OPTIONS)

run:
	@scripts/setup build
	@$(MAKE) --no-print-directory all
	build/dimmnet sim papers --json >build/simulated.json
	build/dimmnet run -n 4 build/examples/papers build/simulated.json
	FAGUS_FORCE_REMOTE=1 build/dimmnet run -n 2 build/examples/fagus/papers build/simulated.json
	build/dimmnet run -n 2 --fabric udp build/examples/fagus/papers build/simulated.json udp

test:
	@scripts/setup build test
	@scripts/test

test-all:
	@scripts/setup build test test-all
	@scripts/test --all

test-rest:
	@scripts/setup build test test-all
	@scripts/test --rest

bench: all
	@scripts/bench

soak: all
	@scripts/soak

soak-faults: all
	@tests/soak/faults/run.py $(BUILD) $(if $(MINUTES),--minutes $(MINUTES)) \
		$(if $(SEED),--seed $(SEED)) $(if $(ROUND),--round $(ROUND)) $(if $(TIMES),--times $(TIMES))

install: all
	DESTDIR=$(DESTDIR) meson install -C $(BUILD) --no-rebuild
	@if [ -z "$(DESTDIR)" ] && [ "$$(id -u)" = 0 ]; then ldconfig; fi

format:
	git ls-files -co --exclude-standard '*.[ch]' | xargs clang-format -i

clean:
	rm -rf build

help:
	@echo 'make          build the library, the command (build/dimmnet) and the examples'
	@echo 'make run      install what is missing, build, and run the papers'"'"' experiments: live, simulated'
	@echo 'make test     install what is missing and run the tests of every day (scripts/test --list)'
	@echo 'make test-all all tests, with more compilers, sanitizers, a browser and an emulator'
	@echo 'make test-rest those that test-all adds to test'
	@echo 'make bench    measure against the limits of this machine and other libraries'
	@echo 'make soak     the long tests'
	@echo 'make soak-faults  groups of nodes under random faults, for MINUTES (10); SEED repeats a run,'
	@echo '              with ROUND one round of it, TIMES times'
	@echo 'make install  to PREFIX ($(PREFIX)) under DESTDIR; BUILD is the build folder ($(BUILD)),'
	@echo '              MESON_OPTIONS are given to meson'
	@echo 'make format   lay out all C files by .clang-format'
	@echo 'make clean    remove build/'
