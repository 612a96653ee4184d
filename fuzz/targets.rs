//! What is fuzzed: a function for each parser. `make fuzz` calls them from `fuzz_targets/`, and the test
//! `parsers_withstand_anything` calls them with the kept corpus and mutations of it, on every change.
//!
//! None may panic, whatever it is given; and each holds the parser to something that must be so.

use std::io::Read;

use article::article_end::{ArticleEnd, Ending};
use article::batch::{Batch, BatchLimits, Item};
use article::path::Path;
use article::wire_facts::WireFacts;
use article::wrap::{self, WrapLimits};
use article::xref::Xref;
use article::{Article, Form, Header, Identity, date, message_id, old, wire};
use groups::Sites;
use groups::newsgroups::Newsgroups;
use groups::{Active, Matrix, Pattern, SiteSet, Wildmat, name};
use store::history;
use store::{HistoryLine, Position};

#[path = "../crates/nntp/tests/backend/mod.rs"]
mod backend;
#[path = "../crates/store/tests/news/mod.rs"]
mod news;

/// Takes any bytes; panics if something is wrong.
pub type Target = fn(&[u8]);

/// Every target, by the name of its file in `fuzz_targets/` and of its folder in `corpus/`.
pub const TARGETS: &[(&str, Target)] = &[
    ("header", header),
    ("old_article", old_article),
    ("batch", batch),
    ("wrapped", wrapped),
    ("wrap_compress", wrap_compress),
    ("wrap_c7", wrap_c7),
    ("wrap_gzip", wrap_gzip),
    ("wrap_zstd", wrap_zstd),
    ("wrap_bzip2", wrap_bzip2),
    ("wrap_xz", wrap_xz),
    ("sys", sys),
    ("site_tables", site_tables),
    ("active", active),
    ("newsgroups", newsgroups),
    ("history_line", history_line),
    ("pattern", pattern),
    ("wildmat", wildmat),
    ("date", date),
    ("message_id", message_id),
    ("path_and_xref", path_and_xref),
    ("wire", wire),
    ("explist", explist),
    ("openpgp", openpgp),
    ("signed_control", signed_control),
    ("control_message", control_message),
    ("post", post),
    ("cancel_lock", cancel_lock),
    ("nntp_session", nntp_session),
    ("nntp_peer", nntp_peer),
    ("users", users),
    ("access_tables", access_tables),
    ("sasl", sasl),
    ("feed_place", feed_place),
    ("damaged_store", damaged_store),
    ("import_inn", import_inn),
    ("import_cnews", import_cnews),
    ("mailbox", mailbox),
];

/// The header of an article, in both forms.
pub fn header(data: &[u8]) {
    for form in [Form::Native, Form::Wire] {
        let article = Article::parse(data, form);
        assert!(article.header_len() <= article.body() && article.body() <= data.len());
        for header in Header::ALL {
            let (line, value) = (article.line(*header), article.value_range(*header));
            assert_eq!(line.is_some(), value.is_some());
            if let (Some(line), Some(value)) = (line, value) {
                assert!(line.start <= value.start && value.end <= line.end);
                assert!(line.end <= article.header_len());
                assert_eq!(data.get(value), article.value(*header));
            }
        }
        for (line, found, value) in article.fields() {
            assert!(line.end <= article.header_len());
            assert!(!found.is_empty() && value.len() < line.len());
        }
        for line in article.xref_lines() {
            assert!(data[line][..4].eq_ignore_ascii_case(b"xref"));
        }
        if form == Form::Native
            && let Some(found) = Identity::of(data)
        {
            assert_eq!(article.value(Header::MessageId), Some(found.id));
            assert_eq!(article.value(Header::Path), Some(found.path));
        }
        let _ = (article.required(), article.error().map(ToString::to_string));
        if let Some(path) = Path::of(&article) {
            assert!(path.hop_count() <= data.len());
        }
        for group in
            article::newsgroups::split(article.value(Header::Newsgroups).unwrap_or_default())
        {
            assert!(!group.is_empty());
        }
    }
}

/// Articles of A News and B News: what is converted needs no converting any more, and ends as it did.
pub fn old_article(data: &[u8]) {
    let article = Article::parse(data, Form::Native);
    let mut out = Vec::new();
    if old::convert(&article, &mut out) {
        assert!(!out.is_empty());
        let again = Article::parse(&out, Form::Native);
        assert!(!old::convert(&again, &mut Vec::new()));
    } else {
        assert!(out.is_empty());
    }
}

/// Gives at most so many bytes at a time.
struct Slow<'a>(&'a [u8], usize);

impl Read for Slow<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let count = self.1.min(out.len()).min(self.0.len());
        let (now, later) = self.0.split_at(count);
        out[..count].copy_from_slice(now);
        self.0 = later;
        Ok(count)
    }
}

