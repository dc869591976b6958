#!/usr/bin/env bash
# movie.sh SCENE FOLDER TOTAL
# Joins the pictures FOLDER/SCENE.0001.png … of a scene to FOLDER/SCENE.gif, an animation that repeats.
set -euo pipefail

scene=$1 folder=$2 total=$3
cd "$folder"

pictures=()
for ((frame = 1; frame <= total; frame++)); do
  picture=$(printf '%s.%04d.png' "$scene" "$frame")
  if [ ! -s "$picture" ]; then
    echo "$folder/$picture is missing; render the whole range before the movie" >&2
    exit 1
  fi
  pictures+=("$picture")
done

part=".$scene.attempt${QB_ATTEMPT:-1}.$$.gif"
trap 'rm -f "$part"' EXIT
convert -limit thread 1 -delay 8 -loop 0 "${pictures[@]}" -layers optimize "$part"

joined=$(identify -format 'x' "$part" | wc -c)
if [ "$joined" -ne "$total" ]; then
  echo "the movie has $joined pictures, expected $total" >&2
  exit 1
fi
mv -f "$part" "$scene.gif"
echo "$folder/$scene.gif"
