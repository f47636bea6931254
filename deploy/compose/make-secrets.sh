#!/bin/sh
# make-secrets.sh HOST [DIRECTORY]: the secrets of compose.yaml and compose.single.yaml, random, in DIRECTORY (default: secrets
# beside this file). What is there is kept. Without a certificate there, it makes a self-signed one for HOST: replace it.
set -eu
host=${1:?usage: make-secrets.sh HOST [DIRECTORY]}
directory=${2:-$(dirname "$0")/secrets}
# The directory keeps others out; the files in it are readable, because containers read them as users of their own.
umask 022
mkdir -p "$directory"
chmod 700 "$directory"
cd "$directory"

random() { [ -s "$1" ] || openssl rand -hex "$2" > "$1"; }
random postgres_password 24
random scrapdeck_password 24
random cache_password 24
random secret_key 32
random scrapyd_password 24
random s3_secret 24

scrapyd=$(cat scrapyd_password)
s3=$(cat s3_secret)
printf 'requirepass %s\n' "$(cat cache_password)" > cache_conf
printf 'ROOT_ACCESS_KEY=scrapdeck ROOT_SECRET_KEY=%s\nexport ROOT_ACCESS_KEY ROOT_SECRET_KEY\n' "$s3" > s3_root
printf '[default]\naws_access_key_id = scrapdeck\naws_secret_access_key = %s\n' "$s3" > s3_credentials
printf '[scrapyd]\nusername = scrapdeck\npassword = %s\n' "$scrapyd" > scrapyd_conf
for number in 1 2 3; do
  printf 'http://scrapdeck:%s@scrapyd-%s:6800 name=scrapyd-%s\n' "$scrapyd" "$number" "$number"
done > nodes
head -n 1 nodes > node

if [ ! -s tls_certificate ]; then
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 90 -subj "/CN=$host" \
    -addext "subjectAltName=DNS:$host" -keyout tls_key -out tls_certificate 2> /dev/null
  # openssl keeps it to its owner.
  chmod 644 tls_key
fi