/// The framing of a batch: it comes apart the same way from memory and from any pipe, and loses no byte.
pub fn batch(data: &[u8]) {
    let limits = BatchLimits {
        buffer_bytes: 512,
        article_bytes_max: 4096,
    };
    let items = |batch: &mut dyn FnMut() -> Option<String>| {
        let mut items = Vec::new();
        while let Some(item) = batch() {
            items.push(item);
            assert!(items.len() <= data.len() + 1);
        }
        items
    };
    let mut lent = Batch::from_bytes(data, limits);
    let whole = items(&mut || {
        let item = lent.next().expect("memory does not fail")?;
        if let Item::Article { bytes, offset } = item {
            let at = usize::try_from(offset).expect("within the data");
            assert_eq!(&data[at..at + bytes.len()], bytes);
            assert!(bytes.len() <= 4096);
        }
        Some(format!("{item:?}"))
    });
    for step in [1, 7, 4096] {
        let mut read = Batch::new(Slow(data, step), limits);
        let pieces = items(&mut || Some(format!("{:?}", read.next().expect("no failure")?)));
        // Of a bare article over the limit only so much is read; in memory all of it is seen.
        if !whole.iter().any(|item| item.starts_with("TooLarge")) {
            assert_eq!(pieces, whole, "in steps of {step}");
        }
    }
}

const EXPANDED_BYTES_MAX: u64 = 1 << 20;
const ROOM_BYTES: usize = 64 << 10;

fn unwrap(data: &[u8]) {
    let limits = WrapLimits {
        expanded_bytes_max: EXPANDED_BYTES_MAX,
        ratio_max: 200,
        layers_max: 3,
        ..WrapLimits::default()
    };
    let mut results = Vec::new();
    for step in [usize::MAX, 3] {
        let Ok(mut opened) = wrap::open(Slow(data, step), limits) else {
            results.push(None);
            continue;
        };
        let wrapped = !opened.layers().is_empty() || opened.is_empty_wrapper();
        let mut out = Vec::new();
        let mut room = vec![0; ROOM_BYTES];
        let done = loop {
            match opened.read(&mut room) {
                Ok(0) => break Ok(()),
                Ok(count) => out.extend_from_slice(&room[..count]),
                Err(error) => break Err(error),
            }
            // What is over the limit may be given out once, with the error behind it.
            assert!(!wrapped || out.len() as u64 <= EXPANDED_BYTES_MAX + ROOM_BYTES as u64);
        };
        assert!(!wrapped || done.is_err() || out.len() as u64 <= EXPANDED_BYTES_MAX);
        // What has no wrapper comes out as it is; but a `#! cunbatch` line goes even from a batch that was never
        // wrapped, as C News has it.
        assert!(wrapped || done.is_err() || data.ends_with(&out));
        results.push(done.is_ok().then_some(out));
    }
    assert_eq!(results.first(), results.last(), "however it is read");
}

/// Any input, wrapped or not.
pub fn wrapped(data: &[u8]) {
    unwrap(data);
}

fn wrapped_as(line: &str, magic: &[u8], data: &[u8]) {
    unwrap(&[line.as_bytes(), magic, data].concat());
}

/// LZW as `compress` writes it.
pub fn wrap_compress(data: &[u8]) {
    wrapped_as("", b"\x1f\x9d", data);
    wrapped_as("#! cunbatch\n", b"", data);
}

/// The 7-bit code.
pub fn wrap_c7(data: &[u8]) {
    wrapped_as("#! c7unbatch\n", b"", data);
}

/// gzip.
pub fn wrap_gzip(data: &[u8]) {
    wrapped_as("", b"\x1f\x8b", data);
    wrapped_as("#! gunbatch\n", b"", data);
}

/// Zstandard.
pub fn wrap_zstd(data: &[u8]) {
    wrapped_as("#! zunbatch\n", b"\x28\xb5\x2f\xfd", data);
}

/// bzip2.
pub fn wrap_bzip2(data: &[u8]) {
    wrapped_as("", b"BZh", data);
}

/// xz.
pub fn wrap_xz(data: &[u8]) {
    wrapped_as("", b"\xfd7zXZ\0", data);
}

const ACTIVE: &[u8] =
    b"comp.a 0000000000 00001 y\ncomp.b 0000000007 00003 m\nalt.c 0000000000 00001 x\n\
    d 0000000000 00001 =comp.a\ne 0000000000 00001 =e\n";

fn known_groups() -> Active {
    Active::parse(ACTIVE.to_vec()).expect("it is small")
}

/// The sys file, and the matrix made of it.
pub fn sys(data: &[u8]) {
    if let Ok(sites) = groups::Sites::parse(data, b"news.example.org") {
        matrix(&sites);
    }
}

/// The tables of sites in broadsheet.toml, and the matrix made of them.
pub fn site_tables(data: &[u8]) {
    let Ok(tables) = settings::sites(&String::from_utf8_lossy(data)) else {
        return;
    };
    if let Ok(sites) = Sites::read(b"", &tables, b"news.example.org") {
        matrix(&sites);
    }
}

fn matrix(sites: &Sites) {
    for (index, site) in sites.sites().iter().enumerate() {
        assert!(!site.name.is_empty());
        assert!(!sites.feed_name(index).is_empty());
    }
    let active = known_groups();
    let mut matrix = Matrix::new(&active, sites);
    let ids: Vec<_> = active.ids().collect();
    let mut bits = SiteSet::new();
    let unknown: [&[u8]; 2] = [b"comp.unknown", b"x"];
    for moderated in [false, true] {
        matrix.select(&active, &ids, &unknown, None, moderated, &mut bits);
        for site in bits.sites() {
            assert!(!sites.sites()[site].is_me, "nothing is sent to ourselves");
        }
    }
    // What the matrix says of a group is what the pattern says.
    for id in &ids {
        assert_eq!(
            matrix.accepts(&active, *id),
            sites.subscription().matches(active.name(*id))
        );
    }
}

