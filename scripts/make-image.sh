#!/usr/bin/env bash
# Makes a container image of a release: from scratch, with the one static binary and the licences of what is in it. It
# needs no container engine, and the same archive gives the same bytes.
#
#   scripts/make-image.sh ARCHIVE [OUTPUT_DIRECTORY]      ARCHIVE: ioc_exporter-VERSION.linux-ARCH.tar.gz of
#                                                         scripts/make-release.sh; output: beside it
#
# ioc_exporter-VERSION.linux-ARCH.oci.tar is an OCI image layout with the manifest.json that Docker before 25 wants:
# docker load, podman load, ctr image import, skopeo copy oci-archive:... take it.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

[ $# -ge 1 ] && [ $# -le 2 ] || die "usage: scripts/make-image.sh ARCHIVE [OUTPUT_DIRECTORY]"
archive=$1
output=${2:-$(dirname "$archive")}
name=$(basename "$archive" .tar.gz)
[[ $name =~ ^ioc_exporter-(.+)\.linux-([a-z0-9_]+)$ ]] || die "$archive is no archive of scripts/make-release.sh"
version=${BASH_REMATCH[1]} arch=${BASH_REMATCH[2]}
tag=${version//+/_} # what a registry takes

mkdir -p "$output"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tar -x -f "$archive" -C "$work"
seconds=$(stat -c %Y "$work/$name/ioc_exporter") # the time of the sources

# In one order, of one time, of nobody in particular.
pack() { # DIRECTORY TAR_FILE ENTRY...
  local directory=$1 file=$2
  shift 2
  tar --create --file "$file" --directory "$directory" --sort=name --mtime="@$seconds" --owner=0 --group=0 \
    --numeric-owner --mode=u+rw,go=rX --format=gnu "$@"
}
sha256() { sha256sum "$1" | cut -d ' ' -f 1; }

blobs=$work/image/blobs/sha256
mkdir -p "$blobs"
# blob FILE: takes it among the blobs; its digest.
blob() {
  local digest
  digest=$(sha256 "$1")
  mv "$1" "$blobs/$digest"
  echo "$digest"
}

root=$work/root
mkdir -p "$root/usr/share/doc/ioc_exporter" "$root/var/lib/ioc_exporter" "$root/etc/ioc_exporter"
install -m 755 "$work/$name/ioc_exporter" "$root/ioc_exporter"
cp -r "$work/$name/LICENSE" "$work/$name/licences" "$root/usr/share/doc/ioc_exporter"
pack "$root" "$work/layer" etc ioc_exporter usr var
layer_id=$(sha256 "$work/layer")
gzip -9n "$work/layer"
layer_size=$(stat -c %s "$work/layer.gz")
layer=$(blob "$work/layer.gz")

created=$(date -u -d "@$seconds" +%Y-%m-%dT%H:%M:%SZ)
cat >"$work/config" <<JSON
{"created":"$created","architecture":"$arch","os":"linux","config":{"ExposedPorts":{"10064/tcp":{}},
"Entrypoint":["/ioc_exporter"],"Env":["STATE_DIRECTORY=/var/lib/ioc_exporter"],"WorkingDir":"/",
"Labels":{"org.opencontainers.image.title":"ioc_exporter","org.opencontainers.image.version":"$version",
"org.opencontainers.image.licenses":"BSD-3-Clause"}},
"rootfs":{"type":"layers","diff_ids":["sha256:$layer_id"]},
"history":[{"created":"$created","created_by":"scripts/make-image.sh"}]}
JSON
config_size=$(stat -c %s "$work/config")
config=$(blob "$work/config")

oci=application/vnd.oci.image
cat >"$work/manifest" <<JSON
{"schemaVersion":2,"mediaType":"$oci.manifest.v1+json",
"config":{"mediaType":"$oci.config.v1+json","digest":"sha256:$config","size":$config_size},
"layers":[{"mediaType":"$oci.layer.v1.tar+gzip","digest":"sha256:$layer","size":$layer_size}]}
JSON
manifest_size=$(stat -c %s "$work/manifest")
manifest=$(blob "$work/manifest")

echo '{"imageLayoutVersion":"1.0.0"}' >"$work/image/oci-layout"
cat >"$work/image/index.json" <<JSON
{"schemaVersion":2,"mediaType":"$oci.index.v1+json","manifests":[{"mediaType":"$oci.manifest.v1+json",
"digest":"sha256:$manifest","size":$manifest_size,"platform":{"architecture":"$arch","os":"linux"},
"annotations":{"org.opencontainers.image.ref.name":"$tag","io.containerd.image.name":"localhost/ioc_exporter:$tag"}}]}
JSON
cat >"$work/image/manifest.json" <<JSON
[{"Config":"blobs/sha256/$config","RepoTags":["localhost/ioc_exporter:$tag"],"Layers":["blobs/sha256/$layer"]}]
JSON

image=$name.oci.tar
pack "$work/image" "$output/$image" blobs index.json manifest.json oci-layout
touch "$output/SHA256SUMS"
sums=$(cd "$output" && { grep -v "  $image\$" SHA256SUMS || true; } && sha256sum "$image")
printf '%s\n' "$sums" >"$output/SHA256SUMS"
say "made $output/$image ($(stat -c %s "$output/$image") bytes)"
