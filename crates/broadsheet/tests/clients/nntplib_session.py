# Every method of nntplib against the server of program/clients.rs: the articles 1 to 5 (<one-1@example.com> and on) in
# test.one, in reply to each other, none in test.two, which is newer. Arguments: host, port. Ends with 0 when all answers
# are right.
import datetime
import sys

try:
    import nntplib
except ImportError:
    sys.exit("skipped: Python has no nntplib (`make peers' fetches it)")

host, port = sys.argv[1], int(sys.argv[2])


def same(what, got, wanted):
    if got != wanted:
        sys.exit(f"{what}: got {got!r}, wanted {wanted!r}")


def refused(what, code, question, *words, **named):
    try:
        answer = question(*words, **named)
    except nntplib.NNTPError as error:
        same(what, error.response[:3], code)
    else:
        sys.exit(f"{what}: not refused, but {answer!r}")


began = datetime.datetime(2020, 1, 1)
server = nntplib.NNTP(host, port, readermode=True)
same("welcome", server.getwelcome()[:3], "200")
capabilities = server.getcapabilities()
for name in ["VERSION", "READER", "OVER", "HDR", "POST", "NEWNEWS"]:
    same(name, name in capabilities, True)
same("version", server.nntp_version, 2)

reply, groups = server.list()
same("list", [group for group in groups if group.group == "test.one"], [("test.one", "5", "1", "y")])
reply, groups = server.list("test.*")
same("list test.*", sorted(group.group for group in groups), ["test.one", "test.two"])
reply, told = server.descriptions("test.*")
same("descriptions", told["test.one"], "The first group")
same("description", server.description("test.one"), "The first group")
reply, groups = server.newgroups(began)
same("newgroups", [group.group for group in groups], ["test.two"])
same("newgroups of tomorrow", server.newgroups(datetime.datetime.now() + datetime.timedelta(days=2))[1], [])
reply, ids = server.newnews("test.*", began)
same("newnews", sorted(ids), [f"<one-{number}@example.com>" for number in range(1, 6)])
reply, date = server.date()
same("date", abs((date - datetime.datetime.utcnow()).total_seconds()) < 600, True)
same("help", server.help()[0][:3], "100")

refused("no group yet", "412", server.next)
refused("group that is not there", "411", server.group, "no.such.group")
same("empty group", server.group("test.two")[1], 0)
reply, count, first, last, name = server.group("test.one")
same("group", (count, first, last, name), (5, 1, 5, "test.one"))

same("stat", server.stat(2)[1:], (2, "<one-2@example.com>"))
same("next", server.next()[1:], (3, "<one-3@example.com>"))
same("last", server.last()[1:], (2, "<one-2@example.com>"))
same("stat of the current one", server.stat()[1:], (2, "<one-2@example.com>"))
same("last", server.last()[1:], (1, "<one-1@example.com>"))
refused("before the first", "422", server.last)
server.stat(5)
refused("after the last", "421", server.next)
refused("number that is not there", "423", server.article, 17)
refused("id that is not there", "430", server.article, "<none@example.com>")

reply, rows = server.over((2, 4))
same("over", [number for number, row in rows], [2, 3, 4])
row = rows[1][1]
same("over, Subject", nntplib.decode_header(row["subject"]), "Re: Grüße, 3")
same("over, id", row["message-id"], "<one-3@example.com>")
same("over, References", row["references"], "<one-1@example.com> <one-2@example.com>")
same("over, lines", row[":lines"], "5")
same("over, from", nntplib.decode_header(row["from"]), "User <user@example.com>")
same("over, xref", row["xref"].split()[1:], ["test.one:3"])
octets = int(row[":bytes"])
same("over to the end", [number for number, row in server.over((4, None))[1]], [4, 5])
same("over by id", server.over("<one-4@example.com>")[1][0][1]["message-id"], "<one-4@example.com>")
same("xover", [row["message-id"] for number, row in server.xover(1, 2)[1]], ["<one-1@example.com>", "<one-2@example.com>"])
refused("over of nothing", "423", server.over, (10, 20))

reply, article = server.article(3)
same("article", (article.number, article.message_id), (3, "<one-3@example.com>"))
same("octets of the article", sum(len(line) + 2 for line in article.lines), octets)
same("headers of the article", b"Message-ID: <one-3@example.com>" in article.lines, True)
same("body of the article", article.lines[-2:], [b"..", b"last"])
head = server.head("<one-3@example.com>")[1]
body = server.body("<one-3@example.com>")[1]
same("by id the number is 0", (head.number, body.number), (0, 0))
same("head and body", head.lines + [b""] + body.lines, article.lines)
same("xhdr", server.xhdr("references", "2-3")[1], [("2", "<one-1@example.com>"), ("3", row["references"])])
same("xhdr of an id", server.xhdr("from", "<one-1@example.com>")[1], ["<one-1@example.com> User <user@example.com>"])

post = b"""From: Poster <poster@example.com>
Newsgroups: test.two
Subject: A post from nntplib
Message-ID: <nntplib-1@example.com>

First line
..two dots
.
After the dot, and \xc3\xa4
"""
same("post", server.post(post)[:3], "240")
same("posted", server.group("test.two")[1:4], (1, 1, 1))
article = server.article(1)[1]
same("its id", article.message_id, "<nntplib-1@example.com>")
same("its body", article.lines[-4:], [b"First line", b"..two dots", b".", "After the dot, and ä".encode()])
names = [line.split(b":")[0].lower() for line in article.lines[: article.lines.index(b"")]]
for name in [b"path", b"date", b"injection-info", b"cancel-lock", b"xref"]:
    same(f"{name} added", name in names, True)
refused("posted twice", "441", server.post, post)
refused("post without Subject", "441", server.post, b"From: a@example.com\nNewsgroups: test.two\n\nbody\n")

moved = b"""Path: peer.example.com!not-for-mail
From: Peer <peer@example.com>
Newsgroups: test.two
Subject: From a peer
Date: Mon, 01 Jun 2026 12:00:00 +0000
Message-ID: <nntplib-2@example.com>

.
body
"""
same("ihave", server.ihave("<nntplib-2@example.com>", moved)[:3], "235")
refused("ihave again", "435", server.ihave, "<nntplib-2@example.com>", moved)
same("it has come", server.stat("<nntplib-2@example.com>")[2], "<nntplib-2@example.com>")
same("quit", server.quit()[:3], "205")
print("all answers are right")