/// The active file: read, numbered, changed, and read again.
pub fn active(data: &[u8]) {
    let Ok(mut active) = Active::parse(data.to_vec()) else {
        return;
    };
    let ids: Vec<_> = active.ids().collect();
    for id in &ids {
        let name = active.name(*id).to_vec();
        assert_eq!(active.find(&name), Some(*id));
        assert!(name::is_safe(&name));
        let high = active.high(*id);
        match active.take_number(*id) {
            Some(number) => {
                assert!(number > high);
                assert_eq!(active.high(*id), number);
            }
            None => assert_eq!(active.high(*id), high),
        }
        let _ = active.resolve(*id);
    }
    if let Some(first) = ids.first() {
        let _ = active.remove(*first);
    }
    let _ = active.add(b"a.new.group", groups::Flag::parse(b"m").expect("a flag"));
    let again = Active::parse(active.image().to_vec()).expect("our own image");
    assert_eq!(again.len(), active.len());
    for id in active.ids() {
        let other = again.find(active.name(id)).expect("it is in the image");
        assert_eq!(again.high(other), active.high(id));
        assert_eq!(again.low(other), active.low(id));
        assert_eq!(again.flag(other), active.flag(id));
    }
}

/// The newsgroups file: read, changed, and read again.
pub fn newsgroups(data: &[u8]) {
    let Ok(mut list) = Newsgroups::parse(data.to_vec()) else {
        return;
    };
    let names: Vec<Vec<u8>> = list.iter().map(|(name, _)| name.to_vec()).collect();
    if let Some(first) = names.first() {
        assert_eq!(list.remove(first), Ok(true));
        assert_eq!(list.description(first), None);
    }
    list.set(b"comp.set", b"one line\nand what would be another")
        .expect("a safe name");
    let again = Newsgroups::parse(list.text().to_vec()).expect("our own text");
    assert_eq!(again.iter().count(), list.iter().count());
    assert_eq!(
        again.description(b"comp.set"),
        list.description(b"comp.set")
    );
}

/// A history line, ours or another's; and what we write of it reads the same.
pub fn history_line(data: &[u8]) {
    let Some(line) = HistoryLine::parse(data) else {
        return;
    };
    let links: Vec<(&[u8], u64)> = line.links().collect();
    assert!(links.len() <= data.len());
    let (Some(arrival), Some(size), Some(position)) = (line.arrival, line.size, line.position)
    else {
        return;
    };
    let is_plain = |text: &[u8]| !text.iter().any(|byte| b"\t\n ,~\r\0".contains(byte));
    if links.is_empty() || !is_plain(line.id) || !links.iter().all(|(group, _)| is_plain(group)) {
        return;
    }
    let mut text = Vec::new();
    history::push_filed(
        &mut text,
        line.id,
        (arrival, line.expires),
        size,
        (Position(position.0), line.is_late),
        &links,
    );
    let again = HistoryLine::parse(&text).expect("our own line");
    assert_eq!(
        (again.id, again.arrival, again.expires.date()),
        (line.id, Some(arrival), line.expires.date())
    );
    assert_eq!((again.size, again.position), (Some(size), Some(position)));
    assert_eq!(again.links().collect::<Vec<_>>(), links);
}

/// The pattern and the text to match: the two sides of the first line end.
fn two(data: &[u8]) -> (&[u8], &[u8]) {
    let at = data
        .iter()
        .position(|byte| *byte == b'\n')
        .unwrap_or(data.len());
    (&data[..at], data.get(at + 1..).unwrap_or_default())
}

/// C News's patterns: a list matches if any of its groups does.
pub fn pattern(data: &[u8]) {
    let (list, groups) = two(data);
    let pattern = Pattern::parse(list);
    let any = article::newsgroups::split(groups).any(|group| pattern.matches(group));
    assert_eq!(pattern.matches_any(groups), any);
}

/// INN's patterns, the three kinds.
pub fn wildmat(data: &[u8]) {
    let (list, text) = two(data);
    // Stars multiply the work; INN's own is bounded by the length of a command.
    let list = &list[..list.len().min(512)];
    let text = &text[..text.len().min(512)];
    for wildmat in [
        Wildmat::parse(list),
        Wildmat::parse_poison(list),
        Wildmat::parse_simple(list),
    ] {
        let _ = (
            wildmat.matches(text),
            wildmat.result(text),
            wildmat.matches_any(text),
        );
    }
}

/// A date of any shape: within its bounds, and the same when written our way and read again.
pub fn date(data: &[u8]) {
    for zone in [date::FixedOffset(0), date::FixedOffset(-12_345)] {
        let Some(seconds) = date::parse(data, &zone) else {
            continue;
        };
        assert!(
            (0..=253_402_300_799).contains(&seconds),
            "1970 to 9999: {seconds}"
        );
        let mut written = Vec::new();
        date::write_utc(&mut written, seconds);
        assert_eq!(date::parse(&written, &zone), Some(seconds));
        assert_eq!(date::parse_strict(&written), Some(seconds));
    }
    let _ = date::parse_strict(data);
}

