#!/usr/bin/env bash
# Checks that every generated file is what its sources say: generates them in a copy of the checkout and compares.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/checkout" "$work/before"
# What git knows or would add, as it is in the working tree; deleted files are left out.
git ls-files --cached --others --exclude-standard -z | while IFS= read -r -d '' file; do
  if [ -e "$file" ]; then printf '%s\0' "$file"; fi
done | tar --null --files-from=- -cf - | tar -xf - -C "$work/checkout"
cp -R "$work/checkout/api" "$work/checkout/config" "$work/checkout/charts" "$work/before"

make --no-print-directory -C "$work/checkout" generate manifests >/dev/null
for folder in api config charts; do
  diff -ru "$work/before/$folder" "$work/checkout/$folder" || {
    echo "Generated files are stale: run 'make generate manifests' and commit the result" >&2
    exit 1
  }
done
echo "Generated files are fresh"
