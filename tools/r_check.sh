#!/usr/bin/env bash
# R CMD check of the package in r/, with the program on the path. A warning fails it, too. The
# vignette is a test of its own (r.package.vignette), because its pages need LaTeX.
# usage: tools/r_check.sh FOLDER_OF_PROGRAM WORK_FOLDER
set -euo pipefail
source=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../r" && pwd)
programs=$(cd -- "$1" && pwd)
rm -rf -- "$2"
mkdir -p -- "$2"
cd -- "$2"
export PATH=$programs:$PATH TACET_PROGRAM_EXPECTED=1 _R_CHECK_FORCE_SUGGESTS_=false
# The check reads the indexes of R's archives. An empty one keeps it off the network.
mkdir -p none/src/contrib
: > none/src/contrib/PACKAGES
{
  printf 'menu_name\tURL\tdefault\tsource\twin.binary\tmac.binary\n'
  for name in CRAN BioCsoft BioCann BioCexp; do
    printf '%s\t%s\tfile://%s/none\tTRUE\tTRUE\tFALSE\tFALSE\n' $name $name "$PWD"
  done
} > repositories
export R_REPOSITORIES=$PWD/repositories
R --vanilla CMD build --no-build-vignettes "$source"
R --vanilla CMD check --no-manual --ignore-vignettes tacet_*.tar.gz
! grep -E '(WARNING|ERROR)$|^Status: .*(WARNING|ERROR)' tacet.Rcheck/00check.log