/// A message-id: what is the same hashes the same, and folding the domain changes nothing.
pub fn message_id(data: &[u8]) {
    let key = message_id::HashKey::new([7; message_id::HashKey::BYTES]);
    let _ = message_id::check(data).map_err(|fault| fault.to_string());
    if message_id::valid_strict(data) {
        assert!(message_id::check(data).is_ok());
    }
    assert!(message_id::same(data, data));
    let (one, other) = two(data);
    assert_eq!(message_id::same(one, other), message_id::same(other, one));
    if message_id::same(one, other) {
        assert_eq!(key.hash(one), key.hash(other));
    }
    if let Some(at) = data.iter().rposition(|byte| *byte == b'@') {
        let mut folded = data.to_vec();
        folded[at..].make_ascii_uppercase();
        assert!(message_id::same(data, &folded));
        assert_eq!(key.hash(data), key.hash(&folded));
    }
}

/// Path and Xref.
pub fn path_and_xref(data: &[u8]) {
    let (value, approval) = two(data);
    for path in [Path::new(value, None), Path::new(value, Some(approval))] {
        for site in path.sites() {
            assert!(!site.is_empty() && path.contains_site(site));
        }
        assert!(path.hop_count() <= value.len());
        assert!(path.hop_count() > 0 || path.first_site().is_none());
    }
    let xref = Xref::parse(value);
    for (group, number) in xref.links() {
        assert!(!group.is_empty() && !group.contains(&b' '));
        let _ = number;
    }
    assert!(xref.host().len() <= value.len());
}

/// Native form to wire form and back; and wire form, whatever came, to native form.
pub fn wire(data: &[u8]) {
    let mut sent = Vec::new();
    let lines = wire::push_wire(&mut sent, data);
    assert!(sent.is_empty() || sent.ends_with(b"\r\n"));
    assert!(!sent.starts_with(b".\r\n") && !sent.windows(5).any(|five| five == b"\r\n.\r\n"));
    assert!(lines as usize <= data.len());
    let mut back = Vec::new();
    wire::push_native_flagged(&mut back, &sent, wire::lacks_final_newline(data));
    assert_eq!(back, data);

    let half = data.len() / 2;
    let (mut part, mut alone) = (Vec::new(), Vec::new());
    wire::push_wire_before(&mut part, data, half);
    wire::push_wire(&mut alone, data.get(..half).unwrap_or_default());
    assert_eq!(part, alone);

    let mut native = Vec::new();
    wire::push_native(&mut native, data);
    assert!(native.len() <= data.len());
    facts(data);
}

/// The facts about received text, found in one pass, in portions and whole.
fn facts(data: &[u8]) {
    let (mut end, mut whole) = (ArticleEnd::default(), ArticleEnd::default());
    let middle = data.len() / 2;
    let first = end.search(data.get(..middle).unwrap_or_default());
    let found = match first {
        Ending::At(_) => first,
        Ending::NotYet(_) => end.search(data),
    };
    assert_eq!((found, end.facts()), (whole.search(data), whole.facts()));
    if let Ending::At(length) = found {
        let article = data.get(..length - 3).unwrap_or_default();
        assert_eq!(end.facts(), WireFacts::of(article));
        let mut native = Vec::new();
        wire::push_native(&mut native, article);
        let counts = end.facts().counts;
        assert_eq!(native.len(), counts.native_length(article.len()));
    }
}

/// The policy of expire, and expire.ctl of INN made into one.
pub fn explist(data: &[u8]) {
    if let Ok(list) = expire::Explist::parse(data, "explist", Some(b"/archive"))
        && let Ok((policy, _)) = expire::Policy::compile(list, &known_groups())
    {
        for id in known_groups().ids() {
            assert!(policy.rule(id).is_some(), "every group is ruled");
            let _ = policy.cutoffs(id, 756_362_361);
        }
    }
    if let Ok(text) = expire::expire_ctl::convert(data) {
        let _ = expire::Explist::parse(&text, "explist", None);
    }
}

/// Keys and signatures, in armour and without.
pub fn openpgp(data: &[u8]) {
    for found in ::openpgp::Certificate::read_all(data).into_iter().flatten() {
        let Ok(certificate) = found else { continue };
        let again = ::openpgp::Certificate::read_all(&certificate.packets);
        let again = again.expect("its packets are a key file").remove(0);
        assert_eq!(again.expect("the same key").key, certificate.key);
    }
    for block in ::openpgp::armor::blocks(data).unwrap_or_default() {
        let text = ::openpgp::armor::encode("SIGNATURE", &block);
        assert_eq!(
            ::openpgp::armor::blocks(text.as_bytes()),
            Ok(vec![block.clone()])
        );
        let _ = ::openpgp::Signature::read(&block);
    }
    let _ = ::openpgp::Signature::read(data);
}

/// A control message with a signature, and the one key that is trusted.
pub fn signed_control(data: &[u8]) {
    const KEY: &[u8] = include_bytes!("../crates/openpgp/tests/vectors/old.key.asc");
    let mut keys = ::openpgp::Certificate::read_all(KEY).expect("a key");
    let keyring = relay::Keyring {
        keys: vec![relay::TrustedKey {
            certificate: keys.remove(0).expect("a usable key"),
            hierarchies: "example.*".to_owned(),
            allowed: relay::keyring::Allowed {
                md5: true,
                sha1: true,
            },
        }],
    };
    let article = Article::parse(data, Form::Native);
    if let Ok(verified) = relay::verify(&article, &keyring, 0) {
        let signed = relay::signed::Signed::of(&article).expect("it is signed");
        let text = signed.text(&article).expect("it has a text");
        assert_eq!(signed.signature.verify(verified.key.key(), &text), Ok(()));
    }
}

