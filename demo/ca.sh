#!/bin/sh
# Makes a private CA and one certificate per host. What exists and is still good for a day is kept.
#   ca.sh DIR HOST...   ->   DIR/ca.pem, DIR/ca.key, DIR/HOST.pem, DIR/HOST.key
set -eu
umask 077
[ $# -ge 1 ] || { echo "usage: ca.sh DIR [HOST...]" >&2; exit 2; }
dir=$1
shift
mkdir -p "$dir"
log=$dir/ca.log
trap 'status=$?; [ $status -eq 0 ] || { [ ! -f "$log" ] || cat "$log" >&2; }; rm -f "$log" "$dir"/*.tmp' EXIT

is_good() { [ -s "$1" ] && openssl x509 -in "$1" -noout -checkend 86400 >/dev/null 2>&1; }
new_key() { openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1" 2>"$log"; }

if ! is_good "$dir/ca.pem" || [ ! -s "$dir/ca.key" ]; then
  new_key "$dir/ca.key"
  openssl req -x509 -new -key "$dir/ca.key" -sha256 -days 30 -subj "/CN=Demonstration CA" \
    -addext "basicConstraints=critical,CA:TRUE,pathlen:0" -addext "keyUsage=critical,keyCertSign,cRLSign" \
    -out "$dir/ca.pem" 2>"$log"
fi

for host in "$@"; do
  case $host in
    '' | -* | *[!a-z0-9.-]*) echo "ca.sh: not a host name: '$host'" >&2; exit 2 ;;
  esac
  pem=$dir/$host.pem
  if is_good "$pem" && [ -s "$dir/$host.key" ] && openssl verify -CAfile "$dir/ca.pem" "$pem" >/dev/null 2>&1; then
    continue
  fi
  new_key "$dir/$host.key"
  # The common name may hold 64 characters only, so the host is in the SAN alone.
  openssl req -new -key "$dir/$host.key" -subj "/O=Demonstration" -out "$dir/csr.tmp" 2>"$log"
  {
    echo "subjectAltName=critical,DNS:$host"
    echo "basicConstraints=critical,CA:FALSE"
    echo "keyUsage=critical,digitalSignature"
    echo "extendedKeyUsage=serverAuth,clientAuth"
  } >"$dir/ext.tmp"
  openssl x509 -req -in "$dir/csr.tmp" -CA "$dir/ca.pem" -CAkey "$dir/ca.key" -sha256 -days 30 \
    -set_serial "0x$(openssl rand -hex 16)" -extfile "$dir/ext.tmp" -out "$pem.tmp" 2>"$log"
  mv "$pem.tmp" "$pem"
done
