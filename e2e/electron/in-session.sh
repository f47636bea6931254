#!/bin/sh
# Runs a command in a desktop session: with a window manager. The session bus and the display exist already.
openbox 2> /dev/null &
exec "$@"
