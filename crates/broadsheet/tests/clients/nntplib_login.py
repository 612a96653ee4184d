# nntplib logs in after STARTTLS, and where TLS comes first. Arguments: host, port, port with TLS, the certificate.
import ssl
import sys

try:
    import nntplib
except ImportError:
    sys.exit("skipped: Python has no nntplib (`make peers' fetches it)")

host, port, tls_port, certificate = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]


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


trust = ssl.create_default_context(cafile=certificate)

server = nntplib.NNTP(host, port)
same("STARTTLS is offered", "STARTTLS" in server.getcapabilities(), True)
refused("reading before the login", "480", server.group, "test.one")
refused("a password without TLS", "483", server.login, "anna", "hazelnut")
server.quit()

server = nntplib.NNTP(host, port)
server.starttls(trust)
same("STARTTLS is not offered again", "STARTTLS" in server.getcapabilities(), False)
same("AUTHINFO is offered", "USER" in server.getcapabilities()["AUTHINFO"], True)
refused("a wrong password", "481", server.login, "anna", "walnut")
server.login("anna", "hazelnut")
same("AUTHINFO is not offered again", "AUTHINFO" in server.getcapabilities(), False)
same("group", server.group("test.one")[1], 5)
same("article", server.article(5)[1].message_id, "<one-5@example.com>")
server.quit()

server = nntplib.NNTP_SSL(host, tls_port, user="berta", password="walnutshell", ssl_context=trust)
same("group over TLS", server.group("test.one")[1], 5)
post = b"From: b@example.com\nNewsgroups: test.two\nSubject: over TLS\nMessage-ID: <tls@example.com>\n\nbody\n"
same("post over TLS", server.post(post)[:3], "240")
same("over, over TLS", server.over("<tls@example.com>")[1][0][1]["subject"], "over TLS")
server.quit()
