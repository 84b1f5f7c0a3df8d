#!/usr/bin/env bash
# The models with the searches that take minutes. usage: models.sh BUILD_FOLDER
set -u
MODEL_LONG=1 exec "$(dirname "$0")/../models/run_models.sh"
