#!/usr/bin/env bash
# One ride of curl: POSTs of a producer and plain ones write, a long-poll and an event stream read. See the package documentation
# of test/ride for what is printed.
#
#   ride.sh STREAM-URL
set -euo pipefail

url=$1
work=$(mktemp -d)
# shellcheck disable=SC2046 # a list
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
json='Content-Type: application/json'

# say prints one line; a line this short is written at once, whoever else writes.
say() { printf '%s\n' "$1"; }

fail() { say "{\"event\":\"error\",\"by\":\"$1\",\"text\":\"$2\"}"; }

# ask BY ARGUMENTS...: curl, which must be answered with success.
ask() {
  local by=$1 status
  shift
  if ! status=$(curl --silent --max-time 60 --write-out '%{http_code}' --output "$work/$by.body" --dump-header "$work/$by.head" "$@"); then
    fail "$by" "curl has failed"
    return 1
  fi
  if [[ $status != 2?? ]]; then
    fail "$by" "answered $status"
    return 1
  fi
}

# write BY HEADERS...: appends numbered records until the file "stopped" is there. @ in a header stands for the number.
write() {
  local by=$1 count=0 header headers
  shift
  while [[ ! -e $work/stopped ]]; do
    headers=()
    for header in "$@"; do headers+=(--header "${header//@/$count}"); done
    ask "$by" --request POST --header "$json" "${headers[@]}" --data "{\"writer\":\"$by\",\"number\":$count}" "$url" || return
    count=$((count + 1))
  done
  say "{\"event\":\"wrote\",\"by\":\"$by\",\"count\":$count}"
}

# header FILE NAME: the value of a header that curl has dumped.
header() { sed -n "s/^$2: *\([^\r]*\).*/\1/Ip" "$1"; }

poll() {
  local by=long-poll offset=-1 cursor= body
  while true; do
    ask "$by" "$url?live=long-poll&offset=$offset&cursor=$cursor" || return
    offset=$(header "$work/$by.head" Stream-Next-Offset)
    cursor=$(header "$work/$by.head" Stream-Cursor)
    body=$(<"$work/$by.body")
    [[ -n $body ]] || continue
    say "{\"event\":\"read\",\"by\":\"$by\",\"records\":$body}"
    [[ $body != *'"end"'* ]] || return 0
  done
}

# events reads one connection after the other. A data event counts once its control event is there.
events() {
  local by=sse offset=-1 line data= kind=
  while true; do
    while IFS= read -r line; do
      case $line in
        event:*) kind=${line#event:} kind=${kind# } ;;
        data:*)
          if [[ $kind == data ]]; then
            data+=${line#data:}
            continue
          fi
          [[ $line =~ \"streamNextOffset\":\"([^\"]*)\" ]] && offset=${BASH_REMATCH[1]}
          [[ -n $data ]] || continue
          say "{\"event\":\"read\",\"by\":\"$by\",\"records\":$data}"
          [[ $data != *'"end"'* ]] || return 0
          data=
          ;;
      esac
    done < <(curl --silent --no-buffer --fail "$url?live=sse&offset=$offset" || fail "$by" "the event stream has broken: curl ended with $?")
    [[ -z $data ]] || fail "$by" "the event stream has ended between data and their control event"
    data=
  done
}

ask create --request PUT --header "$json" "$url"
write producer 'Producer-Id: producer' 'Producer-Epoch: 0' 'Producer-Seq: @' &
writers=($!)
write plain &
writers+=($!)
poll &
readers=($!)
events &
readers+=($!)

cat >/dev/null
touch "$work/stopped"
wait "${writers[@]}"
ask end --request POST --header "$json" --data '{"writer":"end","number":0}' "$url"
say '{"event":"wrote","by":"end","count":1}'
wait "${readers[@]}"
