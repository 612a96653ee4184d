//! The table of settings: one row feeds the commented file, the reading of it, `check` and `limits`.

use crate::{Setting, Slot, Unit};

const ANY: (u64, u64) = (0, u64::MAX >> 1);

/// Every setting, in the order of the file.
pub static TABLE: &[Setting] = &[
    Setting {
        section: "",
        key: "name",
        unit: Unit::Text,
        range: ANY,
        help: "This site's name: it goes in front of Path and names the host of Xref. Letters, digits, \
               `.', `-' and `_' only. Other sites know you by it: do not change it lightly.",
        slot: |s| Slot::Text(&mut s.name),
    },
    Setting {
        section: "",
        key: "organization",
        unit: Unit::Text,
        range: ANY,
        help: "For the Organization header of articles posted here; empty for none.",
        slot: |s| Slot::Text(&mut s.organization),
    },
    Setting {
        section: "",
        key: "log_format",
        unit: Unit::Text,
        range: ANY,
        help: "How `broadsheet serve' writes what it says on standard error: \"text\" (words, and what happened as key=value) or \
               \"json\" (an object a line). The file `log' is not meant.",
        slot: |s| Slot::Text(&mut s.log_format),
    },
    Setting {
        section: "",
        key: "sandbox",
        unit: Unit::Text,
        range: ANY,
        help: "Whether the daemon confines its threads (Landlock and seccomp): those that serve connections only read this directory, \
               the one that files only writes here, and neither starts a program. SECURITY.md says more.",
        slot: |s| Slot::Truth(&mut s.sandbox),
    },
    Setting {
        section: "limits",
        key: "article_bytes_max",
        unit: Unit::Bytes,
        range: (4 << 10, 1 << 30),
        help: "A larger article (header and body) is refused.",
        slot: |s| Slot::Number(&mut s.limits.article_bytes_max),
    },
    Setting {
        section: "limits",
        key: "header_bytes_max",
        unit: Unit::Bytes,
        range: (1 << 10, 64 << 20),
        help: "An article with a larger header is refused.",
        slot: |s| Slot::Number(&mut s.limits.header_bytes_max),
    },
    Setting {
        section: "limits",
        key: "groups_per_article_max",
        unit: Unit::Count("groups"),
        range: (1, 65_535),
        help: "An article that names more groups is refused.",
        slot: |s| Slot::Number(&mut s.limits.groups_per_article_max),
    },
    Setting {
        section: "limits",
        key: "message_id_bytes_max",
        unit: Unit::Count("bytes"),
        range: (16, 4_096),
        help: "An article with a longer Message-ID is refused. RFC 3977, 3.6, allows 250.",
        slot: |s| Slot::Number(&mut s.limits.message_id_bytes_max),
    },
    Setting {
        section: "limits",
        key: "clock_skew_seconds",
        unit: Unit::Count("seconds"),
        range: ANY,
        help: "An article with a Date further in the future is refused. C News allowed one day.",
        slot: |s| Slot::Number(&mut s.limits.clock_skew_seconds),
    },
    Setting {
        section: "limits",
        key: "article_age_days_max",
        unit: Unit::Count("days"),
        range: (0, 1_000_000),
        help: "An article with an older Date is refused; 0 for no limit, so that archives load as they \
               are. `rnews -o DAYS' sets it for one run.",
        slot: |s| Slot::Number(&mut s.limits.article_age_days_max),
    },
    Setting {
        section: "limits",
        key: "expansion_bytes_max",
        unit: Unit::Bytes,
        range: (1 << 20, 1 << 42),
        help: "A compressed batch that grows beyond this goes to bad/.",
        slot: |s| Slot::Number(&mut s.limits.expansion_bytes_max),
    },
    Setting {
        section: "limits",
        key: "expansion_ratio_max",
        unit: Unit::Count("times"),
        range: (10, 1_000_000),
        help: "A compressed batch that grows more than this many times goes to bad/. News shrinks to a third.",
        slot: |s| Slot::Number(&mut s.limits.expansion_ratio_max),
    },
    Setting {
        section: "store",
        key: "segment_bytes",
        unit: Unit::Bytes,
        range: (1 << 20, 2 << 30),
        help: "A segment is sealed, and the next begun, when it has reached this size. Smaller ones give \
               space back sooner; larger ones mean fewer files. At least twice limits.article_bytes_max.",
        slot: |s| Slot::Number(&mut s.store.segment_bytes),
    },
    Setting {
        section: "store",
        key: "commit_bytes",
        unit: Unit::Bytes,
        range: (4 << 10, 1 << 30),
        help: "A long batch is made durable whenever this much has been gathered: one write, one fdatasync. \
               It bounds memory, too.",
        slot: |s| Slot::Number(&mut s.store.commit_bytes),
    },
    Setting {
        section: "store",
        key: "checkpoint_bytes",
        unit: Unit::Bytes,
        range: (1 << 20, 1 << 30),
        help: "History, overview and index are synced, too, each time this much has been filed: it \
               bounds what is read again after a power cut.",
        slot: |s| Slot::Number(&mut s.store.checkpoint_bytes),
    },
    Setting {
        section: "store",
        key: "sync",
        unit: Unit::Text,
        range: ANY,
        help: "When articles are forced to the disk: \"each\" after every article, \"commit\" after every \
               commit and before rnews ends, \"none\" never (a power cut may then lose what was \
               acknowledged). `rnews --sync' sets it for one run.",
        slot: |s| Slot::Sync(&mut s.store.sync),
    },
    Setting {
        section: "control",
        key: "cancel",
        unit: Unit::Text,
        range: ANY,
        help: "Who may cancel or supersede an article: \"locked\" who has the Cancel-Key to its Cancel-Lock, \
               \"classic\" anybody, \"none\" nobody.",
        slot: |s| Slot::Cancel(&mut s.control.cancel),
    },
    Setting {
        section: "control",
        key: "age_days_max",
        unit: Unit::Count("days"),
        range: (0, 1_000_000),
        help: "An older newgroup, rmgroup or checkgroups is filed and not acted upon; 0 for no limit.",
        slot: |s| Slot::Number(&mut s.control.age_days_max),
    },
    Setting {
        section: "control",
        key: "name_part_bytes_max",
        unit: Unit::Count("bytes"),
        range: (1, 255),
        help: "A group with a longer part between two dots is not made by a control message. C News \
               allowed 14; some hierarchies have longer ones.",
        slot: |s| Slot::Number(&mut s.control.name_part_bytes_max),
    },
    Setting {
        section: "incoming",
        key: "keep_free",
        unit: Unit::Bytes,
        range: (0, 1 << 60),
        help: "A batch is not put into in.coming/ when less than this would stay free of the disk.",
        slot: |s| Slot::Number(&mut s.incoming.keep_free),
    },
    Setting {
        section: "incoming",
        key: "spool_after_seconds",
        unit: Unit::Count("seconds"),
        range: (0, 86_400),
        help: "When another program has been filing for so long, rnews leaves its batch in in.coming/ and ends with 0; \
               0: it waits. Say 2 where newsrun is run regularly.",
        slot: |s| Slot::Number(&mut s.incoming.spool_after_seconds),
    },
    Setting {
        section: "post",
        key: "mailname",
        unit: Unit::Text,
        range: ANY,
        help: "Stands behind the `@' of posters and of new Message-IDs. Empty: the first line of the file \
               `mailname' here, or else this site's name.",
        slot: |s| Slot::Text(&mut s.post.mailname),
    },
    Setting {
        section: "post",
        key: "approve",
        unit: Unit::Text,
        range: ANY,
        help: "Users who may post with Approved, and control messages other than cancel: names with commas between \
               them; \"*\" for all, as in C News. Root and the owner of this directory always may.",
        slot: |s| Slot::Text(&mut s.post.approve),
    },
    Setting {
        section: "post",
        key: "reveal",
        unit: Unit::Text,
        range: ANY,
        help: "What articles tell of their posters besides From: account, host, logging (in Injection-Info), sender (Sender \
               where From has another address); commas between them.",
        slot: |s| Slot::Text(&mut s.post.reveal),
    },
    Setting {
        section: "post",
        key: "complaints",
        unit: Unit::Text,
        range: ANY,
        help: "The address for complaints, in Injection-Info; empty for none.",
        slot: |s| Slot::Text(&mut s.post.complaints),
    },
    Setting {
        section: "post",
        key: "sendmail",
        unit: Unit::Text,
        range: ANY,
        help: "The command that takes mail to moderators on its standard input. No shell reads it. Empty, or \
               no such program: the mail waits in mail.queue/.",
        slot: |s| Slot::Text(&mut s.post.sendmail),
    },
    Setting {
        section: "post",
        key: "signature_lines",
        unit: Unit::Count("lines"),
        range: (0, 100),
        help: "So many lines of ~/.signature inews adds.",
        slot: |s| Slot::Number(&mut s.post.signature_lines),
    },
    Setting {
        section: "post",
        key: "customs",
        unit: Unit::Text,
        range: ANY,
        help: "\"cmsg\": `Subject: cmsg X', and any Subject in a group that ends in .ctl, makes a control message, as in \
               C News; RFC 5537 forbids it.",
        slot: |s| Slot::Text(&mut s.post.customs),
    },
    Setting {
        section: "nntp",
        key: "listen",
        unit: Unit::Text,
        range: ANY,
        help: "Where the server listens: \"127.0.0.1:119, [::1]:119\", say, or \"*:119\" for all addresses; empty for nowhere. \
               `serve --listen' adds to it.",
        slot: |s| Slot::Text(&mut s.nntp.listen),
    },
    Setting {
        section: "nntp",
        key: "listen_tls",
        unit: Unit::Text,
        range: ANY,
        help: "Where it listens with TLS from the first byte on (RFC 8143): \"*:563\", say.",
        slot: |s| Slot::Text(&mut s.nntp.listen_tls),
    },
    Setting {
        section: "nntp",
        key: "certificate",
        unit: Unit::Text,
        range: ANY,
        help: "The file with the certificate and its chain (PEM); empty for no TLS. A name without a slash in front is \
               in this directory. When the file changes it is read again.",
        slot: |s| Slot::Text(&mut s.nntp.certificate),
    },
    Setting {
        section: "nntp",
        key: "key",
        unit: Unit::Text,
        range: ANY,
        help: "The file with the certificate's key (PEM), which only its owner may read; it may be the same file.",
        slot: |s| Slot::Text(&mut s.nntp.key),
    },
    Setting {
        section: "nntp",
        key: "without",
        unit: Unit::Text,
        range: ANY,
        help: "What is switched off for everybody: \"compress, newnews\", say; the words are those of `without' in [[access]].",
        slot: |s| Slot::Text(&mut s.nntp.without),
    },
    Setting {
        section: "nntp",
        key: "plaintext_passwords",
        unit: Unit::Text,
        range: ANY,
        help: "true: passwords are taken without TLS, too, where everybody on the way can read them.",
        slot: |s| Slot::Truth(&mut s.nntp.plaintext_passwords),
    },
    Setting {
        section: "nntp",
        key: "idle_seconds",
        unit: Unit::Count("seconds"),
        range: (180, 86_400),
        help: "A connection on which nothing happens for so long is closed. RFC 3977, 3.1, asks for three minutes.",
        slot: |s| Slot::Number(&mut s.nntp.idle_seconds),
    },
    Setting {
        section: "nntp",
        key: "first_seconds",
        unit: Unit::Count("seconds"),
        range: (1, 86_400),
        help: "So long may the TLS handshake and the first command take.",
        slot: |s| Slot::Number(&mut s.nntp.first_seconds),
    },
    Setting {
        section: "nntp",
        key: "connections_max",
        unit: Unit::Count("connections"),
        range: (1, 1_000_000),
        help: "So many connections there may be in all. The limit on open files has to be larger.",
        slot: |s| Slot::Number(&mut s.nntp.connections_max),
    },
    Setting {
        section: "nntp",
        key: "connections_per_address_max",
        unit: Unit::Count("connections"),
        range: (1, 1_000_000),
        help: "So many there may be from one address, unless its entry in [[access]] says otherwise.",
        slot: |s| Slot::Number(&mut s.nntp.connections_per_address_max),
    },
    Setting {
        section: "nntp",
        key: "threads",
        unit: Unit::Count("threads"),
        range: (0, 1_024),
        help: "Threads that serve connections; 0 for as many as there are processors.",
        slot: |s| Slot::Number(&mut s.nntp.threads),
    },
    Setting {
        section: "nntp",
        key: "keep_free",
        unit: Unit::Bytes,
        range: ANY,
        help: "With less than this free on the disk no articles are taken over NNTP; peers keep them and come again.",
        slot: |s| Slot::Number(&mut s.nntp.keep_free),
    },
    Setting {
        section: "nntp",
        key: "metrics",
        unit: Unit::Text,
        range: ANY,
        help: "Where metrics for Prometheus are served over HTTP: \"127.0.0.1:9119\", say; empty for nowhere. Everybody who reaches it \
               may read them, so an address beyond this machine takes the word open: \"open 192.0.2.1:9119\".",
        slot: |s| Slot::Text(&mut s.nntp.metrics),
    },
    Setting {
        section: "auth",
        key: "program",
        unit: Unit::Text,
        range: ANY,
        help: "A command that checks names and passwords which are not in the file `users', as INN's auth programs do \
               (ckpasswd, radius). It runs in this directory, and no shell reads it. Empty for none.",
        slot: |s| Slot::Text(&mut s.auth.program),
    },
    Setting {
        section: "auth",
        key: "program_seconds",
        unit: Unit::Count("seconds"),
        range: (1, 600),
        help: "So long may it take; then it is killed, and the client told to try later.",
        slot: |s| Slot::Number(&mut s.auth.program_seconds),
    },
    Setting {
        section: "schedule",
        key: "expire",
        unit: Unit::Text,
        range: ANY,
        help: "When the daemon starts expire: \"04:30\" (UTC), \"every 6 h\", or \"off\" (cron does it, say).",
        slot: |s| Slot::When(&mut s.schedule.expire),
    },
    Setting {
        section: "schedule",
        key: "sendbatches",
        unit: Unit::Text,
        range: ANY,
        help: "When the daemon starts sendbatches: \"every 15 min\", say.",
        slot: |s| Slot::When(&mut s.schedule.sendbatches),
    },
];

/// What each `[section]` is about; the comment above it in the file.
pub static SECTIONS: &[(&str, &str)] = &[
    (
        "limits",
        "What an article or a batch may be. `broadsheet limits' prints these and the fixed ones.",
    ),
    ("store", "How articles are kept."),
    (
        "control",
        "What control messages may do. Who may make and remove groups stands in control.ctl or \
         controlperm; without them only trusted keys may (`broadsheet key import').",
    ),
    ("incoming", "Batches that wait to be filed."),
    ("post", "Articles posted here, by inews and injnews."),
    (
        "nntp",
        "The NNTP server of `broadsheet serve'. Who may do what stands in [[access]].",
    ),
    (
        "auth",
        "How people log in. Users of this directory are made by `broadsheet user add'.",
    ),
    ("schedule", "What `broadsheet serve' starts by itself."),
];
