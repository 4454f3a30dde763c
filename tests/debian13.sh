# shellcheck shell=bash disable=SC2154
# Sourced by tests/run: a Debian 13 folder, for its Mesa (25.0) and its Khronos validation layer (1.4.309), which follows
# several queues and their timelines; that layer does not load on Debian 12. Needs root, or sudo without a password.

debian13=$root/build/debian13
debian13_packages=("${build_packages[@]}" mesa-vulkan-drivers vulkan-validationlayers libcriterion-dev)

# find_mirror: prints the first of this system's own package sources that has Debian 13 too. Another one can be given in
# HEDDLE_DEBIAN_MIRROR.
find_mirror()
{
    local uri
    if [ -n "${HEDDLE_DEBIAN_MIRROR:-}" ]; then
        echo "$HEDDLE_DEBIAN_MIRROR"
        return 0
    fi
    for uri in $(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources 2>/dev/null |
                 sed -nE 's/^deb +(\[[^]]*\] +)?([^ ]+) .*/\2/p; s/^URIs: *//p' | tr ' ' '\n' |
                 grep -E '^https?://' | awk '!seen[$0]++'); do
        if wget -q --tries=2 --timeout=20 -O /dev/null "${uri%/}/dists/trixie/Release"; then
            echo "${uri%/}"
            return 0
        fi
    done
    return 1
}

# set_up_debian13: makes the folder, or finds that it is there.
set_up_debian13()
{
    local mirror log=$root/build/debian13.log stamp=$debian13/.heddle-packages
    if [ "$(cat "$stamp" 2>/dev/null)" = "${debian13_packages[*]}" ]; then
        return 0
    fi
    if ! as_root true; then
        say "a Debian 13 folder needs root, or sudo without a password"
        return 1
    fi
    mkdir -p "$root/build"
    install_packages debootstrap wget
    if [ ! -x "$debian13/usr/bin/apt-get" ]; then
        mirror=$(find_mirror) || {
            say "none of this system's package sources has Debian 13: name one in HEDDLE_DEBIAN_MIRROR"
            return 1
        }
        say "Debian 13 from $mirror into $debian13"
        as_root rm -rf "$debian13"
        if ! as_root debootstrap --variant=minbase trixie "$debian13" "$mirror" >"$log" 2>&1; then
            tail -n 20 "$log"
            as_root rm -rf "$debian13"
            return 1
        fi
    fi
    say "installing packages in $debian13"
    if ! as_root chroot "$debian13" env DEBIAN_FRONTEND=noninteractive apt-get -q -y update >>"$log" 2>&1 ||
       ! as_root chroot "$debian13" env DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends \
            "${debian13_packages[@]}" >>"$log" 2>&1; then
        tail -n 20 "$log"
        return 1
    fi
    echo "${debian13_packages[*]}" | as_root tee "$stamp" >/dev/null
}

# in_debian13 COUNT: this tree, as it is, built and run there. Mounts are of a name space of their own and go with it;
# Criterion needs them.
in_debian13()
{
    local folder=$debian13/heddle
    as_root mkdir -p "$folder"
    as_root find "$folder" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
    tar -C "$root" --exclude=./build --exclude=./out --exclude=./.git -cf - . | as_root tar -C "$folder" -xf -
    # shellcheck disable=SC2016
    as_root unshare -m chroot "$debian13" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
        HEDDLE_SEED="${HEDDLE_SEED:-1}" bash -c '
            mount -t proc proc /proc
            mkdir -p /dev/shm
            mount -t tmpfs tmpfs /dev/shm
            . /heddle/samples/setup.sh
            say "building in Debian 13"
            configure_and_build release release -DHEDDLE_BENCH=OFF &&
                /heddle/tests/vk/layered /heddle/build/release --random "$0" --several' "$1"
}
