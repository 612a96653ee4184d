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
        help: "This site's name. It stands first in Path and as the host in Xref. Only letters, digits, `.', `-' \
               and `_' are allowed. Peers identify this site by it: change it only with their agreement.",
        slot: |s| Slot::Text(&mut s.name),
    },
    Setting {
        section: "",
        key: "organization",
        unit: Unit::Text,
        range: ANY,
        help: "Organization header of articles posted here; empty: none.",
        slot: |s| Slot::Text(&mut s.organization),
    },
    Setting {
        section: "",
        key: "log_format",
        unit: Unit::Text,
        range: ANY,
        help: "Format of the daemon's messages on standard error: \"text\" (a sentence and key=value fields) or \
               \"json\" (one object a line). The file `log' does not depend on it.",
        slot: |s| Slot::Text(&mut s.log_format),
    },
    Setting {
        section: "",
        key: "sandbox",
        unit: Unit::Text,
        range: ANY,
        help: "Confine the daemon's threads with Landlock and seccomp: network threads can only read this \
               directory, the writer thread can only write here, and neither can start a program. See SECURITY.md.",
        slot: |s| Slot::Truth(&mut s.sandbox),
    },
    Setting {
        section: "",
        key: "junk",
        unit: Unit::Text,
        range: ANY,
        help: "Articles from other sites whose groups are all missing in active: true files them in the group `junk', if sys \
               subscribes to them, as C News did; false refuses them.",
        slot: |s| Slot::Truth(&mut s.junk),
    },
    Setting {
        section: "",
        key: "headers_only",
        unit: Unit::Text,
        range: ANY,
        help: "true: this news directory takes articles without their bodies, from peers whose [[access]] has \
               headfeed = true, and nothing else: for a server of overview and headers. It must be true before \
               the first article, and stay so. Feeds from here need headfeed = true in their via.",
        slot: |s| Slot::Truth(&mut s.headers_only),
    },
    Setting {
        section: "limits",
        key: "article_bytes_max",
        unit: Unit::Bytes,
        range: (4 << 10, 1 << 30),
        help: "Largest article (header and body). Larger articles are rejected.",
        slot: |s| Slot::Number(&mut s.limits.article_bytes_max),
    },
    Setting {
        section: "limits",
        key: "save_too_large",
        unit: Unit::Text,
        range: ANY,
        help: "Save a batch that has an article above article_bytes_max in bad/: rnews can file the article after \
               the limit was raised.",
        slot: |s| Slot::Truth(&mut s.limits.save_too_large),
    },
    Setting {
        section: "limits",
        key: "header_bytes_max",
        unit: Unit::Bytes,
        range: (1 << 10, 64 << 20),
        help: "Largest header of an article. Articles with a larger header are rejected.",
        slot: |s| Slot::Number(&mut s.limits.header_bytes_max),
    },
    Setting {
        section: "limits",
        key: "groups_per_article_max",
        unit: Unit::Count("groups"),
        range: (1, 65_535),
        help: "Most groups in Newsgroups. Articles with more are rejected.",
        slot: |s| Slot::Number(&mut s.limits.groups_per_article_max),
    },
    Setting {
        section: "limits",
        key: "message_id_bytes_max",
        unit: Unit::Count("bytes"),
        range: (16, 4_096),
        help: "Longest Message-ID. Articles with a longer one are rejected. RFC 3977, 3.6, allows 250.",
        slot: |s| Slot::Number(&mut s.limits.message_id_bytes_max),
    },
    Setting {
        section: "limits",
        key: "clock_skew_seconds",
        unit: Unit::Count("seconds"),
        range: ANY,
        help: "How far in the future a Date may be. Articles with a later Date are rejected. C News allowed one \
               day.",
        slot: |s| Slot::Number(&mut s.limits.clock_skew_seconds),
    },
    Setting {
        section: "limits",
        key: "article_age_days_max",
        unit: Unit::Count("days"),
        range: (0, 1_000_000),
        help: "How old a Date may be. Articles with an older Date are rejected; 0: no limit, so that archives can \
               be loaded unchanged. `rnews -o DAYS' overrides it for one run.",
        slot: |s| Slot::Number(&mut s.limits.article_age_days_max),
    },
    Setting {
        section: "limits",
        key: "expansion_bytes_max",
        unit: Unit::Bytes,
        range: (1 << 20, 1 << 42),
        help: "Largest size of a batch after decompression. Larger batches are moved to bad/.",
        slot: |s| Slot::Number(&mut s.limits.expansion_bytes_max),
    },
    Setting {
        section: "limits",
        key: "expansion_ratio_max",
        unit: Unit::Count("times"),
        range: (10, 1_000_000),
        help: "Highest ratio of decompressed to compressed size. Batches above it are moved to bad/. News usually \
               has a ratio of 3.",
        slot: |s| Slot::Number(&mut s.limits.expansion_ratio_max),
    },
    Setting {
        section: "limits",
        key: "expansion_memory_bytes_max",
        unit: Unit::Bytes,
        range: (8 << 20, 8 << 30),
        help: "Most memory for expanding one batch or mailbox of zstd (its window), xz or lzma. Batches that need more \
               are moved to bad/, and named with their need. `zstd --long=31' needs 2 GiB; zstd can have no more.",
        slot: |s| Slot::Number(&mut s.limits.expansion_memory_bytes_max),
    },
    Setting {
        section: "store",
        key: "segment_bytes",
        unit: Unit::Bytes,
        range: (1 << 20, 2 << 30),
        help: "Largest size of a segment file. A segment is a sixteenth of the spool, at least 4 MiB and at most this: \
               small segments give space back sooner, large ones need fewer files. A change applies to the current \
               segment, too. At least twice limits.article_bytes_max.",
        slot: |s| Slot::Number(&mut s.store.segment_bytes),
    },
    Setting {
        section: "store",
        key: "commit_bytes",
        unit: Unit::Bytes,
        range: (4 << 10, 1 << 30),
        help: "Data between two commits of a long batch: each commit is one write and one fdatasync. This much is \
               also held in memory.",
        slot: |s| Slot::Number(&mut s.store.commit_bytes),
    },
    Setting {
        section: "store",
        key: "checkpoint_bytes",
        unit: Unit::Bytes,
        range: (1 << 20, 1 << 30),
        help: "Data between two syncs of history, overview and index. Recovery after a power failure reads this \
               much of the log again.",
        slot: |s| Slot::Number(&mut s.store.checkpoint_bytes),
    },
    Setting {
        section: "store",
        key: "sync",
        unit: Unit::Text,
        range: ANY,
        help: "When articles are synced to the disk: \"each\" after every article, \"commit\" after every commit \
               and before rnews exits, \"none\" never (a power failure can then lose acknowledged articles). `rnews \
               --sync' overrides it for one run.",
        slot: |s| Slot::Sync(&mut s.store.sync),
    },
    Setting {
        section: "store",
        key: "restorable_days",
        unit: Unit::Count("days"),
        range: (0, 36_500),
        help: "How long an article that was cancelled, or removed by `article remove', can be restored by `article restore'. \
               Its space is not returned before, unless it expires or is erased.",
        slot: |s| Slot::Number(&mut s.store.restorable_days),
    },
    Setting {
        section: "offload",
        key: "url",
        unit: Unit::Text,
        range: ANY,
        help: "Where articles of old segments go: \"file:///DIRECTORY\", \"s3://BUCKET/PREFIX\", gs://, \
               az://; empty: nowhere. Before a change, `segments fetch --all'.",
        slot: |s| Slot::Text(&mut s.offload.url),
    },
    Setting {
        section: "offload",
        key: "endpoint",
        unit: Unit::Text,
        range: ANY,
        help: "The servers of the bucket: \"https://s3.example.org\"; empty: Amazon's, Google's or Azure's. Without TLS only on this machine, or \
               marked: \"open http://10.0.0.5:3900\". The keys are in keys/offload.login.",
        slot: |s| Slot::Text(&mut s.offload.endpoint),
    },
    Setting {
        section: "offload",
        key: "region",
        unit: Unit::Text,
        range: ANY,
        help: "The region of the bucket; Google and Azure need none.",
        slot: |s| Slot::Text(&mut s.offload.region),
    },
    Setting {
        section: "offload",
        key: "tls_ca",
        unit: Unit::Text,
        range: ANY,
        help: "File with the CAs to trust for the endpoint in place of the system's.",
        slot: |s| Slot::Text(&mut s.offload.tls_ca),
    },
    Setting {
        section: "offload",
        key: "tls_fingerprint",
        unit: Unit::Text,
        range: ANY,
        help: "The one certificate to trust for the endpoint, by its SHA-256.",
        slot: |s| Slot::Text(&mut s.offload.tls_fingerprint),
    },
    Setting {
        section: "offload",
        key: "after_days",
        unit: Unit::Count("days"),
        range: (0, 36_500),
        help: "A segment goes when its newest article is older; 0: only keep_local decides.",
        slot: |s| Slot::Number(&mut s.offload.after_days),
    },
    Setting {
        section: "offload",
        key: "keep_local",
        unit: Unit::Bytes,
        range: ANY,
        help: "What full segments here may take: else the oldest go earlier; 0: no limit.",
        slot: |s| Slot::Number(&mut s.offload.keep_local),
    },
    Setting {
        section: "offload",
        key: "cache",
        unit: Unit::Bytes,
        range: (16 << 20, u64::MAX >> 1),
        help: "Size of the local cache.",
        slot: |s| Slot::Number(&mut s.offload.cache),
    },
    Setting {
        section: "control",
        key: "cancel",
        unit: Unit::Text,
        range: ANY,
        help: "Which cancel and Supersedes messages are obeyed: \"locked\" those with a Cancel-Key that fits the \
               article's Cancel-Lock, \"classic\" all, \"none\" none.",
        slot: |s| Slot::Cancel(&mut s.control.cancel),
    },
    Setting {
        section: "control",
        key: "age_days_max",
        unit: Unit::Count("days"),
        range: (0, 1_000_000),
        help: "Oldest newgroup, rmgroup or checkgroups that is obeyed. Older ones are filed only; 0: no limit.",
        slot: |s| Slot::Number(&mut s.control.age_days_max),
    },
    Setting {
        section: "control",
        key: "name_part_bytes_max",
        unit: Unit::Count("bytes"),
        range: (1, 255),
        help: "Longest part between two dots in the name of a group that a control message creates. RFC 5536 \
               asks for at most 30; C News allowed 14.",
        slot: |s| Slot::Number(&mut s.control.name_part_bytes_max),
    },
    Setting {
        section: "incoming",
        key: "keep_free",
        unit: Unit::Bytes,
        range: (0, 1 << 60),
        help: "Free disk space that must remain when a batch is filed, or written to in.coming/. Otherwise filing stops \
               with an error, and the sender keeps the batch.",
        slot: |s| Slot::Number(&mut s.incoming.keep_free),
    },
    Setting {
        section: "incoming",
        key: "spool_after_seconds",
        unit: Unit::Count("seconds"),
        range: (0, 86_400),
        help: "How long rnews waits for the lock while another program files. Then it writes its batch to \
               in.coming/ and exits with 0. 0: it waits without limit. Use 2 where newsrun runs regularly.",
        slot: |s| Slot::Number(&mut s.incoming.spool_after_seconds),
    },
    Setting {
        section: "post",
        key: "mailname",
        unit: Unit::Text,
        range: ANY,
        help: "Host name after the `@' in addresses of local posters and in new Message-IDs. Empty: the first line \
               of the file `mailname' in this directory, or else this site's name.",
        slot: |s| Slot::Text(&mut s.post.mailname),
    },
    Setting {
        section: "post",
        key: "approve",
        unit: Unit::Text,
        range: ANY,
        help: "Local users who may post with Approved, and control messages other than cancel: names separated by \
               commas, or \"*\" for all users, as in C News. Root and the owner of this directory always may.",
        slot: |s| Slot::Text(&mut s.post.approve),
    },
    Setting {
        section: "post",
        key: "reveal",
        unit: Unit::Text,
        range: ANY,
        help: "What a post reveals about its poster besides From, separated by commas: logging (a token in Injection-Info, which only \
               `broadsheet post-owner' here can resolve), account and host (in Injection-Info), and sender (a Sender header where \
               From has another address).",
        slot: |s| Slot::Text(&mut s.post.reveal),
    },
    Setting {
        section: "post",
        key: "log_days",
        unit: Unit::Count("days"),
        range: (0, 36_500),
        help: "How long the private file posts.log keeps who posted what: login, address, time, TLS. Lines go after half of this time at \
               the earliest; then the key of the tokens changes, too. 0: there is no such file, and there are no tokens.",
        slot: |s| Slot::Number(&mut s.post.log_days),
    },
    Setting {
        section: "post",
        key: "complaints",
        unit: Unit::Text,
        range: ANY,
        help: "Mail address for complaints, in Injection-Info; empty: none.",
        slot: |s| Slot::Text(&mut s.post.complaints),
    },
    Setting {
        section: "post",
        key: "sendmail",
        unit: Unit::Text,
        range: ANY,
        help: "Command that reads mail to moderators on standard input. It is run without a shell. Empty, or no \
               such program: the mail stays in mail.queue/.",
        slot: |s| Slot::Text(&mut s.post.sendmail),
    },
    Setting {
        section: "post",
        key: "mail_server",
        unit: Unit::Text,
        range: ANY,
        help: "Mail server (\"127.0.0.1:25\") in place of post.sendmail. \"auto\": that of this machine, where sendmail cannot gain \
               its rights (the systemd unit). Empty: none.",
        slot: |s| Slot::Text(&mut s.post.mail_server),
    },
    Setting {
        section: "post",
        key: "signature_lines",
        unit: Unit::Count("lines"),
        range: (0, 100),
        help: "Lines of ~/.signature that inews appends.",
        slot: |s| Slot::Number(&mut s.post.signature_lines),
    },
    Setting {
        section: "post",
        key: "customs",
        unit: Unit::Text,
        range: ANY,
        help: "\"cmsg\": `Subject: cmsg X', and any Subject in a group that ends in .ctl, makes a control message, \
               as in C News. RFC 5537 forbids it. Empty: only a Control header does.",
        slot: |s| Slot::Text(&mut s.post.customs),
    },
    Setting {
        section: "nntp",
        key: "listen",
        unit: Unit::Text,
        range: ANY,
        help: "Addresses and ports of the server, such as \"127.0.0.1:119, [::1]:119\", or \"*:119\" for all \
               addresses; empty: none. `serve --listen' adds more.",
        slot: |s| Slot::Text(&mut s.nntp.listen),
    },
    Setting {
        section: "nntp",
        key: "listen_tls",
        unit: Unit::Text,
        range: ANY,
        help: "Addresses and ports with TLS from the first byte (RFC 8143), such as \"*:563\".",
        slot: |s| Slot::Text(&mut s.nntp.listen_tls),
    },
    Setting {
        section: "nntp",
        key: "certificate",
        unit: Unit::Text,
        range: ANY,
        help: "PEM file with the certificate and its chain; empty: no TLS. A relative name is in this directory. A \
               changed file is read again without a reload.",
        slot: |s| Slot::Text(&mut s.nntp.certificate),
    },
    Setting {
        section: "nntp",
        key: "key",
        unit: Unit::Text,
        range: ANY,
        help: "PEM file with the private key, readable only by its owner; it may be the same file.",
        slot: |s| Slot::Text(&mut s.nntp.key),
    },
    Setting {
        section: "nntp",
        key: "without",
        unit: Unit::Text,
        range: ANY,
        help: "Features disabled for all clients, such as \"compress, newnews\": the words of `without' in \
               [[access]].",
        slot: |s| Slot::Text(&mut s.nntp.without),
    },
    Setting {
        section: "nntp",
        key: "plaintext_passwords",
        unit: Unit::Text,
        range: ANY,
        help: "true: accept passwords without TLS as well. They can be read on the network.",
        slot: |s| Slot::Truth(&mut s.nntp.plaintext_passwords),
    },
    Setting {
        section: "nntp",
        key: "idle_seconds",
        unit: Unit::Count("seconds"),
        range: (180, 86_400),
        help: "Timeout of an idle connection. RFC 3977, 3.1, requires at least three minutes.",
        slot: |s| Slot::Number(&mut s.nntp.idle_seconds),
    },
    Setting {
        section: "nntp",
        key: "first_seconds",
        unit: Unit::Count("seconds"),
        range: (1, 86_400),
        help: "Timeout of the TLS handshake and the first command together.",
        slot: |s| Slot::Number(&mut s.nntp.first_seconds),
    },
    Setting {
        section: "nntp",
        key: "connections_max",
        unit: Unit::Count("connections"),
        range: (1, 1_000_000),
        help: "Most connections at a time. The limit on open files must be larger.",
        slot: |s| Slot::Number(&mut s.nntp.connections_max),
    },
    Setting {
        section: "nntp",
        key: "connections_per_address_max",
        unit: Unit::Count("connections"),
        range: (1, 1_000_000),
        help: "Most connections from one address, unless its entry in [[access]] sets another number.",
        slot: |s| Slot::Number(&mut s.nntp.connections_per_address_max),
    },
    Setting {
        section: "nntp",
        key: "threads",
        unit: Unit::Count("threads"),
        range: (0, 1_024),
        help: "Network threads; 0: one for each processor.",
        slot: |s| Slot::Number(&mut s.nntp.threads),
    },
    Setting {
        section: "nntp",
        key: "keep_free",
        unit: Unit::Bytes,
        range: ANY,
        help: "Free disk space below which no articles are accepted over NNTP. Peers keep them and retry later.",
        slot: |s| Slot::Number(&mut s.nntp.keep_free),
    },
    Setting {
        section: "nntp",
        key: "metrics",
        unit: Unit::Text,
        range: ANY,
        help: "Address and port of the Prometheus metrics (HTTP), such as \"127.0.0.1:9119\"; empty: none. All \
               clients that can connect can read them, so an address other than loopback needs the word open: \
               \"open 192.0.2.1:9119\".",
        slot: |s| Slot::Text(&mut s.nntp.metrics),
    },
    Setting {
        section: "auth",
        key: "program",
        unit: Unit::Text,
        range: ANY,
        help: "Command that checks names and passwords which are not in the file `users', with the interface of \
               INN's auth programs (ckpasswd, radius). It is run in this directory, without a shell. Empty: none.",
        slot: |s| Slot::Text(&mut s.auth.program),
    },
    Setting {
        section: "auth",
        key: "program_seconds",
        unit: Unit::Count("seconds"),
        range: (1, 600),
        help: "Timeout of auth.program. It is then killed, and the client is asked to retry later.",
        slot: |s| Slot::Number(&mut s.auth.program_seconds),
    },
    Setting {
        section: "report",
        key: "mail",
        unit: Unit::Text,
        range: ANY,
        help: "Address that gets the report of each day, at schedule.report; empty: none. `broadsheet report' prints it at any \
               time.",
        slot: |s| Slot::Text(&mut s.report.mail),
    },
    Setting {
        section: "report",
        key: "days",
        unit: Unit::Count("days"),
        range: (1, 3_660),
        help: "How long the figures of a day are kept in figures/. expire removes older ones.",
        slot: |s| Slot::Number(&mut s.report.days),
    },
    Setting {
        section: "report",
        key: "alarm_after",
        unit: Unit::Text,
        range: ANY,
        help: "How long articles cannot be sent to a site until the daemon mails that to report.mail, once an outage: \"1 h\", \"30 min\", \
               or \"off\".",
        slot: |s| Slot::Text(&mut s.report.alarm_after),
    },
    Setting {
        section: "backup",
        key: "to",
        unit: Unit::Text,
        range: ANY,
        help: "Directory of the backups that the daemon makes at schedule.backup, and `broadsheet backup' without an operand: on another disk, \
               outside the news directory, with a path from `/' on; empty: none. Under the systemd unit it needs a drop-in with ReadWritePaths.",
        slot: |s| Slot::Text(&mut s.backup.to),
    },
    Setting {
        section: "backup",
        key: "keep",
        unit: Unit::Count("backups"),
        range: (0, 100_000),
        help: "How many backups are kept there; older ones are removed after a backup without damage. 0: all are kept.",
        slot: |s| Slot::Number(&mut s.backup.keep),
    },
    Setting {
        section: "schedule",
        key: "expire",
        unit: Unit::Text,
        range: ANY,
        help: "When the daemon runs expire: \"04:30\" (UTC), \"every 6 h\", or \"off\" (if cron runs it).",
        slot: |s| Slot::When(&mut s.schedule.expire),
    },
    Setting {
        section: "schedule",
        key: "offload",
        unit: Unit::Text,
        range: ANY,
        help: "When the daemon moves segments by [offload].",
        slot: |s| Slot::When(&mut s.schedule.offload),
    },
    Setting {
        section: "schedule",
        key: "sendbatches",
        unit: Unit::Text,
        range: ANY,
        help: "When the daemon runs sendbatches, such as \"every 15 min\", or \"off\".",
        slot: |s| Slot::When(&mut s.schedule.sendbatches),
    },
    Setting {
        section: "schedule",
        key: "report",
        unit: Unit::Text,
        range: ANY,
        help: "When the daemon mails the report of the day before to report.mail: \"00:30\" (UTC), or \"off\".",
        slot: |s| Slot::When(&mut s.schedule.report),
    },
    Setting {
        section: "schedule",
        key: "backup",
        unit: Unit::Text,
        range: ANY,
        help: "When the daemon makes a backup in backup.to: \"05:30\" (UTC), \"every 6 h\", or \"off\".",
        slot: |s| Slot::When(&mut s.schedule.backup),
    },
    Setting {
        section: "schedule",
        key: "fsck",
        unit: Unit::Text,
        range: ANY,
        help: "When the daemon verifies the store with fsck: \"every 30 d\", or \"off\". It reads all articles, and nothing is filed \
               meanwhile; readers notice nothing.",
        slot: |s| Slot::When(&mut s.schedule.fsck),
    },
    Setting {
        section: "cluster",
        key: "servers",
        unit: Unit::Text,
        range: ANY,
        help: "Addresses of the NATS servers that keep the log: \"nats://10.0.0.1:4222, nats://10.0.0.2:4222\". Empty: one machine.",
        slot: |s| Slot::Text(&mut s.cluster.servers),
    },
    Setting {
        section: "cluster",
        key: "stream",
        unit: Unit::Text,
        range: ANY,
        help: "The stream that is the log.",
        slot: |s| Slot::Text(&mut s.cluster.stream),
    },
    Setting {
        section: "cluster",
        key: "replicas",
        unit: Unit::Count("servers"),
        range: (1, 5),
        help: "Copies of the log.",
        slot: |s| Slot::Number(&mut s.cluster.replicas),
    },
    Setting {
        section: "cluster",
        key: "ca",
        unit: Unit::Text,
        range: ANY,
        help: "File with certificates of CAs for the servers, besides those of the system.",
        slot: |s| Slot::Text(&mut s.cluster.ca),
    },
    Setting {
        section: "cluster",
        key: "node",
        unit: Unit::Text,
        range: ANY,
        help: "The name of this node; empty: that of the machine.",
        slot: |s| Slot::Text(&mut s.cluster.node),
    },
    Setting {
        section: "cluster",
        key: "feeds",
        unit: Unit::Text,
        range: ANY,
        help: "Whether this node may feed the sites: one node at a time does.",
        slot: |s| Slot::Truth(&mut s.cluster.feeds),
    },
    Setting {
        section: "cluster",
        key: "reseed",
        unit: Unit::Text,
        range: ANY,
        help: "If most nodes contradict this one: \"auto\": it fetches their articles and goes on; \"manual\": it waits for `cluster reseed'.",
        slot: |s| Slot::Text(&mut s.cluster.reseed),
    },
];

/// The subject of each `[section]`: the comment above it in the file.
pub static SECTIONS: &[(&str, &str)] = &[
    (
        "limits",
        "What an article or a batch may be. `broadsheet limits' prints these and the fixed ones.",
    ),
    ("store", "How articles are kept."),
    (
        "offload",
        "Articles of old segments in an object store; see docs/operations.md.",
    ),
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
    (
        "report",
        "The daily report, `broadsheet report': what was received, read, sent and removed.",
    ),
    ("backup", "Backups, `broadsheet backup'."),
    ("schedule", "What `broadsheet serve' starts by itself."),
    (
        "cluster",
        "Several machines with the same articles (`broadsheet cluster init').",
    ),
];