/// A policy up to the first NUL, and a control message under it. Whatever it asks for, names stay sound.
pub fn control_message(data: &[u8]) {
    use relay::control::decide::{State, decide};
    use relay::control::policy::Policy;
    use relay::control::request::Request;
    use store::Serials;
    let mut parts = data.splitn(2, |&byte| byte == 0);
    let (rules, text) = (parts.next().unwrap_or(b""), parts.next().unwrap_or(data));
    let _ = Policy::parse(None, None, Some(rules)).map(|policy| policy.summary());
    let policy = Policy::parse(Some(rules), None, None).unwrap_or_default();
    let article = Article::parse(text, Form::Native);
    for id in relay::control::ihave::ids_of(&article) {
        assert_eq!(message_id::check(id), Ok(()));
    }
    let Some(request) = Request::of(&article, &date::FixedOffset(0)) else {
        return;
    };
    let active = Active::parse(b"example.a 0 1 y\nexample.b 0 1 m\nexample.c 0 1 x\n".to_vec());
    for trust in [false, true] {
        let outcome = decide(
            &article,
            &request,
            &State {
                policy: &policy,
                keyring: &relay::Keyring::default(),
                active: active.as_ref().expect("a small active"),
                subscription: &Pattern::parse(b"all"),
                descriptions: None,
                serials: &Serials::default(),
                now: 991_396_800,
                age_seconds_max: None,
                name_part_bytes_max: name::NEW_PART_BYTES_MAX,
                trust,
            },
        );
        let set = outcome.changes.added.iter().chain(&outcome.changes.flagged);
        for (group, _) in set {
            assert!(name::is_safe(group));
        }
        for (group, text) in &outcome.changes.described {
            assert!(name::is_safe(group) && !text.iter().any(u8::is_ascii_control));
        }
        let _ = outcome.changes.lines();
    }
}

/// What somebody posts: what is read can be written and read again as the same; addresses that mail is sent to are whole words.
pub fn post(data: &[u8]) {
    use inject::{Draft, Moderators, mailbox, submission};
    let Ok(draft) = Draft::parse(data) else {
        return;
    };
    let written = draft.write();
    assert_eq!(
        Draft::parse(&written).expect("it was read before").write(),
        written
    );
    for field in draft.fields() {
        if let Some(address) = mailbox::address(&field.value) {
            assert!(address.contains(&b'@'));
        }
    }
    let mail = submission::mail(&draft, b"mod@site.example");
    let mail = Draft::parse(&mail).expect("a mail is a header and a text");
    assert_eq!((mail.count("To"), mail.count("Bcc")), (1, 0));
    let mut moderators = Moderators::default();
    moderators.read_mailpaths(&draft.body);
    moderators.read_moderators(&draft.body);
    let group = draft.value("Newsgroups").unwrap_or(b"a.b");
    if let Some(address) = moderators.address(group) {
        assert!(address.iter().all(u8::is_ascii_graphic));
    }
}

/// A lock up to the first NUL, and a key: a key fits what it makes itself, whatever stands beside it.
pub fn cancel_lock(data: &[u8]) {
    use relay::cancel_lock::{Holder, Secret, matches, withdrawn};
    let (lock, key) = match data.iter().position(|&byte| byte == 0) {
        Some(at) => (&data[..at], &data[at + 1..]),
        None => (data, &b""[..]),
    };
    matches(lock, key);
    if let Some(id) = withdrawn(Some(lock), Some(key)) {
        assert!(message_id::check(id).is_ok());
    }
    let secret = Secret::new(b"secret");
    let own = secret.lock(Holder::Site, lock).expect("a lock");
    let fits = secret.key(Holder::Site, lock).expect("a key");
    assert!(matches(own.as_bytes(), fits.as_bytes()));
    assert!(!matches(own.as_bytes(), key));
}

/// What a client sends, its first byte the length of the portions: the replies are the same as in one portion.
pub fn nntp_session(data: &[u8]) {
    use backend::{Client, Fake};
    let Some((&portion, input)) = data.split_first() else {
        return;
    };
    let mut whole = Client::new(Fake::usual());
    let wanted = whole.say(input);
    let mut parted = Client::new(Fake::usual());
    let mut got = Vec::new();
    for bytes in input.chunks(usize::from(portion).max(1)) {
        if parted.next != nntp::Next::Close {
            got.extend(parted.say(bytes));
        }
    }
    assert_eq!(got, wanted);
    assert_eq!(parted.articles, whole.articles);
    assert!(whole.most_waiting < 2 * nntp::OUT_BYTES_MAX);
}

