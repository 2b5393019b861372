# Debian's packages, unpacked and never installed, through package lists of their own: the machine's
# are left alone, and no architecture is added to it. Sourced. Each function returns 1 and leaves
# the reason in `why`.

debian_keyring=/usr/share/keyrings/debian-archive-keyring.gpg

# The archive that this machine's own apt reads. Before its first update apt does not know whose
# archives they are: then the first one that is not for security updates alone.
debian_archive() {
    local sites
    sites=$(apt-get indextargets --format '$(SITE) $(ORIGIN)/$(LABEL)' 2>/dev/null)
    awk '$2 == "Debian/Debian" { print $1; exit }' <<< "$sites" | grep . ||
        awk '!/security/ { print $1; exit }' <<< "$sites"
}

# debian_lists FOLDER ARCHITECTURE SUITE...: package lists under FOLDER, which the calls below read.
# An empty status file makes apt resolve every dependency afresh.
debian_lists() {
    local folder=$1 architecture=$2 archive=${ISOBAR_DEBIAN_ARCHIVE:-$(debian_archive)}
    shift 2
    [ -r "$debian_keyring" ] || { why="$debian_keyring is missing (no Debian here?)"; return 1; }
    [ -n "$archive" ] || { why="apt reads no archive of Debian here: name one in ISOBAR_DEBIAN_ARCHIVE"; return 1; }
    { mkdir -p "$folder/state/lists/partial" "$folder/cache/archives/partial" && : > "$folder/status"; } ||
        { why="$folder cannot be written"; return 1; }
    printf "deb [signed-by=$debian_keyring] $archive %s main\n" "$@" > "$folder/sources.list"
    debian_folder=$folder
    debian_apt=(-qq -o "APT::Architecture=$architecture" -o "APT::Architectures::=$architecture"
        -o "Dir::State::status=$folder/status" -o "Dir::State=$folder/state" -o "Dir::Cache=$folder/cache"
        -o "Dir::Etc::sourcelist=$folder/sources.list" -o Dir::Etc::sourceparts=/dev/null
        -o Dir::Etc::preferencesparts=/dev/null -o APT::Sandbox::User=root -o APT::Install-Recommends=false
        -o APT::Update::Error-Mode=any -o Acquire::Languages=none -o Debug::NoLocking=1
        -o Binary::apt-get::APT::Keep-Downloaded-Packages=true)
    apt-get "${debian_apt[@]}" update >&2 || { why="$archive cannot be reached"; return 1; }
}

# debian_named PATTERN: prints all packages on offer whose names match. (`pkgnames` also has names
# that other packages only mention.)
debian_named() {
    apt-cache "${debian_apt[@]}" search --names-only "$1" | cut -d ' ' -f 1
}

# debian_newest PATTERN: prints the newest of them.
debian_newest() { debian_named "$1" | sort -V | tail -n 1; }

# debian_unpack TO PACKAGE...: these packages alone.
debian_unpack() {
    local to=$1
    shift
    rm -f "$debian_folder"/*.deb
    (cd "$debian_folder" && apt-get "${debian_apt[@]}" download "$@" >&2) || { why="$* cannot be fetched"; return 1; }
    debian_unpack_files "$to" "$debian_folder"/*.deb
}

# debian_unpack_closure TO PACKAGE...: these packages and all that they depend on.
debian_unpack_closure() {
    local to=$1
    shift
    apt-get "${debian_apt[@]}" -y --download-only install "$@" >&2 || { why="$* cannot be fetched"; return 1; }
    debian_unpack_files "$to" "$debian_folder"/cache/archives/*.deb
}

debian_unpack_files() {
    local to=$1 package
    shift
    for package in "$@"; do
        dpkg -x "$package" "$to" || { why="$(basename "$package") cannot be unpacked"; return 1; }
    done
}
