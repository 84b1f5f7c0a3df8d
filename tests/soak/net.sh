#!/usr/bin/env bash
# net.sh BUILD: the ring, meshes and tori, flit by flit: NET_PACKETS (1e8) over links with errors,
# NET_FLIT_HOPS (1e9) at saturation on every topology.
set -u
status=0
"$1/tests/soak_net" errors "${NET_PACKETS:-1e8}" || status=1
"$1/tests/soak_net" saturation "${NET_FLIT_HOPS:-1e9}" || status=1
exit "$status"
