//! The limits that are part of the program: no setting changes them.

use crate::settings::Unit;

/// A limit that no setting changes.
pub struct Fixed {
    /// Where it stands in the sources.
    pub constant: &'static str,
    /// Its name for people.
    pub name: &'static str,
    /// How many.
    pub value: u64,
    /// Of what.
    pub unit: Unit,
    /// What it is for, or what happens beyond it.
    pub help: &'static str,
}

macro_rules! fixed {
    ($($constant:path, $unit:expr, $name:literal, $help:literal;)*) => {
        /// All of them, in the order of an article's way.
        pub static FIXED: &[Fixed] = &[$(Fixed {
            constant: stringify!($constant),
            name: $name,
            value: $constant as u64,
            unit: $unit,
            help: $help,
        }),*];
    };
}

fixed! {
    article::batch::BATCH_LINE_BYTES_MAX, Unit::Bytes, "batch line", "A longer `#! rnews N' line is a bad line.";
    article::batch::LEADING_BLANK_BYTES_MAX, Unit::Bytes, "empty lines before a batch", "So much of them is forgiven.";
    article::wrap::LAYERS_MAX, Unit::Count("layers"), "wrappers", "A batch wrapped in more layers of compression goes to bad/.";
    article::wrap::RATIO_FREE_BYTES, Unit::Bytes, "expansion without a look at the ratio", "limits.expansion_ratio_max does not count before a batch has grown to this.";
    article::wrap::ZSTD_WINDOW_LOG_MAX, Unit::Count("bits"), "zstd window, as a power of two", "A zstd batch that asks for a window of more than 2 to the power of this goes to bad/.";
    article::wrap::XZ_MEMORY_BYTES_MAX, Unit::Bytes, "xz memory", "An xz batch that asks for more memory goes to bad/.";
    article::parse::HEADER_BYTES_MAX, Unit::Bytes, "header that is looked at", "What lies beyond counts as body; limits.header_bytes_max refuses such an article before.";
    article::parse::BAD_LINE_SHOWN_BYTES_MAX, Unit::Bytes, "faulty header line in a message", "So much of it is shown.";
    article::message_id::NETWORK_BYTES_MAX, Unit::Bytes, "Message-ID on the network", "A longer one cannot be asked for over NNTP (RFC 3977, 3.6).";
    relay::rnews::HELD_BYTES_MAX, Unit::Bytes, "pipe held in memory", "Of a batch on a pipe so much is held, at most about, until it is durable; then comes a commit, or a file in in.coming/ takes it.";
    relay::incoming::name::SUFFIX_BYTES_MAX, Unit::Bytes, "suffix of a batch in in.coming/", "A file with a longer one is not taken for a batch.";
    relay::incoming::spool::SECONDS_AHEAD_MAX, Unit::Count("seconds"), "time ahead in a name in in.coming/", "So far ahead goes the time in the names of batches that come together, 62 in each second; beyond, spooling fails.";
    relay::incoming::drain::NAMES_MAX, Unit::Count("files"), "names of in.coming/ held at a time", "With more files waiting, the directory is listed again.";
    relay::incoming::drain::LEFT_MAX, Unit::Count("files"), "files of in.coming/ that cannot be filed", "After so many newsrun ends.";
    crate::daemon::REASON_BYTES_MAX, Unit::Bytes, "reason of `intake pause'", "A longer one is cut.";
    crate::daemon::LINES_AT_ONCE_MAX, Unit::Count("lines"), "lines of a kind that the daemon says at once", "More are counted and left out: one comes every two seconds then.";
    crate::daemon::METRICS_REQUEST_BYTES_MAX, Unit::Bytes, "request for metrics", "A longer one is refused.";
    relay::log::TEXT_BYTES_MAX, Unit::Bytes, "text of a log line", "A longer one is cut and ends in `...'.";
    relay::log::FIELD_BYTES_MAX, Unit::Bytes, "site or Message-ID of a log line", "A longer one is cut.";
    openpgp::armor::FILE_BYTES_MAX, Unit::Bytes, "file of keys", "A larger file is not read by `key import'.";
    openpgp::packet::PACKET_BYTES_MAX, Unit::Bytes, "packet of a key", "A file with a larger one is not read.";
    openpgp::certificate::KEYS_MAX, Unit::Count("keys"), "keys in one file", "A file with more is not read.";
    openpgp::certificate::USER_IDS_MAX, Unit::Count("names"), "names of a key", "More are passed over.";
    openpgp::number::BITS_MAX, Unit::Count("bits"), "number in a key or signature", "One with a longer number is not used.";
    openpgp::rsa::MODULUS_BITS_MIN, Unit::Count("bits"), "smallest RSA key", "A smaller one is not used.";
    openpgp::rsa::EXPONENT_BITS_MAX, Unit::Count("bits"), "exponent of an RSA key", "A key with a longer one is not used.";
    relay::keyring::KEYS_MAX, Unit::Count("keys"), "trusted keys", "More are not taken.";
    relay::keyring::HIERARCHIES_BYTES_MAX, Unit::Bytes, "hierarchies of a key", "A longer list is not taken.";
    relay::control::policy::FILE_BYTES_MAX, Unit::Bytes, "control.ctl and controlperm", "A larger file is not read, and no control message is acted upon.";
    relay::control::policy::RULES_MAX, Unit::Count("lines"), "rules of control.ctl and controlperm", "More are a fault.";
    relay::control::policy::INN_CHANGES_MAX, Unit::Count("changes"), "changes by a checkgroups under control.ctl", "More wait for the administrator, where /maxdocheckgroups/ says nothing (as in INN).";
    relay::control::decide::CHECKGROUPS_REMOVED_PERCENT_MAX, Unit::Count("percent"), "groups removed or changed by a checkgroups", "If it would remove or change the flag of more of the groups that its sender may act on, and of more than two, it waits for the administrator.";
    relay::control::processor::AGE_SECONDS_MAX, Unit::Count("seconds"), "age of a control message, by default", "control.age_days_max sets it.";
    relay::control::request::WORDS_MAX, Unit::Count("words"), "words of Control", "More are not looked at.";
    relay::control::request::ADDRESS_BYTES_MAX, Unit::Bytes, "From of a control message", "A longer one is nobody's address.";
    relay::control::groupinfo::BOUNDARY_BYTES_MAX, Unit::Bytes, "boundary of a newgroup message", "A message with a longer one has no parts.";
    relay::control::groupinfo::PARTS_MAX, Unit::Count("parts"), "parts of a newgroup message", "More are not looked at.";
    relay::control::scope::LISTED_MAX, Unit::Count("groups"), "groups of a checkgroups", "A longer list is refused.";
    relay::control::serials::HIERARCHIES_MAX, Unit::Count("hierarchies"), "serial numbers of checkgroups", "Those of more hierarchies are not remembered.";
    relay::control::events::LOG_BYTES_MAX, Unit::Bytes, "control.log", "A larger one becomes control.log.old, and what was there before goes.";
    relay::control::events::FIELD_BYTES_MAX, Unit::Bytes, "field of control.log", "A longer one is cut and ends in `...'.";
    feed::ihave::IDS_READ_MAX, Unit::Count("ids"), "ids of an ihave or sendme message that are looked at", "Those beyond are passed over.";
    relay::control::wanted::IDS_MAX, Unit::Count("ids"), "ids of an ihave or sendme message that is made", "More go into the next message.";
    relay::incoming::tries::TRIES_MAX, Unit::Count("tries"), "tries of a batch in in.coming/ at which filing stops", "Then, if others were filed meanwhile, it goes to bad/.";
    relay::incoming::tries::REMEMBERED_MAX, Unit::Count("batches"), "batches whose tries are remembered", "More are tried as if for the first time.";
    relay::pending_cancels::EARLY_MAX, Unit::Count("cancels"), "cancels that wait for their article", "Beyond it the oldest are forgotten.";
    relay::pending_cancels::EARLY_SECONDS_MAX, Unit::Count("seconds"), "life of a cancel that waits for its article", "Then it is forgotten.";
    relay::pending_cancels::KEYS_MAX, Unit::Count("keys"), "keys that wait for an article", "More, of all its cancels together, are not kept.";
    relay::file::CANCEL_IDS_MAX, Unit::Count("ids"), "ids of a cancel, unless control.cancel is classic", "More are not looked at.";
    relay::pending_cancels::FILE_BYTES_MAX, Unit::Bytes, "cancels.early", "A larger file is written anew.";
    relay::signed::SIGNATURE_CHARACTERS_MAX, Unit::Count("characters"), "signature in X-PGP-Sig", "A longer one is not looked at.";
    relay::signed::HEADERS_MAX, Unit::Count("headers"), "headers that X-PGP-Sig names", "More make a message unverified.";
    relay::cancel_lock::HEADER_BYTES_MAX, Unit::Bytes, "Cancel-Lock or Cancel-Key", "A longer one fits nothing.";
    relay::cancel_lock::ELEMENT_BYTES_MAX, Unit::Bytes, "lock or key", "A longer one fits nothing.";
    relay::cancel_lock::ELEMENTS_MAX, Unit::Count("locks"), "locks or keys of an article", "More are not looked at.";
    inject::draft::HEADER_LINE_BYTES_MAX, Unit::Bytes, "header line of a post", "A post with a longer one is refused (RFC 5536, 2.2).";
    inject::draft::HEADERS_MAX, Unit::Count("headers"), "headers of a post", "A post with more is refused.";
    inject::check::DATE_AGE_SECONDS_MAX, Unit::Count("seconds"), "age of a post", "A post with an older Date is refused, as INN does.";
    inject::mailbox::RECIPIENT_BYTES_MAX, Unit::Bytes, "address of a moderator", "Nothing is mailed to a longer one.";
    inject::moderators::FILE_BYTES_MAX, Unit::Bytes, "mailpaths or moderators", "What lies beyond is not looked at.";
    inject::mail_queue::MAIL_BYTES_MAX, Unit::Bytes, "mail to a moderator", "Of a longer one the rest is not read.";
    inject::mail_queue::MAIL_SECONDS_MAX, Unit::Count("seconds"), "sending one mail", "Then the program is killed, and the mail waits.";
    crate::posting::SIGNATURE_BYTES_MAX, Unit::Bytes, "signature", "So much of ~/.signature is looked at.";
    groups::active::IMAGE_BYTES_MAX, Unit::Bytes, "active file", "A larger active file is not read.";
    groups::active::NUMBER_MAX, Unit::Count("articles"), "articles of a group", "When a group has reached it nothing is filed there any more.";
    groups::active::DIGITS_MAX, Unit::Count("digits"), "number in active", "A line with a longer number is a bad line.";
    groups::active::ALIAS_HOPS_MAX, Unit::Count("hops"), "alias hops", "A group that is an alias through more hops is unknown, as in C News.";
    groups::active::BAD_LINES_MAX, Unit::Count("lines"), "bad lines of active", "So many are told one by one; more are only counted.";
    groups::name::NAME_BYTES_MAX, Unit::Bytes, "group name", "A longer name is not taken into active; a command could not name it (RFC 3977, 3.1).";
    groups::name::SAFE_PART_BYTES_MAX, Unit::Bytes, "part of a group name", "A longer part between dots could not be the name of a directory.";
    groups::name::NEW_PART_BYTES_MAX, Unit::Bytes, "part of a new group's name", "A group with a longer part between dots is not made, as in C News (`group add --any-name' does).";
    groups::newsgroups::TEXT_BYTES_MAX, Unit::Bytes, "newsgroups file", "A larger newsgroups file is not read.";
    groups::newsgroups::DESCRIPTION_BYTES_MAX, Unit::Bytes, "description of a group", "A longer one is cut.";
    groups::newsgroups::BAD_LINES_MAX, Unit::Count("lines"), "bad lines of newsgroups", "So many are told one by one; more are only counted.";
    groups::sys::LINE_BYTES_MAX, Unit::Bytes, "line of sys", "A longer line, its continuations included, is a fault.";
    groups::sites::SITES_MAX, Unit::Count("sites"), "sites in sys and broadsheet.toml", "More are a fault.";
    groups::command_line::COMMAND_BYTES_MAX, Unit::Bytes, "command in sys or broadsheet.toml", "A longer one is a fault.";
    groups::matrix::CACHED_ROWS_MAX, Unit::Count("names"), "unknown groups remembered", "Of so many groups outside active, and of so many distributions, is remembered which sites want them; then it starts anew.";
    groups::matrix::CACHED_NAME_BYTES_MAX, Unit::Bytes, "unknown group remembered", "A longer name is worked out each time.";
    store::SEGMENT_BYTES_MIN, Unit::Bytes, "smallest segment", "store.segment_bytes cannot be less.";
    store::SEGMENT_BYTES_MAX, Unit::Bytes, "largest segment", "store.segment_bytes cannot be more: offsets in a segment are 32 bits.";
    store::PAD_BYTES_MAX, Unit::Bytes, "pad at the end of a segment", "So much of a segment is kept free for it.";
    store::POSITION_MAX, Unit::Bytes, "log", "Everything ever filed must fit: the index keeps 48 bits of an address.";
    store::history::LINE_BYTES_MAX, Unit::Bytes, "history line", "A longer line is not read.";
    store::expires_header::TEXT_BYTES_MAX, Unit::Bytes, "Expires that is no date, in history", "A longer one is cut.";
    store::fsck::FINDINGS_MAX, Unit::Count("findings"), "findings of fsck", "So many are told one by one; more are only counted.";
    store::fsck::LOST_IDS_MAX, Unit::Count("ids"), "lost articles that fsck lists", "The ids of so many go into bad/lost.ids; more are only counted.";
    store::MAPS_MAX, Unit::Count("maps"), "files of the store mapped at a time", "One more cannot be opened.";
    store::UNREADABLE_KEPT, Unit::Count("articles"), "articles known to be unreadable, of a network thread", "The disk is not asked for them again for a minute; for more it is.";
    store::PASSED_BYTES_MAX, Unit::Bytes, "unreadable part of a segment that feeds pass over", "Where the disk cannot read more, feeds wait.";
    store::INDEX_LOAD_PERCENT_MAX, Unit::Count("percent"), "load of the index", "The table is made larger when so much of it is used.";
    crate::daemon::CLIENTS_MAX, Unit::Count("clients"), "clients of the daemon", "More at a time are sent away; rnews then waits for the lock.";
    crate::daemon::JOBS_MAX, Unit::Count("jobs"), "jobs of the daemon", "So many wait for their turn; more clients stand in the line before it.";
    crate::daemon::REQUEST_BYTES_MAX, Unit::Bytes, "request to the daemon", "A longer one is not read.";
    crate::daemon::FEEDERS_MAX, Unit::Count("feeds"), "feeds that the daemon serves at once", "Those beyond wait for `feed flush'.";
    crate::daemon::END_SECONDS_MAX, Unit::Count("seconds"), "a program's end", "Once the daemon ends, or reads its settings again, it has so long to read what it was given, and so long to end; then it is killed.";
    crate::daemon::RUNNING_MAX, Unit::Count("tasks"), "tasks of schedules that run at a time", "Others that are due follow when one has ended.";
    groups::when::EVERY_SECONDS_MAX, Unit::Count("seconds"), "longest `every' of a schedule", "A longer one is a fault.";
    expire::explist::FILE_BYTES_MAX, Unit::Bytes, "explist", "A larger explist, or expire.ctl to import, is not read.";
    expire::explist::RULES_MAX, Unit::Count("rules"), "rules of explist", "More are a fault.";
    expire::archiving::COPY_FAILURES_MAX, Unit::Count("copies"), "failed copies to archives", "After so many a run of expire archives nothing more, and all that should be archived stays, as in C News.";
    expire::archiving::index_line::SUBJECT_BYTES_MAX, Unit::Bytes, "subject in a line of expire -p", "A longer one is cut and ends in `...', as in C News.";
    expire::unreadable_expires::LISTED_MAX, Unit::Count("articles"), "articles that expire -g tells of", "So many are told one by one; more are only counted.";
    feed::site_state::SITE_NAME_BYTES_MAX, Unit::Bytes, "name of a site with a feed", "It is the name of a directory in feeds/.";
    feed::deferred::DEFERRED_MAX, Unit::Count("articles"), "deferred articles of a site", "When there are more the feed waits until some are taken.";
    feed::waiting::ROUND_ARTICLES_MAX, Unit::Count("articles"), "articles noted in one pass for all sites", "When there are more, another pass follows.";
    feed::togo::NOTED_ARTICLES_MAX, Unit::Count("articles"), "articles noted at a time for one site", "When there are more they are noted in several goes.";
    feed::batchparms::BATCHPARMS_BYTES_MAX, Unit::Bytes, "batchparms", "A larger file is not read.";
    feed::batchparms::RULES_MAX, Unit::Count("lines"), "rules of batchparms", "More are a fault.";
    feed::batchparms::BATCH_BYTES_MAX, Unit::Bytes, "size of a batch", "A batch is closed at this size whatever was asked for: it is held in memory.";
    crate::serving::FEEDS_SECONDS_MAX, Unit::Count("seconds"), "time that rnews waits for feeds served at once", "Without a daemon. A process goes on with them.";
    feed::transport::COMMAND_SECONDS_MAX, Unit::Count("seconds"), "time of a command that takes batches", "It is killed then, and the batch waits on; `sendbatches --command-seconds' sets another.";
    feed::transport::COMPLAINT_BYTES_MAX, Unit::Bytes, "complaint of a command", "So much of what it wrote on standard error is shown, the end of it.";
    feed::queue::QUEUE_FILES_MAX, Unit::Count("batches"), "queue that is counted", "A longer one counts as this long.";
    feed::file_list::LINES_BYTES_MAX, Unit::Bytes, "lines of a file list written at a time", "They are synced, and passed, together.";
    feed::file_list::LIST_LOCKED_SECONDS_MAX, Unit::Count("seconds"), "file list that is locked", "It is waited for so long; then its articles wait on.";
    feed::program::BACK_OFF_SECONDS_MAX, Unit::Count("seconds"), "rest of a program that ended", "It is started again after 1 second, and after twice as long each time up to this.";
    feed::program::IN_FLIGHT_BYTES_MAX, Unit::Bytes, "in flight to a program", "So much, or one article, is given at a time; the next when it is read.";
    feed::batch_log::LOG_BYTES_MAX, Unit::Bytes, "batchlog", "A longer one becomes batchlog.o.";
    crate::daemon::MAILS_MAX, Unit::Count("mails"), "mails given to the mail program at once", "Of posts to moderated groups over NNTP; more wait in mail.queue/ for `mail send'.";
    nntp::COMMAND_BYTES_MAX, Unit::Bytes, "NNTP command", "A longer line is answered with 501 (RFC 3977, 3.1).";
    nntp::SASL_BYTES_MAX, Unit::Bytes, "answer to a SASL challenge", "A longer line is answered with 501 (RFC 4643, 2.4.2).";
    nntp::LOGINS_FAILED_MAX, Unit::Count("logins"), "wrong passwords on a connection", "Then it ends: who guesses has to connect again.";
    nntp::LOGINS_FAILED_MAX, Unit::Count("logins"), "failed logins of a connection", "After so many it is closed.";
    groups::wildmat::WORK_PER_BYTE_MAX, Unit::Count("steps"), "work for a byte that is matched with a client's pattern", "Of XPAT, NEWNEWS, LIST: whatever the pattern.";
    server::TIME_SLICE_MILLISECONDS_MAX, Unit::Count("milliseconds"), "turn of a connection", "A longer answer goes on in its next turn.";
    server::ROUND_MILLISECONDS_MAX, Unit::Count("milliseconds"), "turns of all connections with long answers", "Then new connections and short commands are looked at before the next.";
    nntp::OUT_BYTES_MAX, Unit::Bytes, "replies that wait to be sent", "While there are more, no further command of that connection is read.";
    server::IN_FLIGHT_BYTES_MAX, Unit::Bytes, "articles of a connection on their way to the disk", "While there are more, nothing is read from it.";
    server::IN_FLIGHT_ALL_BYTES_MAX, Unit::Bytes, "articles of all connections on their way to the disk", "While there are more, nothing is read from peers.";
    server::HELD_BYTES_MAX, Unit::Bytes, "articles that are not whole, of all connections", "Beyond, the slowest one of the greediest address is thrown away: its client is told to try again later.";
    server::HELD_SHARE_BYTES_MAX, Unit::Bytes, "articles that are not whole, of an address that is not greedy", "Where no address has more, the slowest of all is thrown away.";
    server::HANDSHAKE_BYTES_MAX, Unit::Bytes, "TLS handshakes that are not over, of all connections", "Beyond, the slowest one of the greediest address is ended.";
    server::HANDSHAKE_SHARE_BYTES_MAX, Unit::Bytes, "TLS handshakes that are not over, of an address that is not greedy", "Where no address has more, the slowest of all is ended.";
    server::HANDSHAKE_SECONDS_MAX, Unit::Count("seconds"), "TLS handshake", "Then the connection is closed; nntp.first_seconds counts, too.";
    server::layers::tls::HELLO_BYTES_MAX, Unit::Bytes, "first message of a TLS client", "A connection with a longer one is closed.";
    server::RESERVATION_SECONDS_MAX, Unit::Count("seconds"), "offer of a peer that keeps others waiting", "Then another that has the article is told to send it.";
    server::RESERVATIONS_MAX, Unit::Count("ids"), "ids that peers were told to send", "Beyond, all that have an article are told to send it.";
    server::DAMAGE_REMEMBERED_MAX, Unit::Count("places"), "damaged places that are told once", "Beyond it, each is told once more.";
    server::COPIED_BYTES_MAX, Unit::Bytes, "article that is sent from a copy", "A larger one is sent from its file.";
    server::LIST_FILE_BYTES_MAX, Unit::Bytes, "file shown by LIST", "A larger one is not shown.";
    server::worker_pool::LOGIN_JOBS_MAX, Unit::Count("logins"), "logins that wait", "More are refused.";
    server::worker_pool::SLOW_JOBS_PER_ADDRESS_MAX, Unit::Count("logins"), "logins of an address that wait", "More are refused. Addresses take turns.";
    server::worker_pool::LOGIN_THREADS_MAX, Unit::Count("threads"), "threads that look at passwords", "They end when there is nothing to do.";
    server::certificates::PEM_BYTES_MAX, Unit::Bytes, "file with a certificate or key", "A larger one is not read.";
    server::certificates::CERTIFICATES_MAX, Unit::Count("certificates"), "certificates in a chain", "More are a fault.";
    access::tables::ENTRIES_MAX, Unit::Count("entries"), "entries of [[access]]", "More are a fault.";
    access::tables::LIST_MAX, Unit::Count("items"), "networks, users or certificates of an entry", "More are a fault.";
    access::users::FILE_BYTES_MAX, Unit::Bytes, "file of users", "A larger one is not read, and nobody logs in: it would be some 250,000 users.";
    access::users::NAME_BYTES_MAX, Unit::Bytes, "name of a user", "A longer name is nobody's.";
    access::users::CERTIFICATES_MAX, Unit::Count("certificates"), "certificates of a user", "More are a fault.";
    access::password::PASSWORD_BYTES_MAX, Unit::Bytes, "password", "A longer one is wrong.";
    access::password::MEMORY_KIB_MAX, Unit::Count("KiB"), "memory for checking a password", "A line of users that asks for more is a fault; new ones ask for 19 MiB.";
    access::password::PASSES_MAX, Unit::Count("passes"), "passes for checking a password", "A line of users that asks for more is a fault; new ones ask for 2.";
    access::password::LANES_MAX, Unit::Count("lanes"), "lanes for checking a password", "A line of users that asks for more is a fault; new ones ask for 1.";
    access::password::HASH_BYTES_MAX, Unit::Bytes, "salt or hash of a password", "A line of users with a longer one is a fault.";
    access::sasl::ITERATIONS_MAX, Unit::Count("iterations"), "iterations of SCRAM", "A line of users that asks for more is a fault; new ones ask for 50,000.";
    access::sasl::RESPONSE_BYTES_MAX, Unit::Bytes, "response of a client in SASL", "A longer one is refused.";
    access::program::ANSWER_BYTES_MAX, Unit::Bytes, "answer of a program that checks passwords", "One that says more, or complains more, is killed.";
    access::flood::POSTERS_MAX, Unit::Count("posters"), "posters remembered for floods", "With more, those who may post again the soonest are forgotten.";
    access::flood::WAIT_SECONDS_MAX, Unit::Count("seconds"), "wait of who posts too much", "Each wait is twice as long as the one before, up to this.";
    access::rate_limit::WAIT_SECONDS_MAX, Unit::Count("seconds"), "wait for a rate", "Whoever takes more than a rate allows waits at most so long.";
    expire::life::DAYS_MAX, Unit::Count("days"), "life of an article", "A longer life is written `never'.";
}