/// What a peer answers to a site that offers it articles: each article is settled once at most, and none that was not offered.
pub fn nntp_peer(data: &[u8]) {
    use nntp::client::{
        Event, GroupMarks, Login, Offers, Opening, REPLY_BYTES_MAX, Reply, Sends, Step, is_id,
        listed,
    };
    let Some((&how, mut input)) = data.split_first() else {
        return;
    };
    let login = Login {
        user: b"us".to_vec(),
        password: b"hazelnut".to_vec(),
    };
    let mut opening = Opening::new(how & 1 != 0, how & 2 != 0).with_compression();
    if how & 4 != 0 {
        opening = opening.with_login(login, how & 8 != 0);
    }
    let mut is_encrypted = how & 2 != 0;
    let mut offers: Option<Offers<usize>> = None;
    let (mut offered, mut settled) = (Vec::new(), std::collections::BTreeSet::new());
    while let nntp::Line::Whole(line, length) = nntp::first_line(input, REPLY_BYTES_MAX) {
        // What a pull reads: the numbers of a group, and rows of its overview.
        if let Ok(reply) = Reply::parse(line)
            && let Ok(Some(marks)) = GroupMarks::of(reply)
        {
            assert_eq!(reply.code, 211, "{marks:?}");
        }
        let _ = listed(line).map(|row| is_id(row.id));
        let mut out = Vec::new();
        match &mut offers {
            None => {
                let mut step = opening.receive(line, &mut out);
                if step == Ok(Step::BeginTls) {
                    is_encrypted = true;
                    opening.tls_began(&mut out);
                } else if step == Ok(Step::BeginDeflate) {
                    step = opening.deflate_began(&mut out);
                }
                let has_password = out.windows(8).any(|bytes| bytes == b"hazelnut");
                assert!(!has_password || is_encrypted || how & 8 != 0);
                match step {
                    Ok(Step::Ready(ready)) => offers = Some(Offers::new(ready.sends, 8)),
                    Ok(_) => {}
                    Err(error) => return assert!(error.to_string().len() < 2000),
                }
            }
            Some(offers) => match offers.receive(line) {
                Ok(Event::Wanted(number)) => {
                    assert!(offered.contains(&number) && !settled.contains(&number));
                    offers.send(format!("<{number}@x>").as_bytes(), number, &mut out);
                }
                Ok(Event::Settled(number, _)) => {
                    assert!(offered.contains(&number) && settled.insert(number));
                }
                Err(_) => break,
            },
        }
        if let Some(offers) = &mut offers {
            while offers.has_room() {
                let number = offered.len();
                offered.push(number);
                offers.offer(format!("<{number}@x>").as_bytes(), number, &mut out);
            }
            assert!(offers.in_flight() <= 8 + usize::from(offers.sends() == Sends::Streaming) * 8);
        }
        input = &input[length..];
    }
    if let Some(offers) = offers {
        let in_flight: Vec<usize> = offers.into_in_flight().collect();
        assert!(in_flight.iter().all(|number| !settled.contains(number)));
        assert_eq!(in_flight.len() + settled.len(), offered.len());
    }
}

/// The file of users: what is written of it reads the same.
pub fn users(data: &[u8]) {
    use access::Users;
    let path = std::path::Path::new("users");
    let Ok(users) = Users::parse(path, &String::from_utf8_lossy(data)) else {
        return;
    };
    let again = Users::parse(path, &users.text()).expect("our own text");
    assert_eq!(again.text(), users.text());
    assert_eq!(again.iter().count(), users.iter().count());
    for user in users.iter() {
        assert!(users.named(&user.name).is_some());
    }
}

/// The tables of access in broadsheet.toml, and what a visitor may by them.
pub fn access_tables(data: &[u8]) {
    use access::{Access, ClientIdentity, Login};
    let Ok(tables) = settings::access(&String::from_utf8_lossy(data)) else {
        return;
    };
    let access = Access::new(&tables, Login::none());
    let address = "192.0.2.1".parse().ok();
    for user in [None, Some("anna")] {
        for address in [None, address] {
            let rights = access.rights(&ClientIdentity {
                address,
                user,
                ..ClientIdentity::default()
            });
            if rights.reads_none() {
                assert!(!rights.may_read(b"any.group"));
            }
            if rights.is_nothing() {
                assert!(!rights.may_read(b"any.group"));
            }
        }
    }
}

/// A login: the mechanism by the first byte, then a response a line, in base64. Nobody gets in, for there are no users.
pub fn sasl(data: &[u8]) {
    use access::sasl::{Exchange, Mechanism, Step, decode, encode};
    use access::{Access, ClientIdentity, Connection, Login, Outcome, Tables};
    let Some((&first, rest)) = data.split_first() else {
        return;
    };
    let access = Access::new(&Tables::default(), Login::none());
    let access = std::sync::Arc::new(access);
    let mut exchange = match first % 4 {
        0 => Exchange::scram_with_nonce(&access, "nonce"),
        number => Exchange::new(
            Mechanism::ALL[usize::from(number - 1)],
            &access,
            &ClientIdentity::default(),
            Connection::default(),
        ),
    };
    for line in rest.split(|byte| *byte == b'\n') {
        let response = decode(line);
        if let Some(response) = &response {
            assert_eq!(decode(encode(response).as_bytes()).as_ref(), Some(response));
        }
        match exchange.take(response.as_deref()) {
            Step::Ask(challenge) => assert!(challenge.len() < 4096),
            Step::Done(outcome) => {
                assert!(!matches!(outcome, Outcome::LoggedIn { .. }));
                break;
            }
            Step::Wait(_) => break,
        }
    }
}

