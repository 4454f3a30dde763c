# shellcheck shell=bash disable=SC2154
# Sourced by tests/run: folders with a Debian release each, made by debootstrap. Needs root, or sudo without a password.

# find_mirror RELEASE: prints the first of this system's own package sources that has it. Another one can be given in
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
        if wget -q --tries=2 --timeout=20 -O /dev/null "${uri%/}/dists/$1/Release"; then
            echo "${uri%/}"
            return 0
        fi
    done
    return 1
}

# make_debian RELEASE FOLDER: the release's smallest system, with the way to packages that this one has.
make_debian()
{
    local release=$1 folder=$2 mirror log=$2.log
    if ! as_root true; then
        say "a Debian folder needs root, or sudo without a password"
        return 1
    fi
    mkdir -p "$(dirname "$folder")"
    install_packages debootstrap wget
    mirror=$(find_mirror "$release") || {
        say "none of this system's package sources has $release: name one in HEDDLE_DEBIAN_MIRROR"
        return 1
    }
    say "$release from $mirror into $folder"
    as_root rm -rf "$folder"
    if ! as_root debootstrap --variant=minbase "$release" "$folder" "$mirror" >"$log" 2>&1; then
        tail -n 20 "$log"
        as_root rm -rf "$folder"
        return 1
    fi
    # As an installer writes it: Chromium's driver finds the browser by this name.
    echo '127.0.0.1 localhost' | as_root tee "$folder/etc/hosts" >/dev/null
    apt-config dump | grep -iE '^Acquire::(https?::Proxy|Check-)' |
        as_root tee "$folder/etc/apt/apt.conf.d/90host" >/dev/null
}

# in_debian FOLDER COMMAND...: with none of this system's environment but HEDDLE_SEED and proxies. Mounts are of a name
# space of their own and go with it; Criterion needs them.
in_debian()
{
    local folder=$1 name environment=(PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root)
    shift
    for name in HEDDLE_SEED http_proxy https_proxy no_proxy; do
        [ -n "${!name:-}" ] && environment+=("$name=${!name}")
    done
    # shellcheck disable=SC2016
    as_root unshare -m chroot "$folder" env -i "${environment[@]}" bash -c '
        mount -t proc proc /proc && mkdir -p /dev/shm && mount -t tmpfs tmpfs /dev/shm && "$@"' bash "$@"
}

# ---- --debian13: this tree, as it is, under the newer driver and validation layer ----

debian13=$root/build/debian13
debian13_packages=("${build_packages[@]}" mesa-vulkan-drivers vulkan-validationlayers libcriterion-dev)

# set_up_debian13: makes the folder, or finds that it is there.
set_up_debian13()
{
    local log=$debian13.log stamp=$debian13/.heddle-packages
    if [ "$(cat "$stamp" 2>/dev/null)" = "${debian13_packages[*]}" ]; then
        return 0
    fi
    make_debian trixie "$debian13" || return 1
    say "installing packages in $debian13"
    if ! in_debian "$debian13" apt-get -q -y update >>"$log" 2>&1 ||
       ! in_debian "$debian13" env DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends \
            "${debian13_packages[@]}" >>"$log" 2>&1; then
        tail -n 20 "$log"
        return 1
    fi
    echo "${debian13_packages[*]}" | as_root tee "$stamp" >/dev/null
}

# in_debian13 COUNT: samples, tests of the executor and so many random graphs.
in_debian13()
{
    local folder=$debian13/heddle
    as_root mkdir -p "$folder"
    as_root find "$folder" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
    tar -C "$root" --exclude=./build --exclude=./out --exclude=./.git -cf - . | as_root tar -C "$folder" -xf -
    # shellcheck disable=SC2016
    in_debian "$debian13" bash -c '
        . /heddle/samples/setup.sh
        say "building in Debian 13"
        configure_and_build release release -DHEDDLE_BENCH=OFF &&
            /heddle/tests/scenes/run /heddle/build/release &&
            /heddle/tests/vk/layered /heddle/build/release --random "$0" --several' "$1"
}

# ---- --bare: what a new user does, on a new system ----

# run_bare RELEASE [OPTION...]: a fresh clone of HEAD in a fresh folder, build/bare-RELEASE; samples/run, then tests/run
# with the options. Prints the time of each. The last line is that of tests/run.
run_bare()
{
    local release=$1 folder=$root/build/bare-$1 began=$SECONDS status=0
    shift
    if ! make_debian "$release" "$folder" ||
       ! as_root git -c safe.directory='*' clone -q --no-hardlinks "$root" "$folder/root/heddle"; then
        return 1
    fi
    say "$release: folder made in $((SECONDS - began)) s; samples/run"
    began=$SECONDS
    in_debian "$folder" /root/heddle/samples/run || status=1
    say "$release: samples/run took $((SECONDS - began)) s and ended with $status; tests/run $*"
    [ $status -eq 0 ] || return 1
    began=$SECONDS
    in_debian "$folder" /root/heddle/tests/run "$@" || status=1
    say "$release: tests/run took $((SECONDS - began)) s and ended with $status"
    return $status
}
