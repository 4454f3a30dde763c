# Sourced by tests/run and samples/run: sets root, installs what is missing where apt is, and offers configure_and_build.
# Works from any folder, without a terminal, as root, through sudo, or (with what is there) without either.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say()
{
    printf '== %s\n' "$*"
}

# as_root COMMAND...: as it is for root, through sudo otherwise; fails when neither works. Without a terminal sudo must
# not ask for a password.
as_root()
{
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif command -v sudo >/dev/null && { [ -t 0 ] || sudo -n true 2>/dev/null; }; then
        sudo "$@"
    else
        return 1
    fi
}

apt_get()
{
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Acquire::Retries=3 -o DPkg::Lock::Timeout=120 "$@"
}

is_installed()
{
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# enable_universe PACKAGE...: minimal Ubuntu systems leave out the component that has most of what is installed here.
enable_universe()
{
    local package
    (. /etc/os-release && [ "$ID" = ubuntu ]) 2>/dev/null || return 0
    for package in "$@"; do
        apt-cache show "$package" >/dev/null 2>&1 && continue
        say "enabling Ubuntu's universe component, which has $package"
        apt_get install --no-install-recommends software-properties-common >/dev/null 2>&1 &&
            as_root add-apt-repository -y universe >/dev/null 2>&1 || say "could not enable it"
        return 0
    done
}

# install_packages PACKAGE...: never stops the script. A package that this release does not know, or that cannot be
# installed, is named, and the build then says what it misses.
install_packages()
{
    local missing=() package
    if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
        say "not a Debian or Ubuntu system: carrying on with what is there (wanted: $*)"
        return 0
    fi
    for package in "$@"; do
        is_installed "$package" || missing+=("$package")
    done
    [ ${#missing[@]} -eq 0 ] && return 0
    say "installing: ${missing[*]}"
    if ! as_root true; then
        say "neither root nor sudo: carrying on without them"
        return 0
    fi
    apt_get update >/dev/null || say "apt-get update failed: carrying on with the lists that are there"
    enable_universe "${missing[@]}"
    if ! apt_get install --no-install-recommends "${missing[@]}" >/dev/null 2>&1; then
        # One unknown name makes apt refuse them all.
        for package in "${missing[@]}"; do
            apt_get install --no-install-recommends "$package" >/dev/null 2>&1 || say "could not install $package"
        done
    fi
    return 0
}

build_packages=(build-essential cmake ninja-build pkg-config libcglm-dev libck-dev libglfw3-dev libjansson-dev libjs-d3
                libmicrohttpd-dev libpng-dev libvulkan-dev libvulkan-volk-dev libwebp-dev glslang-tools python3
                spirv-tools)
run_packages=(mesa-vulkan-drivers graphviz)
test_packages=(chromium chromium-driver clang libcriterion-dev libtbb-dev libxcb1-dev spin vulkan-validationlayers
               vulkan-tools xauth xvfb)

# configure_and_build FOLDER PRESET [CMAKE-OPTION...] [-- NINJA-TARGET...]: quiet when it works; the log's errors when not.
configure_and_build()
{
    local folder=$root/build/$1 preset=$2 options=() log
    shift 2
    while [ $# -gt 0 ] && [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    [ $# -gt 0 ] && shift
    mkdir -p "$folder"
    log=$folder/build.log
    if ! (cd "$root" && cmake --preset "$preset" -B "$folder" "${options[@]}") >"$log" 2>&1 ||
       ! cmake --build "$folder" ${1:+--target "$@"} >>"$log" 2>&1; then
        say "the build in $folder failed (log: $log)"
        grep -nE 'error|Error|FAILED|warning' "$log" | head -40
        tail -n 15 "$log"
        return 1
    fi
}
