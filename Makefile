# The few commands of daily work. Meson does the building: `ninja -C build` works too.
PREFIX ?= /usr/local
DESTDIR ?=

.PHONY: all run test bench soak install format clean help

all:
	@scripts/build build --prefix=$(PREFIX)

run:
	@scripts/setup build
	@$(MAKE) --no-print-directory all
	build/dimmnet sim papers --json >build/simulated.json
	build/dimmnet run -n 4 build/examples/papers build/simulated.json
	FAGUS_FORCE_REMOTE=1 build/dimmnet run -n 2 build/examples/fagus/papers build/simulated.json

test:
	@scripts/setup build test
	@scripts/test

bench: all
	@scripts/bench

soak: all
	@scripts/soak

install: all
	DESTDIR=$(DESTDIR) meson install -C build --no-rebuild
	@if [ -z "$(DESTDIR)" ] && [ "$$(id -u)" = 0 ]; then ldconfig; fi

format:
	git ls-files -co --exclude-standard '*.[ch]' | xargs clang-format -i

clean:
	rm -rf build

help:
	@echo 'make          build the library, the command (build/dimmnet) and the examples'
	@echo 'make run      install what is missing, build, and run the papers'"'"' experiments: live, simulated'
	@echo 'make test     install what is missing and run all tests (scripts/test --list)'
	@echo 'make bench    measure against the limits of this machine and other libraries'
	@echo 'make soak     the long tests'
	@echo 'make install  to PREFIX ($(PREFIX)) under DESTDIR'
	@echo 'make format   lay out all C files by .clang-format'
	@echo 'make clean    remove build/'