/// A directory in memory, where the machine has one.
fn scratch() -> tempfile::TempDir {
    let memory = std::path::Path::new("/dev/shm");
    match memory.is_dir() {
        true => tempfile::tempdir_in(memory),
        false => tempfile::tempdir(),
    }
    .expect("a directory")
}

/// The files of a feed, cursor and what is deferred, with a NUL between them, as a damaged disk has them.
pub fn feed_place(data: &[u8]) {
    let dir = scratch();
    let site = dir.path().join("feeds/site");
    std::fs::create_dir_all(&site).expect("made");
    let mut parts = data.splitn(2, |byte| *byte == 0);
    for file in ["cursor", "deferred"] {
        if let Some(bytes) = parts.next() {
            std::fs::write(site.join(file), bytes).expect("written");
        }
    }
    let _ = feed::site_state::look(dir.path(), b"site").map(|look| look.is_some());
    let _ = feed::SiteState::take_only(dir.path(), b"site").map(|taken| taken.deferred().len());
}

/// A small news directory, made once: its files, by their names in it.
fn small_store() -> &'static [(std::path::PathBuf, Vec<u8>)] {
    static FILES: std::sync::OnceLock<Vec<(std::path::PathBuf, Vec<u8>)>> =
        std::sync::OnceLock::new();
    FILES.get_or_init(|| {
        let news = news::News::new(&["a.b", "c"]);
        let mut spool = store::Spool::open(news.dir(), store::Options::default()).expect("a spool");
        for number in 0..3 {
            news.file(&mut spool, &format!("<{number}@x>"), &["a.b", "c"]);
        }
        spool.commit().expect("committed");
        spool.seal().expect("sealed");
        let gone = news.file(&mut spool, "<3@x>", &["a.b"]);
        news.file(&mut spool, "<4@x>", &["c"]);
        spool.commit().expect("committed");
        spool.cancel(gone, b"<3@x>").expect("cancelled");
        spool.commit().expect("committed");
        spool.checkpoint().expect("on the disk");
        drop(spool);
        let mut files = Vec::new();
        for folder in ["", "segments", "keys"] {
            let Ok(entries) = std::fs::read_dir(news.dir().join(folder)) else {
                continue;
            };
            for entry in entries.flatten() {
                let kind = entry.file_type().expect("its type");
                let length = entry.metadata().expect("its size").len();
                // What is left out (`reserve') is made again.
                if kind.is_file() && length <= DAMAGED_FILE_BYTES_MAX {
                    let bytes = std::fs::read(entry.path()).expect("read");
                    files.push((std::path::Path::new(folder).join(entry.file_name()), bytes));
                }
            }
        }
        files.sort();
        files
    })
}

const DAMAGED_FILE_BYTES_MAX: u64 = 2 << 20;

/// A news directory whose files were changed on the disk: each eleven bytes are a file's number, an offset (two bytes) and eight bytes that stand
/// there instead; `255` instead of a file's number cuts the file of the next byte there. Nothing panics, neither readers nor fsck nor the writer.
pub fn damaged_store(data: &[u8]) {
    use store::{Options, Published, Snapshot, Spool, fsck};
    let mut files = small_store().to_vec();
    for change in data.chunks_exact(11).take(32) {
        let is_cut = change[0] == 255;
        let which = usize::from(if is_cut { change[3] } else { change[0] });
        let count = files.len();
        let (_, bytes) = &mut files[which % count];
        let at = usize::from(u16::from_le_bytes([change[1], change[2]]));
        match bytes.get_mut(at..at + 8) {
            _ if is_cut => bytes.truncate(at),
            Some(place) => place.copy_from_slice(&change[3..]),
            None => {}
        }
    }
    let dir = scratch();
    let root = dir.path();
    for folder in ["segments", "bad", "keys"] {
        std::fs::create_dir(root.join(folder)).expect("made");
    }
    for (name, bytes) in &files {
        std::fs::write(root.join(name), bytes).expect("written");
    }
    let look = || {
        let mut buffer = Vec::new();
        if let Ok(snapshot) = Snapshot::open(root) {
            for number in 0..5 {
                let _ = snapshot.article(format!("<{number}@x>").as_bytes(), &mut buffer);
            }
            for group in [&b"a.b"[..], b"c"] {
                let mut rows = 0;
                let _ = snapshot.overview(group, (0, u64::MAX), |_| {
                    rows += 1;
                    Ok(())
                });
                assert!(rows < 1000);
            }
            let _ = snapshot.each_history_line(|_| Ok(()));
            for base in snapshot.segments() {
                let _ = snapshot.survey(*base);
            }
        }
        if let Ok(live) = Snapshot::open_live(root, Published::new()) {
            let mut out = Vec::new();
            for number in 0..5 {
                let _ = live.row_of(format!("<{number}@x>").as_bytes(), &mut out);
                for group in [&b"a.b"[..], b"c"] {
                    if let Ok(Some(position)) = live.position(group, number) {
                        let _ = live.record(position, &mut buffer).map(drop);
                    }
                }
            }
            let mut numbers = Vec::new();
            let _ = live.numbers(b"a.b", (0, u64::MAX), 100, &mut numbers);
        }
    };
    look();
    let _ = fsck(root, false);
    if let Ok(mut spool) = Spool::open(root, Options::default()) {
        let _ = spool.has(b"<1@x>");
        let _ = spool.checkpoint();
    }
    look();
    let _ = fsck(root, true);
    look();
}

