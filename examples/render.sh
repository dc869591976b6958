#!/usr/bin/env bash
# render.sh SCENE FOLDER FRAME TOTAL [FLAWED]
# Renders one picture of a scene: frame FRAME (from 1) of TOTAL, to FOLDER/SCENE.NNNN.png, on one core.
#
# An item may run more than once, as when a slot is taken from it half-way. So the picture is written under
# a name of this attempt's own, looked at, and only then renamed: the final name never shows half a picture.
#
# Frame FLAWED is given half of the scene's text on its first attempt, to show what a failure looks like.
set -euo pipefail

width=320 height=180

scene=$1 folder=$2 frame=$((10#$3)) total=$4 flawed=${5:-0}
attempt=${QB_ATTEMPT:-1}
examples=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
name=$(printf '%s.%04d.png' "$scene" "$frame")
part="$folder/.$name.attempt$attempt.$$"
trap 'rm -rf "$part" "$part.scene"' EXIT

# POV-Ray reads and writes only in the folder it stands in (and in /tmp), so it stands beside the scene
# and sends the picture to its standard output.
cd "$examples"
if [ "$frame" -eq "$flawed" ] && [ "$attempt" -eq 1 ]; then
  mkdir "$part.scene"
  head -c 2600 "$scene.pov" >"$part.scene/$scene.pov"
  cd "$part.scene"
  echo "frame $frame gets a scene file that was cut short, on this first attempt only" >&2
fi

clock=$(printf '%d.%06d' 0 $(((frame - 1) * 1000000 / total)))
echo "$scene: frame $frame of $total, clock $clock, attempt $attempt on $(hostname)"
povray -D +WT1 "+W$width" "+H$height" +A0.4 +R2 "+K$clock" "+I$scene.pov" +FN +O- >"$part"

# %k counts the colours, for which every pixel has to be decoded.
read -r size colours < <(identify -regard-warnings -format '%wx%h %k\n' "png:$part")
if [ "$size" != "${width}x$height" ] || [ "$colours" -lt 100 ]; then
  echo "$name: the picture is $size with $colours colours, expected ${width}x$height and some hundred colours" >&2
  exit 1
fi
mv -f "$part" "$folder/$name"
echo "$folder/$name"
