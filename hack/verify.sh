#!/usr/bin/env bash
# Checks that every generated file is what its sources say: generates them in a copy of the checkout and compares.
set -euo pipefail
cd "$(dirname "$0")/.."

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
# What git knows or would add, as it is in the working tree; deleted files are left out.
git ls-files --cached --others --exclude-standard -z | while IFS= read -r -d '' file; do
  [ -e "$file" ] && printf '%s\0' "$file"
done | tar --null --files-from=- -cf - | tar -xf - -C "$copy"

make --no-print-directory -C "$copy" generate manifests >/dev/null
for folder in api config; do
  diff -ru "$folder" "$copy/$folder" || { echo "Generated files are stale: run 'make generate manifests' and commit the result" >&2; exit 1; }
done
echo "Generated files are fresh"
