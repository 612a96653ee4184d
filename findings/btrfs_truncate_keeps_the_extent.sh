#!/bin/sh
# Btrfs (seen on Linux 6.18) gives back nothing when a file is cut within an extent: 64 MiB that were written at once, then truncated to
# 1 MiB, keep all their space, although st_blocks says 1 MiB. Of 128 MiB allocated by one fallocate, 64 MiB stay. In pieces of 4 MiB, all
# but the piece with the new end comes back. A sync, and waiting, change nothing.
# Whom it hurts: whoever makes room by shortening files (logs, spools, ballast files, images), and every program that adds up st_blocks to
# tell how much space files use.
# Exits 1 if that changes. Needs root, a loop device, python3, dpkg and apt-get.
set -eu
work=$(mktemp -d)
trap 'umount "$work/mounted" 2>/dev/null || true; rm -rf "$work"' EXIT
cd "$work"
apt-get -q -o APT::Sandbox::User=root download btrfs-progs=6.2-1+deb12u2 >/dev/null
dpkg-deb -x btrfs-progs_*.deb root
truncate -s 512M image
root/sbin/mkfs.btrfs -q image >/dev/null 2>&1
mkdir mounted
mount -o loop image mounted
uname -r
cat >measure.py <<'END'
import os

MIB = 1 << 20


def used():
    os.sync()
    facts = os.statvfs("mounted")
    return (facts.f_blocks - facts.f_bfree) * facts.f_frsize


def returned(name, make):
    """MiB that come back when the file is cut to 1 MiB, and what st_blocks says it uses then."""
    file = os.open(f"mounted/{name}", os.O_RDWR | os.O_CREAT)
    make(file)
    os.fsync(file)
    before = used()
    os.ftruncate(file, MIB)
    os.fsync(file)
    back, blocks = (before - used()) // MIB, os.fstat(file).st_blocks * 512 // MIB
    os.close(file)
    os.unlink(f"mounted/{name}")
    print(f"{name}: {back} MiB came back, st_blocks says {blocks} MiB")
    return back, blocks


def write(file):
    os.write(file, os.urandom(MIB) * 64)


def in_pieces(file):
    for piece in range(32):
        os.posix_fallocate(file, piece * 4 * MIB, 4 * MIB)


written = returned("written", write)
whole = returned("allocated", lambda file: os.posix_fallocate(file, 0, 128 * MIB))
pieces = returned("in-pieces", in_pieces)
raise SystemExit(not (written == (0, 1) and whole == (64, 1) and pieces[0] >= 120))
END
if python3 measure.py; then
    echo "as described: the extent with the new end keeps its space"
else
    echo "it has changed"
    exit 1
fi
