# Sourced by the demos in the repository's root. Sets `data` to the data set to use: $TACET_DATA,
# else data/. Empty: generate synthetic handwriting. An empty TACET_DATA asks for that.
data=
if [ -n "${TACET_DATA:-}" ]; then
  if [ ! -e "$TACET_DATA" ]; then
    echo "demo: TACET_DATA is \"$TACET_DATA\", which does not exist. Correct or unset it." >&2
    exit 1
  fi
  data=$TACET_DATA
elif [ -z "${TACET_DATA+set}" ] && [ -e data ]; then
  data=data
fi
if [ -n "$data" ]; then
  echo "Data: $data"
else
  echo "Data: synthetic handwriting. To use your own, name a data set in TACET_DATA or put it into data/."
fi
