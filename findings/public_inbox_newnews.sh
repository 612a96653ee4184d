#!/bin/sh
# public-inbox-nntpd 1.9.0 (Debian 12) decides by a date in the header (Received, else Date) what NEWNEWS lists, not by the time of
# arrival (RFC 3977, 7.4). A message that arrives today with the date of two days ago is never listed to somebody who asks since yesterday,
# or since a minute ago. LIST ACTIVE and GROUP count it at once.
# Whom it hurts: whoever mirrors such a server by NEWNEWS alone loses every message that was held up on its way.
# Exits 1 if that changes. Needs perl, git, dpkg and apt-get.
set -eu
work=$(mktemp -d)
trap 'test ! -f "$work/pid" || kill "$(cat "$work/pid")"; rm -rf "$work"' EXIT
cd "$work"
apt-get -q -o APT::Sandbox::User=root download public-inbox=1.9.0-1 libpublicinbox-perl=1.9.0-1 libdbi-perl libdbd-sqlite3-perl liburi-perl libsqlite3-0 >/dev/null
for package in *.deb; do dpkg-deb -x "$package" root; done
for library in "$work"/root/usr/share/perl5 "$work"/root/usr/lib/*/perl5/*; do PERL5LIB=${PERL5LIB:-}:$library; done
export PERL5LIB HOME="$work" PI_CONFIG="$work/config" PI_EMERGENCY="$work/emergency"
export LD_LIBRARY_PATH="$(echo "$work"/root/usr/lib/*-linux-gnu)" PATH="$work/root/usr/bin:$PATH"
git config --global user.name test
git config --global user.email test@example.org
mkdir emergency
public-inbox-init -L basic -V2 --ng comp.test test "$work/inbox" http://localhost/test test@example.org >/dev/null 2>&1
printf '[publicinboxmda]\n\tspamcheck = none\n' >>config
mail() {
    date=$(date -R -d "$2")
    printf 'From: A <a@example.org>\nTo: test@example.org\nSubject: test\nMessage-ID: <%s@example.org>\nDate: %s\nReceived: from a by b; %s\n\ntext\n' \
        "$1" "$date" "$date" | ORIGINAL_RECIPIENT=test@example.org public-inbox-mda --no-precheck
}
mail late '-2 days'
mail prompt now
port=$(perl -MIO::Socket::INET -e 'print IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1")->sockport')
public-inbox-nntpd -W0 -l "nntp://127.0.0.1:$port" >log 2>&1 &
echo $! >pid
perl -MIO::Socket::INET - "$port" "$(date -u -d '-1 day' '+%Y%m%d %H%M%S')" >answer <<'END'
my ($port, $since) = @ARGV;
my $socket;
for (1 .. 100) { last if $socket = IO::Socket::INET->new("127.0.0.1:$port"); select undef, undef, undef, 0.1 }
print scalar <$socket>;
for my $command ("LIST ACTIVE comp.test", "NEWNEWS comp.test $since GMT") {
    print $socket "$command\r\n";
    while (<$socket>) { print; last if $_ eq ".\r\n" }
}
END
tr -d '\r' <answer
if grep -q 'comp.test 2 1' answer && grep -q '<prompt@' answer && ! grep -q '<late@' answer; then
    echo "as described: the group has 2 messages, and NEWNEWS since yesterday lists the one with today's date"
else
    echo "it has changed"
    exit 1
fi