/// Files of an INN that moves in: its settings, lines of its history, a CAF file, a cyclic buffer.
pub fn import_inn(data: &[u8]) {
    use import::conf_file::ConfFile;
    use import::inn::{caf, cnfs, history, token::Token};
    let file = ConfFile {
        text: data.to_vec(),
        ..ConfFile::default()
    };
    let groups = file.groups();
    assert!(groups.pairs.len() + groups.groups.len() <= data.len());
    assert!(file.lines().iter().all(|(_, line)| !line.contains('\n')));
    for line in data.split(|byte| *byte == b'\n') {
        if let Some(line) = history::Line::parse(line) {
            assert!(line.token.is_none_or(|token| !token.method().is_empty()));
        }
        let _ = Token::parse(line);
    }
    let dir = scratch();
    if let Some(head) = data.first_chunk::<24>()
        && let Some(entry) = import::diablo::spool::Entry::parse(head)
    {
        assert!(entry.whole >= entry.skip as u64 + entry.stored as u64);
        assert!(entry.header <= entry.article);
    }
    for magic in [&b"CRMT"[..], b"CBuf4\0\0\0", b""] {
        let path = dir.path().join("spool");
        std::fs::write(&path, [magic, data].concat()).expect("written");
        let opened = std::fs::File::open(&path).expect("opened");
        for number in [0, 1, 7, u64::MAX] {
            if let Ok(Some(place)) = caf::find(&opened, number) {
                assert!(place.size <= caf::ARTICLE_BYTES_MAX);
            }
        }
        if let Ok(buffer) = cnfs::Buffer::open(&path) {
            for (block, cycle) in [(0, 1), (1, 1), (u32::MAX, u32::MAX)] {
                if let Ok(Some(place)) = buffer.find(block, cycle) {
                    assert!(place.size <= caf::ARTICLE_BYTES_MAX);
                }
            }
        }
    }
}

/// The control files of a C News that moves in, with a NUL between them: what becomes of them is accepted here.
pub fn import_cnews(data: &[u8]) {
    use import::cnews::{history::Line, installation::Installation, translate};
    let dir = scratch();
    let ctl = dir.path();
    std::fs::write(ctl.join("active"), ACTIVE).expect("written");
    let names = [
        "sys",
        "batchparms",
        "explist",
        "mailpaths",
        "controlperm",
        "history",
        "bin",
    ];
    let mut parts = data.split(|byte| *byte == 0);
    for name in names {
        if let Some(bytes) = parts.next() {
            // NEWSARTS is not where the fuzzer says.
            let name = if name == "bin" { "organization" } else { name };
            std::fs::write(ctl.join(name), bytes).expect("written");
            for line in bytes.split(|byte| *byte == b'\n') {
                let _ = Line::parse(line).map(|line| line.fields.links().count());
            }
        }
    }
    let cnews = Installation::find(ctl, Some(ctl)).expect("it has an active");
    let translation = translate::translate(&cnews).expect("it can be read");
    let file = |name: &str| {
        let found = translation.files.iter().find(|(known, _, _)| known == name);
        found.map(|(_, text, _)| text.as_slice())
    };
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    if let Some(text) = file("sys") {
        assert!(Sites::parse(text, name.trim().as_bytes()).is_ok());
    }
    if let Some(text) = file("batchparms") {
        assert!(feed::Batchparms::parse(text).is_ok());
    }
    let explist = file("explist").map(|text| expire::Explist::parse(text, "explist", Some(b"/")));
    assert!(explist.is_none_or(|list| list.is_ok()));
}

/// A mailbox: it comes apart the same way in any pieces, and a mended article needs no mending any more.
pub fn mailbox(data: &[u8]) {
    use import::mbox::mailbox::{Item, Mailbox, Quoting, plain};
    use import::mend::{Surroundings, mend};
    let items = |step: usize, limit: usize| {
        let mut mailbox = Mailbox::new(Slow(data, step), limit);
        let mut items = Vec::new();
        while let Some(item) = mailbox.next_item().expect("memory does not fail") {
            items.push(format!("{item:?}"));
            assert!(items.len() <= data.len() + 1);
            let Item::Message {
                from_line, bytes, ..
            } = item
            else {
                continue;
            };
            let mut text = Vec::new();
            for quoting in [Quoting::Unknown, Quoting::Mboxo, Quoting::Mboxrd] {
                let quoted = plain(bytes, quoting, &mut text);
                assert!(text.len() as u64 + quoted.undone <= bytes.len() as u64);
            }
            let with = Surroundings {
                host: b"news.example.org",
                from_line,
                group: Some(b"comp.a"),
            };
            let (mut out, mut again) = (Vec::new(), Vec::new());
            let done = mend(&Article::parse(bytes, Form::Native), with, &mut out);
            assert_eq!(done.is_empty(), out.is_empty());
            if !done.is_empty() {
                let mended = Article::parse(&out, Form::Native);
                assert!(mended.error().is_none());
                let twice = mend(&mended, with, &mut again);
                assert_eq!(twice, Vec::<String>::new());
            }
        }
        items
    };
    let whole = items(usize::MAX, usize::MAX);
    for step in [1, 7] {
        assert_eq!(items(step, usize::MAX), whole, "in steps of {step}");
    }
    items(5, 50);
}
