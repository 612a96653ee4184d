//! The limits that are part of the program: no setting changes them.

use settings::Unit;

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
    /// Its purpose, or the effect of exceeding it.
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
    article::batch::BATCH_LINE_BYTES_MAX, Unit::Bytes, "batch line", "A longer `#! rnews N' line is an error.";
    article::batch::LEADING_BLANK_BYTES_MAX, Unit::Bytes, "empty lines before a batch", "With more, the batch is an error.";
    article::wrap::LAYERS_MAX, Unit::Count("layers"), "layers of compression", "A batch with more layers of compression is moved to bad/.";
    article::wrap::RATIO_FREE_BYTES, Unit::Bytes, "batch without a limit on its ratio", "limits.expansion_ratio_max does not apply to a smaller batch.";
    article::wrap::ZSTD_WINDOW_LOG_MAX, Unit::Count("bits"), "zstd window, as a power of two", "A zstd batch that needs a larger window is moved to bad/.";
    article::wrap::XZ_MEMORY_BYTES_MAX, Unit::Bytes, "xz memory", "An xz batch that needs more memory is moved to bad/.";
    article::parse::HEADER_BYTES_MAX, Unit::Bytes, "header that is parsed", "The rest counts as body; limits.header_bytes_max rejects such an article before.";
    article::parse::BAD_LINE_SHOWN_BYTES_MAX, Unit::Bytes, "faulty header line in a message", "The rest of the line is left out of the message.";
    article::batch::HEAD_SHOWN_BYTES_MAX, Unit::Bytes, "start of a skipped article in memory", "The id and the site of an article that is too large are read from it; a longer header may hide them.";
    article::left_out::STATED_BYTES_MAX, Unit::Bytes, "stated size of an article without its body", "An article of a header-only feed whose Bytes states more is rejected.";
    article::message_id::NETWORK_BYTES_MAX, Unit::Bytes, "Message-ID on the network", "An article with a longer one cannot be requested over NNTP (RFC 3977, 3.6).";
    relay::verified::VERIFIED_BYTES_MAX, Unit::Bytes, "expanded batch, in memory", "A larger one is expanded into a file without a name in in.coming/ until its checksum is verified.";
    relay::rnews::UNFILED_NAMED_MAX, Unit::Count("articles"), "unfiled articles of a batch that rnews reports", "Further ones are kept in bad/ as well, and named only in `log'.";
    relay::rnews::HELD_BYTES_MAX, Unit::Bytes, "batch from a pipe, in memory", "Of a batch from a pipe, about this much stays in memory until a commit, or until in.coming/ has it.";
    relay::incoming::name::SUFFIX_BYTES_MAX, Unit::Bytes, "suffix of a batch in in.coming/", "A file with a longer one is not treated as a batch.";
    relay::incoming::spool::SECONDS_AHEAD_MAX, Unit::Count("seconds"), "time ahead in a name in in.coming/", "The names of batches that arrive together use times up to this far ahead, 62 batches in each second; above it, spooling fails.";
    relay::incoming::drain::NAMES_MAX, Unit::Count("files"), "names of in.coming/ held in memory", "When more files wait, the directory is listed again.";
    relay::incoming::drain::OTHERS_MAX, Unit::Count("files"), "reported files of in.coming/ with names that no batch has", "Nothing is said of further ones.";
    expire::policy::LIFE_REMEMBERED_DAYS_MAX, Unit::Count("days"), "life that counts in how long ids are remembered", "The ids of articles that live longer are forgotten as if they lived this long; `check' reports such a policy.";
    inject::posts_log::FIELD_BYTES_MAX, Unit::Bytes, "field of posts.log", "A longer one is truncated.";
    store::offload::UNCHECKED_RECORD_BYTES_MAX, Unit::Bytes, "article fetched from the object store by its stated length", "Of a larger one, the history here has to leave room for it; otherwise it counts as damaged.";
    store::REMOVAL_TEXT_BYTES_MAX, Unit::Bytes, "reason of a removal", "`article remove' refuses a longer one; a longer id of a cancel message is truncated in the list of removed articles.";
    store::EXPIRES_REMEMBERED_SECONDS_MAX, Unit::Count("seconds"), "time after arrival that an Expires header makes an id remembered", "A later date in Expires counts as this.";
    relay::incoming::drain::LEFT_MAX, Unit::Count("files"), "files of in.coming/ that cannot be filed", "After this many, newsrun ends.";
    daemon::REASON_BYTES_MAX, Unit::Bytes, "reason of `intake pause'", "A longer one is truncated.";
    crate::command::segments_offload::SEGMENTS_MAX, Unit::Count("segments"), "segments that one `segments offload' or `segments fetch' moves by their numbers", "With more operands it is a usage error.";
    crate::command::connections_close::CLOSED_MAX, Unit::Count("connections"), "connections that one `connections close' closes", "With more operands it is a usage error.";
    daemon::RECORD_SECONDS_MAX, Unit::Count("seconds"), "time that a line of figures/ covers", "Then the daemon writes the next one, if it worked since.";
    report::figures::LINE_BYTES_MAX, Unit::Bytes, "line of figures/", "A report skips a longer one.";
    report::figures::NAMED_MAX, Unit::Count("names"), "networks, and groups, in a line of figures/", "The smallest are added up without their names.";
    report::figures::PEERS_MAX, Unit::Count("names"), "entries, and feeds, in a line of figures/", "Further ones are left out.";
    report::ranking::NAMES_MAX, Unit::Count("names"), "neighbours, networks, or groups that a report counts by name", "When there are more, the smaller half is added up without names.";
    report::ranking::NAME_BYTES_MAX, Unit::Bytes, "name in a report", "A longer one is truncated.";
    report::daily::NAMED_MAX, Unit::Count("names"), "names in a list of a report", "The others are added up.";
    report::daily::SLOW_MAX, Unit::Count("moments"), "slow moments of a report", "The slowest are shown.";
    report::daily::MOMENTS_MAX, Unit::Count("lines"), "lines of figures/ in the plots of a report", "Further ones are not drawn.";
    report::daily::PEERS_MAX, Unit::Count("names"), "entries, and feeds, of a report", "Further ones are left out.";
    report::log_fold::FILES_MAX, Unit::Count("files"), "renamed logs that a report reads", "Those written first after the begin of the day are read.";
    report::paths::SITES_MAX, Unit::Count("sites"), "sites in `report --paths'", "Of a Path, what follows a further one does not count.";
    report::paths::LINKS_MAX, Unit::Count("pairs"), "pairs of sites in `report --paths'", "Further ones do not count.";
    report::paths::SITE_BYTES_MAX, Unit::Bytes, "site in `report --paths'", "Of a Path, what follows a longer one does not count.";
    crate::command::report::PATH_DAYS_MAX, Unit::Count("days"), "`report --paths --days'", "A larger number is a usage error.";
    server::READERS_NAMED_MAX, Unit::Count("names"), "networks, and groups, that a network thread counts by name", "When there are more, the smaller half is added up without names.";
    daemon::LINES_AT_ONCE_MAX, Unit::Count("lines"), "log messages of one kind in a row", "Further messages are counted and suppressed; then one is logged every two seconds.";
    daemon::METRICS_REQUEST_BYTES_MAX, Unit::Bytes, "request for metrics", "A longer one is rejected.";
    relay::log::TEXT_BYTES_MAX, Unit::Bytes, "text of a log line", "A longer one is truncated and ends in `...'.";
    relay::log::FIELD_BYTES_MAX, Unit::Bytes, "site or Message-ID of a log line", "A longer one is truncated.";
    openpgp::armor::FILE_BYTES_MAX, Unit::Bytes, "file of keys", "A larger file is not read by `key import'.";
    openpgp::packet::PACKET_BYTES_MAX, Unit::Bytes, "packet of a key", "A file with a larger one is rejected.";
    openpgp::certificate::KEYS_MAX, Unit::Count("keys"), "keys in one file", "A file with more is rejected.";
    openpgp::certificate::USER_IDS_MAX, Unit::Count("names"), "names of a key", "Further names are ignored.";
    openpgp::number::BITS_MAX, Unit::Count("bits"), "number in a key or signature", "A key or signature with a longer number is ignored.";
    openpgp::rsa::MODULUS_BITS_MIN, Unit::Count("bits"), "smallest RSA key", "A smaller one is rejected.";
    openpgp::rsa::EXPONENT_BITS_MAX, Unit::Count("bits"), "exponent of an RSA key", "A key with a longer one is rejected.";
    relay::keyring::KEYS_MAX, Unit::Count("keys"), "trusted keys", "Further keys are rejected.";
    relay::keyring::HIERARCHIES_BYTES_MAX, Unit::Bytes, "hierarchies of a key", "A longer list is rejected.";
    relay::control::policy::FILE_BYTES_MAX, Unit::Bytes, "control.ctl and controlperm", "A larger file is an error, and no control message is obeyed.";
    relay::control::policy::RULES_MAX, Unit::Count("lines"), "rules of control.ctl and controlperm", "More lines are an error.";
    relay::control::policy::INN_CHANGES_MAX, Unit::Count("changes"), "changes by a checkgroups under control.ctl", "A message with more changes waits for the administrator, unless /maxdocheckgroups/ sets another number (as in INN).";
    relay::control::decide::CHECKGROUPS_REMOVED_PERCENT_MAX, Unit::Count("percent"), "groups removed or changed by a checkgroups", "A message that would remove, or change the flag of, more of the groups that its sender may change, and more than two of them, waits for the administrator.";
    relay::control::processor::AGE_SECONDS_MAX, Unit::Count("seconds"), "age of a control message, by default", "Default of control.age_days_max.";
    relay::control::request::WORDS_MAX, Unit::Count("words"), "words of Control", "Further words are ignored.";
    relay::control::request::ADDRESS_BYTES_MAX, Unit::Bytes, "From of a control message", "A longer one counts as no address.";
    relay::control::groupinfo::BOUNDARY_BYTES_MAX, Unit::Bytes, "boundary of a newgroup message", "A message with a longer one is treated as having no parts.";
    relay::control::groupinfo::PARTS_MAX, Unit::Count("parts"), "parts of a newgroup message", "Further parts are ignored.";
    relay::control::scope::LISTED_MAX, Unit::Count("groups"), "groups of a checkgroups", "A longer list is rejected.";
    store::state::checkgroups_serials::HIERARCHIES_MAX, Unit::Count("hierarchies"), "serial numbers of checkgroups", "The serial numbers of further hierarchies are not stored.";
    relay::control::events::LOG_BYTES_MAX, Unit::Bytes, "control.log", "A larger file is renamed to control.log.old, in place of the one before.";
    relay::control::events::FIELD_BYTES_MAX, Unit::Bytes, "field of control.log", "A longer one is truncated and ends in `...'.";
    feed::remote::PASSWORD_FILE_BYTES_MAX, Unit::Bytes, "password_file", "A larger file is an error.";
    feed::remote::PASSWORD_BYTES_MAX, Unit::Bytes, "password for another server", "A longer one is an error.";
    settings::via::CONNECTIONS_MAX, Unit::Count("connections"), "connections to a peer", "A larger number in its settings is an error.";
    pull::source::SOURCES_MAX, Unit::Count("servers"), "servers to pull from", "More [[pull]] tables are an error.";
    pull::run::WINDOW_BYTES_MAX, Unit::Bytes, "requests of a pull in flight", "The next ones wait for replies.";
    pull::run::GROUPS_MAX, Unit::Count("groups"), "groups that a pull asks for at once", "The next ones wait.";
    pull::by_number::ROWS_MAX, Unit::Count("numbers"), "numbers of one overview request of a pull", "The rest is asked for afterwards.";
    pull::run::REMEMBERED_MAX, Unit::Count("ids"), "ids that a pull remembers", "With more, an article in several groups may be fetched twice.";
    pull::plan::OVERLAP_ARTICLES_MAX, Unit::Count("articles"), "overview of a renumbered group", "Only this many of its last articles are looked through.";
    pull::connection::CONNECT_SECONDS_MAX, Unit::Count("seconds"), "connecting to a server to pull from", "Then the next address is tried, or the run ends.";
    pull::connection::ROW_BYTES_MAX, Unit::Bytes, "overview row of a server to pull from", "A longer one ends the run.";
    pull::posts::POSTS_MAX, Unit::Count("posts"), "posts that go up in one run of pull", "The others go up with the next one.";
    feed::ihave::IDS_READ_MAX, Unit::Count("ids"), "ids read from an ihave or sendme message", "Further ids are ignored.";
    relay::control::ihave::IDS_MAX, Unit::Count("ids"), "ids written into an ihave or sendme message", "Further ids go into the next message.";
    relay::incoming::tries::TRIES_MAX, Unit::Count("tries"), "failed tries of a batch in in.coming/", "A batch at which filing stopped this often moves to bad/, if other batches were filed meanwhile.";
    relay::incoming::tries::REMEMBERED_MAX, Unit::Count("batches"), "batches with failed tries", "Further batches are tried as if for the first time.";
    store::state::pending_cancels::PENDING_MAX, Unit::Count("cancels"), "cancels that wait for their article", "When there are more, the oldest are dropped.";
    store::state::pending_cancels::PENDING_SECONDS_MAX, Unit::Count("seconds"), "life of a cancel that waits for its article", "An older one is dropped.";
    store::state::pending_cancels::KEYS_MAX, Unit::Count("keys"), "Cancel-Keys that wait for an article", "Further keys, of all cancels for the article together, are dropped.";
    relay::file::CANCEL_IDS_MAX, Unit::Count("ids"), "ids of a cancel, unless control.cancel is classic", "Further ids are ignored.";
    store::state::pending_cancels::FILE_BYTES_MAX, Unit::Bytes, "cancels.early", "A larger file is rewritten.";
    relay::signed::SIGNATURE_CHARACTERS_MAX, Unit::Count("characters"), "signature in X-PGP-Sig", "A longer one is ignored.";
    relay::signed::HEADERS_MAX, Unit::Count("headers"), "headers that X-PGP-Sig names", "A message with more counts as unverified.";
    relay::cancel_lock::HEADER_BYTES_MAX, Unit::Bytes, "Cancel-Lock or Cancel-Key", "Longer values are rejected.";
    relay::cancel_lock::ELEMENT_BYTES_MAX, Unit::Bytes, "one lock or key", "Longer values are rejected.";
    relay::cancel_lock::ELEMENTS_MAX, Unit::Count("locks"), "locks or keys of an article", "Further ones are ignored.";
    inject::draft::HEADER_LINE_BYTES_MAX, Unit::Bytes, "header line of a post", "A post with a longer one is rejected (RFC 5536, 2.2).";
    inject::draft::HEADERS_MAX, Unit::Count("headers"), "headers of a post", "A post with more is rejected.";
    inject::check::DATE_AGE_SECONDS_MAX, Unit::Count("seconds"), "age of a post", "A post with an older Date is rejected, as in INN.";
    inject::mailbox::RECIPIENT_BYTES_MAX, Unit::Bytes, "address of a moderator", "No mail is sent to a longer one.";
    inject::moderators::FILE_BYTES_MAX, Unit::Bytes, "mailpaths or moderators", "The rest of a larger file is ignored.";
    inject::mail_queue::MAIL_BYTES_MAX, Unit::Bytes, "mail to a moderator", "The rest of a larger mail is not sent.";
    inject::mail_queue::MAIL_SECONDS_MAX, Unit::Count("seconds"), "sending one mail", "Timeout of the mail program or server: the program is killed, and the mail stays in mail.queue/.";
    inject::smtp::CONNECT_SECONDS_MAX, Unit::Count("seconds"), "connecting to a mail server", "Then the next address is tried, or the mail stays in mail.queue/.";
    inject::smtp::REPLY_SECONDS_MAX, Unit::Count("seconds"), "reply of a mail server", "After a longer wait the mail stays in mail.queue/ (RFC 5321, 4.5.3.2).";
    inject::smtp::REPLY_LINE_BYTES_MAX, Unit::Bytes, "line of a reply of a mail server", "After a longer one the mail stays in mail.queue/.";
    inject::smtp::REPLY_LINES_MAX, Unit::Count("lines"), "lines of a reply of a mail server", "After more the mail stays in mail.queue/.";
    crate::posting::SIGNATURE_BYTES_MAX, Unit::Bytes, "signature", "The rest of a larger ~/.signature is ignored.";
    groups::active::IMAGE_BYTES_MAX, Unit::Bytes, "active file", "A larger active file is an error.";
    groups::active::NUMBER_MAX, Unit::Count("articles"), "articles of a group", "Highest article number. A group that has reached it accepts no articles.";
    groups::active::DIGITS_MAX, Unit::Count("digits"), "number in active", "A line with a longer number is an error.";
    groups::active::ALIAS_HOPS_MAX, Unit::Count("hops"), "alias hops", "A group that is an alias through more hops counts as unknown, as in C News.";
    groups::active::BAD_LINES_MAX, Unit::Count("lines"), "bad lines of active", "This many are reported one by one; more are only counted.";
    groups::name::NAME_BYTES_MAX, Unit::Bytes, "group name", "A longer name in active is an error: no NNTP command could name the group (RFC 3977, 3.1).";
    groups::name::SAFE_PART_BYTES_MAX, Unit::Bytes, "part of a group name", "A longer part between dots could not be the name of a directory.";
    groups::name::NEW_PART_BYTES_MAX, Unit::Bytes, "part of a new group's name", "A group with a longer part between dots is not created, as in C News (`group add --any-name' creates it).";
    groups::newsgroups::TEXT_BYTES_MAX, Unit::Bytes, "newsgroups file", "A larger newsgroups file is an error.";
    groups::newsgroups::DESCRIPTION_BYTES_MAX, Unit::Bytes, "description of a group", "A longer one is truncated.";
    groups::newsgroups::BAD_LINES_MAX, Unit::Count("lines"), "bad lines of newsgroups", "This many are reported one by one; more are only counted.";
    groups::sys::LINE_BYTES_MAX, Unit::Bytes, "line of sys", "A longer line, with its continuations, is an error.";
    groups::sites::SITES_MAX, Unit::Count("sites"), "sites in sys and broadsheet.toml", "More sites are an error.";
    groups::command_line::COMMAND_BYTES_MAX, Unit::Bytes, "command in sys or broadsheet.toml", "A longer one is an error.";
    groups::matrix::CACHED_ROWS_MAX, Unit::Count("names"), "unknown groups in the cache", "The cache of the sites that want a group outside active, or a distribution, holds this many names; then it is cleared.";
    groups::matrix::CACHED_NAME_BYTES_MAX, Unit::Bytes, "name of an unknown group in the cache", "A longer name is not cached.";
    store::SEGMENT_BYTES_MIN, Unit::Bytes, "smallest segment", "Lowest value of store.segment_bytes.";
    store::SEGMENT_BYTES_MAX, Unit::Bytes, "largest segment", "Highest value of store.segment_bytes: offsets in a segment have 32 bits.";
    store::PAD_BYTES_MAX, Unit::Bytes, "pad at the end of a segment", "Part of a segment that is reserved for the padding.";
    store::NODE_RESERVE_BYTES_MAX, Unit::Bytes, "reserve of a node of a cluster", "At most a 64th of the disk: space for what the log has in front of the decision of an expire, when the disk is full.";
    store::POSITION_MAX, Unit::Bytes, "log", "Total size of everything ever filed: the index stores addresses of 48 bits.";
    import::report::ENTRIES_MAX, Unit::Count("lines"), "report of an import", "Further lines are counted.";
    import::importer::FAULTS_NAMED_MAX, Unit::Count("articles"), "faults of an import that are reported one by one", "Further ones are counted, and all are listed in import.refused.";
    import::importer::LINKS_MAX, Unit::Count("groups"), "groups of one imported article", "It is not filed in further ones.";
    import::inn::history::LINE_BYTES_MAX, Unit::Bytes, "line of INN's history", "A longer line is skipped and counted.";
    import::conf_file::FILE_BYTES_MAX, Unit::Bytes, "file of settings or groups of another system", "A larger one is an error.";
    import::inn::conf::DEPTH_MAX, Unit::Count("groups"), "depth of groups in INN's settings", "Deeper groups are read as part of the last one.";
    import::cnews::tree::ARTICLE_BYTES_MAX, Unit::Bytes, "article in C News's tree", "A larger one is not imported, and reported.";
    import::cnews::tree::GROUP_FILES_MAX, Unit::Count("articles"), "articles of one group in C News's tree", "A group with more is reported, and only its articles that the history has are imported.";
    import::mbox::mailbox::FROM_LINE_BYTES_MAX, Unit::Bytes, "`From ' line of a mailbox", "A longer one is text of the message before it.";
    import::mbox::mailbox::FIELD_NAME_BYTES_MAX, Unit::Bytes, "name of the header after a `From ' line", "With a longer one, the line is text of the message before it.";
    import::mbox::mailbox::HEAD_SHOWN_BYTES_MAX, Unit::Bytes, "start of a too large message of a mailbox", "Its Message-ID is reported if it is in this part.";
    import::mbox::input::MAILBOX_BYTES_MAX, Unit::Bytes, "mailbox after decompression", "What follows is not imported, and reported.";
    import::mbox::input::ZIP_MEMBERS_MAX, Unit::Count("members"), "members of a zip archive of mailboxes", "An archive with more is not imported, and reported.";
    import::diablo::spool::DIRECTORIES_MAX, Unit::Count("directories"), "directories of a Diablo spool", "A spool with more is an error.";
    import::diablo::spool::DEPTH_MAX, Unit::Count("directories"), "depth of the directories N.xx in a Diablo spool", "Deeper ones are not searched.";
    import::inn::caf::ARTICLE_BYTES_MAX, Unit::Bytes, "article in INN's spools", "A larger one is not imported, and reported.";
    store::history::LINE_BYTES_MAX, Unit::Bytes, "history line", "A longer line is an error.";
    store::expires_header::TEXT_BYTES_MAX, Unit::Bytes, "Expires that is not a date, in history", "A longer one is truncated.";
    store::fsck::FINDINGS_MAX, Unit::Count("findings"), "findings of fsck", "This many are reported one by one; more are only counted.";
    store::fsck::LOST_IDS_MAX, Unit::Count("ids"), "lost articles that fsck lists", "The ids of this many are written to bad/lost.ids; more are only counted.";
    store::MAPS_MAX, Unit::Count("maps"), "files of the store mapped at a time", "Further files cannot be opened.";
    store::UNREADABLE_KEPT, Unit::Count("articles"), "unreadable articles that a network thread remembers", "The disk is not read again for these articles for a minute; for further ones it is.";
    store::PASSED_BYTES_MAX, Unit::Bytes, "unreadable part of a segment that feeds skip", "A feed waits at a longer unreadable part.";
    store::INDEX_LOAD_PERCENT_MAX, Unit::Count("percent"), "load of the index", "The table grows when this part of it is used.";
    cluster::entry::ENTRY_BYTES_MAX, Unit::Bytes, "entry of the log of a cluster", "limits.article_bytes_max must be less by 256 KiB; NATS servers must accept such messages.";
    cluster::settings_change::SETTINGS_BYTES_MAX, Unit::Bytes, "settings by which the nodes of a cluster decide", "`cluster apply' refuses larger ones: sites, sys, control.ctl and the keys together.";
    cluster::settings_change::DISTANCE_MAX, Unit::Count("entries"), "entries between a change of the settings and the place where it was made", "The change has no effect, and `cluster apply' says so.";
    cluster::jetstream::WAITING_BYTES_MAX, Unit::Bytes, "entries that were read and wait to be applied", "Then the node reads on when it has applied some.";
    cluster::reseed::PIECE_BYTES_MAX, Unit::Bytes, "piece of a segment on its way to another node", "Larger files go in several; fewer bytes if the NATS servers take smaller messages only.";
    cluster::reseed::LISTED_MAX, Unit::Count("files"), "files of a node in one reply to another", "Further ones are asked for by another request.";
    cluster::reseed::FILES_MAX, Unit::Count("files"), "files of a node that gives its segments to another", "The other one fetches none.";
    cluster::jetstream::segments::REQUESTS_FLYING_MAX, Unit::Count("requests"), "requests for segments on their way to another node", "The next one waits for a reply.";
    daemon::FLYING_ENTRIES_MAX, Unit::Count("entries"), "entries of a node on the way to the log", "Further articles wait, and become larger entries.";
    daemon::FLYING_BYTES_MAX, Unit::Bytes, "entries of a node on the way to the log", "Further articles wait.";
    daemon::ENTRY_ARTICLES_MAX, Unit::Count("articles"), "articles of an entry of the log of a cluster", "Further ones become another entry.";
    daemon::TOLD_DEFERRED_MAX, Unit::Count("articles"), "deferred articles that the node of a cluster that feeds tells the others", "Another one that takes the feeds sends further ones again, with all behind them.";
    daemon::BEHIND_SECONDS_MAX, Unit::Count("seconds"), "time that a node may be behind the log", "A node that lacks older entries accepts no new connections until it has caught up.";
    daemon::GRANTS_MAX, Unit::Count("permissions"), "permissions of senders that a node keeps compiled", "Then they are compiled anew.";
    daemon::CLIENTS_MAX, Unit::Count("clients"), "clients of the daemon", "Further clients are rejected; rnews then waits for the lock.";
    daemon::JOBS_MAX, Unit::Count("jobs"), "queued jobs of the daemon", "This many jobs wait in the queue; further clients wait for a place in it.";
    daemon::REQUEST_BYTES_MAX, Unit::Bytes, "request to the daemon", "A longer one is rejected.";
    daemon::FEEDERS_MAX, Unit::Count("feeds"), "feeds that the daemon serves immediately", "Further feeds wait for `feed flush'.";
    daemon::END_SECONDS_MAX, Unit::Count("seconds"), "time for a program to end", "When the daemon ends or reloads, a program has this long to read its remaining input and again this long to exit; then it is killed.";
    daemon::RUNNING_MAX, Unit::Count("tasks"), "scheduled tasks at a time", "Further due tasks start when one has ended.";
    groups::when::EVERY_SECONDS_MAX, Unit::Count("seconds"), "longest `every' of a schedule", "A longer interval is an error.";
    expire::explist::FILE_BYTES_MAX, Unit::Bytes, "explist", "A larger explist, or expire.ctl to import, is an error.";
    expire::explist::RULES_MAX, Unit::Count("rules"), "rules of explist", "More are an error.";
    expire::archiving::COPY_FAILURES_MAX, Unit::Count("copies"), "failed copies to archives", "After this many, a run of expire stops archiving, and the articles that it should archive are kept, as in C News.";
    expire::archiving::index_line::SUBJECT_BYTES_MAX, Unit::Bytes, "subject in a line of expire -p", "A longer one is truncated and ends in `...', as in C News.";
    expire::unreadable_expires::LISTED_MAX, Unit::Count("articles"), "articles that expire -g reports", "This many are reported one by one; more are only counted.";
    feed::site_state::SITE_NAME_BYTES_MAX, Unit::Bytes, "name of a site with a feed", "The name is also that of a directory in feeds/.";
    feed::deferred::DEFERRED_MAX, Unit::Count("articles"), "deferred articles of a site", "With more, the feed waits until the site has accepted some.";
    feed::waiting::ROUND_ARTICLES_MAX, Unit::Count("articles"), "articles collected in one pass for all sites", "Further articles are collected in another pass.";
    feed::waiting::LISTS_BYTES_MAX, Unit::Bytes, "lists of sites, as records name them, that a pass along the log keeps", "The pass looks their names up again.";
    feed::togo::NOTED_ARTICLES_MAX, Unit::Count("articles"), "articles collected at a time for one site", "Further articles are collected in another pass.";
    feed::batchparms::BATCHPARMS_BYTES_MAX, Unit::Bytes, "batchparms", "A larger file is an error.";
    feed::batchparms::RULES_MAX, Unit::Count("lines"), "rules of batchparms", "More are an error.";
    feed::batchparms::BATCH_BYTES_MAX, Unit::Bytes, "size of a batch", "A batch is closed at this size even if a larger one is configured: it is held in memory.";
    daemon::FEEDS_SECONDS_MAX, Unit::Count("seconds"), "time that rnews waits for feeds", "Without a daemon. Then rnews exits, and a process in the background continues.";
    feed::transport::COMMAND_SECONDS_MAX, Unit::Count("seconds"), "time of a command that sends a batch", "Timeout of the command: it is killed, and the batch is retried later. `sendbatches --command-seconds' sets another.";
    feed::transport::COMPLAINT_BYTES_MAX, Unit::Bytes, "error output of a command", "The end of its standard error, up to this size, is shown.";
    feed::queue::QUEUE_FILES_MAX, Unit::Count("batches"), "queue that is counted", "A longer queue counts as this long.";
    feed::file_list::LINES_BYTES_MAX, Unit::Bytes, "lines of a file list written at a time", "These lines are synced together before the cursor moves on.";
    feed::file_list::LIST_LOCKED_SECONDS_MAX, Unit::Count("seconds"), "locked file list", "How long to wait for the lock; then the articles stay queued.";
    feed::tree::UNSYNCED_ARTICLES_MAX, Unit::Count("articles"), "articles of a tree between two syncs", "Then the tree is synced, and the cursor moves on.";
    feed::tree::UNSYNCED_BYTES_MAX, Unit::Bytes, "text of a tree between two syncs", "Then the tree is synced, and the cursor moves on.";
    feed::tree::DIRECTORIES_MAX, Unit::Count("directories"), "open directories of a tree", "The directory that was not used for the longest time is closed.";
    feed::tree::DIRECTORY_NAMES_MAX, Unit::Count("names"), "names of directories of a tree in the name cache", "The name that was not used for the longest time is forgotten.";
    feed::back_off::BACK_OFF_SECONDS_MAX, Unit::Count("seconds"), "delay before a program is restarted, or a peer is called again", "The first delay is 1 second; it doubles each time up to this.";
    crate::peer::probe::ANSWER_SECONDS_MAX, Unit::Count("seconds"), "wait of `peer test' for a connection, and for each answer", "Then the step fails.";
    crate::peer::entry::ANSWER_BYTES_MAX, Unit::Bytes, "answer to a question of `peer add'", "The rest is ignored.";
    crate::backup::manifest::LIST_BYTES_MAX, Unit::Bytes, "list of the files of a backup", "A larger one is not read.";
    crate::backup::take::DEPTH_MAX, Unit::Count("directories"), "directories inside each other in a news directory that is backed up", "The backup fails.";
    nntp::client::REPLY_BYTES_MAX, Unit::Bytes, "first line of a reply of a peer", "The connection is closed, and tried again later.";
    nntp::client::CAPABILITY_LINES_MAX, Unit::Count("lines"), "list of capabilities of a peer", "The connection is closed, and tried again later.";
    feed::nntp::FLIGHT_ARTICLES_MAX, Unit::Count("articles"), "from the oldest article without a peer's answer to the newest offered one", "After a kill at most so many are offered again.";
    feed::nntp::NOTED_ARTICLES_MAX, Unit::Count("articles"), "articles that one search of the log finds for a peer", "The search goes on when half of them are offered.";
    feed::nntp::WINDOW_ARTICLES_MAX, Unit::Count("articles"), "articles in flight on a connection to a peer", "The window begins with 4,000 and grows while it is full.";
    feed::nntp::SHARED_BYTES_MAX, Unit::Bytes, "articles in memory that one peer was sent and others get next", "The oldest go; they are read again for peers that are slower.";
    feed::nntp::RESOLVERS_MAX, Unit::Count("threads"), "look-ups of peers' addresses at the same time", "Others wait.";
    feed::nntp::OPEN_SECONDS_MAX, Unit::Count("seconds"), "opening of a connection to a peer, up to the first article", "Then the connection is closed.";
    feed::nntp::IDLE_SECONDS_MAX, Unit::Count("seconds"), "connection to a peer without articles", "Then it is closed, and opened again for the next article.";
    feed::nntp::DURABLE_SECONDS_MAX, Unit::Count("seconds"), "articles that a peer is offered again after a power cut", "A kill costs only what is in flight.";
    feed::nntp::ANSWER_SECONDS_MAX, Unit::Count("seconds"), "wait for a peer that takes or answers nothing", "Then the connection is closed; what it has not answered is offered again.";
    feed::nntp::ATTEMPTS_MAX, Unit::Count("attempts"), "offers of an article that a peer defers", "The delay is 15 seconds at first and an hour at most; then the article is given up for this peer, and the journal says so.";
    feed::program::IN_FLIGHT_BYTES_MAX, Unit::Bytes, "data in flight to a program", "This much, or one article, is written at a time; the next when the program has read it.";
    feed::batch_log::LOG_BYTES_MAX, Unit::Bytes, "batchlog", "A larger file is renamed to batchlog.o.";
    daemon::MAILS_MAX, Unit::Count("mails"), "mail programs at a time", "Posts to moderated groups over NNTP; further mail waits in mail.queue/ for the next retry.";
    daemon::RETRY_SECONDS_MAX, Unit::Count("seconds"), "interval between two attempts to send waiting mail", "The first is a minute; it doubles after each failure.";
    nntp::COMMAND_BYTES_MAX, Unit::Bytes, "NNTP command", "The reply to a longer line is 501 (RFC 3977, 3.1).";
    nntp::SASL_BYTES_MAX, Unit::Bytes, "answer to a SASL challenge", "The reply to a longer line is 501 (RFC 4643, 2.4.2).";
    nntp::LOGINS_FAILED_MAX, Unit::Count("logins"), "wrong passwords on a connection", "Then the connection is closed.";
    groups::wildmat::WORK_PER_BYTE_MAX, Unit::Count("steps"), "steps to match a byte with a client's pattern", "Limits the cost of XPAT, NEWNEWS and LIST, whatever the pattern.";
    server::TIME_SLICE_MILLISECONDS_MAX, Unit::Count("milliseconds"), "time for the reply to one connection", "A longer reply continues after the other connections.";
    server::ROUND_MILLISECONDS_MAX, Unit::Count("milliseconds"), "time for all connections with long replies", "Then new connections and short commands are served before the next.";
    nntp::OUT_BYTES_MAX, Unit::Bytes, "replies that wait to be sent", "With more, no further command of that connection is read.";
    server::IN_FLIGHT_BYTES_MAX, Unit::Bytes, "articles of a connection that are being written to the disk", "With more, nothing is read from that connection.";
    server::IN_FLIGHT_ALL_BYTES_MAX, Unit::Bytes, "articles of all connections that are being written to the disk", "With more, nothing is read from peers.";
    server::HELD_BYTES_MAX, Unit::Bytes, "incomplete articles of all connections", "Above it, the slowest article of the address with the most is dropped, and its client is asked to retry later.";
    server::HELD_SHARE_BYTES_MAX, Unit::Bytes, "incomplete articles of one address", "Where no address has more than this, the slowest article of all is dropped.";
    server::HANDSHAKE_BYTES_MAX, Unit::Bytes, "unfinished TLS handshakes of all connections", "Above it, the slowest handshake of the address with the most is aborted.";
    server::HANDSHAKE_SHARE_BYTES_MAX, Unit::Bytes, "unfinished TLS handshakes of one address", "Where no address has more than this, the slowest handshake of all is aborted.";
    server::HANDSHAKE_SECONDS_MAX, Unit::Count("seconds"), "TLS handshake", "Timeout of the handshake; nntp.first_seconds applies as well.";
    layers::tls::HELLO_BYTES_MAX, Unit::Bytes, "first message of a TLS client", "A connection with a longer one is closed.";
    layers::client::PLAIN_BYTES_MAX, Unit::Bytes, "decompressed in one step, from a peer", "The rest stays compressed until that is processed.";
    layers::trust::CA_FILE_BYTES_MAX, Unit::Bytes, "file of CA certificates", "A larger file is an error.";
    server::RESERVATION_SECONDS_MAX, Unit::Count("seconds"), "time that a peer may take to send an article it offered", "Then another peer that offers the article is asked to send it.";
    server::RESERVATIONS_MAX, Unit::Count("ids"), "articles that peers were asked to send", "Above it, all peers that offer an article are asked to send it.";
    server::DAMAGE_REMEMBERED_MAX, Unit::Count("places"), "damaged places that are reported once", "Damage in further places can be reported more than once.";
    objects::ANSWER_BYTES_MAX, Unit::Bytes, "answer of an object store that is no article", "Of a longer one, the text is left out of the message.";
    objects::LOGIN_BYTES_MAX, Unit::Bytes, "keys/offload.login", "A larger file is an error.";
    server::FETCH_THREADS_MAX, Unit::Count("threads"), "threads that fetch articles from the object store for clients", "Further fetches wait; as many as logins may, and then clients get 403.";
    server::COPIED_BYTES_MAX, Unit::Bytes, "article that is copied before it is sent", "A larger one is sent directly from its file.";
    server::LIST_FILE_BYTES_MAX, Unit::Bytes, "file that LIST sends", "A larger one is not sent.";
    server::worker_pool::LOGIN_JOBS_MAX, Unit::Count("logins"), "logins that wait", "Further logins are rejected.";
    server::worker_pool::SLOW_JOBS_PER_ADDRESS_MAX, Unit::Count("logins"), "logins of an address that wait", "Further logins are rejected. Addresses are served in turn.";
    server::worker_pool::LOGIN_THREADS_MAX, Unit::Count("threads"), "threads that check passwords", "They end when no login waits.";
    server::certificates::PEM_BYTES_MAX, Unit::Bytes, "file with a certificate or key", "A larger one is an error.";
    server::certificates::CERTIFICATES_MAX, Unit::Count("certificates"), "certificates in a chain", "More are an error.";
    access::tables::ENTRIES_MAX, Unit::Count("entries"), "entries of [[access]]", "More are an error.";
    access::tables::LIST_MAX, Unit::Count("items"), "networks, users or certificates of an entry", "More are an error.";
    access::users::FILE_BYTES_MAX, Unit::Bytes, "file of users", "With a larger file (about 250,000 users), all logins fail.";
    access::users::NAME_BYTES_MAX, Unit::Bytes, "name of a user", "A login with a longer name fails.";
    access::users::CERTIFICATES_MAX, Unit::Count("certificates"), "certificates of a user", "More are an error.";
    access::password::PASSWORD_BYTES_MAX, Unit::Bytes, "password", "A login with a longer one fails.";
    access::password::MEMORY_KIB_MAX, Unit::Count("KiB"), "memory for checking a password", "A line of users that asks for more is an error; new ones ask for 19 MiB.";
    access::password::PASSES_MAX, Unit::Count("passes"), "passes for checking a password", "A line of users that asks for more is an error; new ones ask for 2.";
    access::password::LANES_MAX, Unit::Count("lanes"), "lanes for checking a password", "A line of users that asks for more is an error; new ones ask for 1.";
    access::password::HASH_BYTES_MAX, Unit::Bytes, "salt or hash of a password", "A line of users with a longer one is an error.";
    access::sasl::ITERATIONS_MAX, Unit::Count("iterations"), "iterations of SCRAM", "A line of users that asks for more is an error; new ones ask for 50,000.";
    access::sasl::RESPONSE_BYTES_MAX, Unit::Bytes, "response of a client in SASL", "A longer one is rejected.";
    access::program::ANSWER_BYTES_MAX, Unit::Bytes, "output of auth.program", "A program that writes more, on standard output or standard error, is killed.";
    access::flood::POSTERS_MAX, Unit::Count("posters"), "posters that have to wait", "With more, those that may post again the soonest are dropped.";
    access::flood::WAIT_SECONDS_MAX, Unit::Count("seconds"), "wait of a poster above posts_per_minute_max", "Each wait is twice as long as the one before, up to this.";
    access::rate_limit::WAIT_SECONDS_MAX, Unit::Count("seconds"), "wait for a rate", "A client above its rate waits at most this long.";
    mount::HANDLES_MAX, Unit::Count("files"), "open files of a mount, without articles", "Opening a further .overview, active, active.times or newsgroups fails.";
    mount::DIRECTORIES_MAX, Unit::Count("directories"), "directories of a mount with a known inode number", "Above it, all are forgotten; the kernel asks again.";
    mount::LISTED_MAX, Unit::Count("articles"), "articles of a directory that a mount lists in memory", "A larger group is searched in the store's index.";
    mount::ENTRIES_MAX, Unit::Count("entries"), "entries of the directories that a mount lists in memory", "Above it, the least recently used directory is dropped.";
    mount::CONTENTS_BYTES_MAX, Unit::Bytes, "articles that a mount keeps between two reads", "Above it, the least recently used are dropped; a larger article is kept alone.";
    mount::SIZES_MAX, Unit::Count("files"), ".overview files whose size a mount keeps", "Above it, all are forgotten and counted again.";
    mount::END_SECONDS_MAX, Unit::Count("seconds"), "time to leave a mount that ends", "Then its users get errors.";
    mount::counters::MOUNTS_MAX, Unit::Count("mounts"), "mounts that `status' shows", "A further one works, but is not shown.";
    namei::names::NAMES_MAX, Unit::Count("names"), "names in a name cache, if not set", "The least recently used name is dropped.";
    namei::names::NAME_BYTES_MAX, Unit::Bytes, "name in a name cache", "A longer one is searched each time.";
    namei::nodes::NODES_MAX, Unit::Count("nodes"), "directories and files known to a name cache, if not set", "The least recently used one is dropped, and its names with it.";
    namei::offsets::PROCESSES_MAX, Unit::Count("processes"), "processes in a directory offset cache, if not set", "The least recently used one is dropped.";
    expire::life::DAYS_MAX, Unit::Count("days"), "life of an article", "A longer one is written `never'.";
}
