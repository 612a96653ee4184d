//! `batchparms`: the classic file with the parameters of batches for each site, and its combination with `[[site]]`.
//!
//! ```text
//! # site       class  size[-max]      queue  command
//! north        u      100000          20     batcher | compcun | viauux -z
//! south        u!     300000-1000000  -      batcher | gzip -9 | ssh news@SITE rnews
//! /default/    u      100000          20     batcher | viauux
//! ```
//!
//! This is the form of the Cleanup Release. The form of the Performance Release is accepted too: site, size, queue, then builder,
//! muncher and sender in three words; its class is `u`.

use std::path::Path;

use article::decimal;
use article::wrap::{Compression, WrapFormat};
use groups::CommandLine;
use groups::sites::{BATCH_BYTES, BATCH_OVERSIZE, BatchVia, Build, Compress, Queue, To};

use crate::pipeline::{self, Pipeline};
use crate::site_name::is_site_name;
use crate::{BatchparmsError, Error};

/// Largest file, bytes; a larger one is an error.
pub const BATCHPARMS_BYTES_MAX: usize = 4 << 20;
/// Maximum number of lines with rules; more are an error.
pub const RULES_MAX: usize = 100_000;
/// Largest `size` of batches, bytes: a batch is in memory, uncompressed and compressed.
pub const BATCH_BYTES_MAX: u64 = 256 << 20;
/// The default class.
pub const CLASS: u8 = b'u';
/// The site of the line for sites without a line.
const DEFAULT: &[u8] = b"/default/";

/// A line of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// Its line number, from 1.
    pub line: usize,
    /// The site, or `/default/`.
    pub site: Vec<u8>,
    /// The letter of the class.
    pub class: u8,
    /// The class has a `!`: no batches are made.
    pub is_off: bool,
    /// Size of a batch before compression, bytes.
    pub size: u64,
    /// Size above which a batch of one article is reported, bytes.
    pub size_max: u64,
    /// Maximum number of waiting batches.
    pub queue: Queue,
    /// The content of a batch.
    pub build: Build,
    /// The compression of a batch.
    pub packing: WrapFormat,
    /// The command that takes a batch.
    pub command: CommandLine,
}

/// The parsed file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Batchparms {
    rules: Vec<Rule>,
}

/// The parameters of batches for one site, from its table and `batchparms`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchParms {
    /// Size of a batch before compression, bytes.
    pub size: u64,
    /// Size above which a batch is reported, bytes; such a batch has one article.
    pub size_max: u64,
    /// Maximum number of waiting batches.
    pub queue: Queue,
    /// The content of a batch.
    pub build: Build,
    /// The receiving site: the site of the feed, or HOST of `HOST.ihave` and `HOST.sendme`.
    pub peer: Vec<u8>,
    /// The compression of a batch.
    pub packing: WrapFormat,
    /// The destination of a batch.
    pub to: To,
    /// No batches are made: `!` in `batchparms`.
    pub is_off: bool,
}

impl BatchParms {
    /// The directory of the batches in the spool of UUCP: the host that `uux ... HOST!rnews` names, else the receiving site.
    pub fn uucp_host(&self) -> &[u8] {
        let named = match &self.to {
            To::Command(command) => uux_host(command),
            To::Directory(_) => None,
        };
        named.unwrap_or(&self.peer)
    }
}

/// The flags of Taylor UUCP's uux whose value is the next word.
const UUX_FLAGS_WITH_VALUES: [&[u8]; 10] = [
    b"-a",
    b"-g",
    b"-s",
    b"-x",
    b"-I",
    b"--requestor",
    b"--grade",
    b"--status",
    b"--debug",
    b"--config",
];

/// The host in the arguments of a uux: the next one on the way of the batch.
fn uux_host(command: &CommandLine) -> Option<&[u8]> {
    let program = command.program().rsplit(|&byte| byte == b'/').next();
    if program != Some(b"uux") {
        return None;
    }
    let mut words = command.arguments().iter();
    while let Some(word) = words.next() {
        if UUX_FLAGS_WITH_VALUES.contains(&word.as_slice()) {
            words.next();
        } else if !word.starts_with(b"-") {
            let end = memchr::memchr(b'!', word)?;
            return word.get(..end).filter(|host| is_site_name(host));
        }
    }
    None
}

impl Batchparms {
    /// Reads the file of a news directory; a missing one has no rules.
    ///
    /// # Errors
    /// The file cannot be read, or has errors; all of them are reported.
    pub fn read(path: &Path) -> Result<Batchparms, Error> {
        use std::io::Read;
        let mut text = Vec::new();
        let file = match store::regular::open(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Batchparms::default());
            }
            opened => opened.map_err(Error::io("read", path))?,
        };
        file.take(BATCHPARMS_BYTES_MAX as u64 + 1)
            .read_to_end(&mut text)
            .map_err(Error::io("read", path))?;
        Batchparms::parse(&text).map_err(|errors| Error::Batchparms {
            path: path.to_owned(),
            errors,
        })
    }

    /// Parses the text of the file.
    ///
    /// # Errors
    /// All invalid lines.
    pub fn parse(text: &[u8]) -> Result<Batchparms, Vec<BatchparmsError>> {
        let mut errors = Vec::new();
        let mut rules: Vec<Rule> = Vec::new();
        if text.len() > BATCHPARMS_BYTES_MAX {
            let what = format!("the file has more than {BATCHPARMS_BYTES_MAX} bytes");
            return Err(vec![BatchparmsError { line: 1, what }]);
        }
        for (number, line) in (1..).zip(text.split(|&byte| byte == b'\n')) {
            let line = line.trim_ascii();
            if line.is_empty() || line.starts_with(b"#") {
                continue;
            }
            if rules.len() >= RULES_MAX {
                let what = format!("more than {RULES_MAX} lines");
                errors.push(BatchparmsError { line: number, what });
                break;
            }
            match rule(number, line) {
                Ok(rule) => rules.push(rule),
                Err(what) => errors.push(BatchparmsError { line: number, what }),
            }
        }
        if errors.is_empty() {
            Ok(Batchparms { rules })
        } else {
            Err(errors)
        }
    }

    /// The line for a site and a class: its own, or that of `/default/` if the site has no line at all. The first matching line wins.
    pub fn rule(&self, site: &[u8], class: u8) -> Option<&Rule> {
        let of = |site: &[u8]| {
            let mut rules = self
                .rules
                .iter()
                .filter(|rule| rule.site == site)
                .peekable();
            rules.peek()?;
            Some(rules.find(|rule| rule.class == class))
        };
        of(site).or_else(|| of(DEFAULT)).flatten()
    }

    /// All lines, in the order of the file.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The parameters for a site: those of its table, the others from this file. `class` is the requested class; the default is
    /// that of the table, or else `u`.
    ///
    /// # Errors
    /// The name cannot be part of an argument, or neither gives a destination.
    pub fn parms(
        &self,
        site: &[u8],
        via: &BatchVia,
        class: Option<u8>,
    ) -> Result<BatchParms, Error> {
        if !is_site_name(site) {
            return Err(Error::SiteName(site.escape_ascii().to_string()));
        }
        let class = class.or(via.class).unwrap_or(CLASS);
        let rule = self.rule(site, class);
        let build = via
            .build
            .or(rule.map(|rule| rule.build))
            .unwrap_or_default();
        let peer = build.peer(site).ok_or_else(|| Error::NoHost {
            site: site.escape_ascii().to_string(),
            suffix: build.suffix(),
        })?;
        let to = match (&via.to, rule) {
            (Some(to), _) => to.clone(),
            (None, Some(rule)) => To::Command(rule.command.clone()),
            (None, None) => {
                return Err(Error::NoParms {
                    site: site.escape_ascii().to_string(),
                    class: char::from(class),
                });
            }
        };
        let to = match to {
            To::Command(command) => To::Command(command.for_site(peer)),
            directory => directory,
        };
        let size = via
            .size
            .or(rule.map(|rule| rule.size))
            .unwrap_or(BATCH_BYTES);
        let size_max = via.size_max.or(match via.size {
            Some(_) => None,
            None => rule.map(|rule| rule.size_max),
        });
        Ok(BatchParms {
            size: size.min(BATCH_BYTES_MAX),
            size_max: size_max.unwrap_or_else(|| size.saturating_mul(BATCH_OVERSIZE)),
            queue: via
                .queue
                .or(rule.map(|rule| rule.queue))
                .unwrap_or(Queue::Unlimited),
            build,
            peer: peer.to_vec(),
            packing: match via.compress {
                Some(compress) => WrapFormat::new(kind_of(compress)),
                None => rule.map(|rule| rule.packing).unwrap_or_default(),
            },
            to,
            // A table with a destination does not depend on the file.
            is_off: via.to.is_none() && rule.is_some_and(|rule| rule.is_off),
        })
    }
}

fn kind_of(compress: Compress) -> Option<Compression> {
    match compress {
        Compress::None => None,
        Compress::Compress => Some(Compression::Compress),
        Compress::Gzip => Some(Compression::Gzip),
        Compress::Bzip2 => Some(Compression::Bzip2),
        Compress::Xz => Some(Compression::Xz),
        Compress::Zstd => Some(Compression::Zstd),
    }
}

fn rule(line: usize, text: &[u8]) -> Result<Rule, String> {
    let (site, rest) = field(text);
    if site != DEFAULT && !is_site_name(site) {
        let name = String::from_utf8_lossy(site);
        return Err(format!(
            "`{name}' cannot be the name of a site: use only letters, digits, `.', `-' and `_'"
        ));
    }
    let (second, after) = field(rest);
    let is_performance = second.first().is_some_and(u8::is_ascii_digit);
    let (class, is_off, rest) = if is_performance {
        (CLASS, false, rest)
    } else {
        let (class, is_off) = class(second)?;
        (class, is_off, after)
    };
    let (size, rest) = field(rest);
    let (size, size_max) = sizes(size)?;
    let (queue, command) = field(rest);
    let queue = match queue {
        b"-" => Queue::Unlimited,
        digits => {
            let number = decimal::parse(digits).and_then(|number| u32::try_from(number).ok());
            Queue::Batches(number.ok_or_else(|| {
                let queue = String::from_utf8_lossy(digits);
                format!("the queue is `{queue}', not a number of batches or `-' for any number")
            })?)
        }
    };
    let Pipeline {
        build,
        packing,
        command,
    } = if is_performance {
        pipeline::parse(&joined(command)?)?
    } else {
        pipeline::parse(command)?
    };
    Ok(Rule {
        line,
        site: site.to_vec(),
        class,
        is_off,
        size,
        size_max,
        queue,
        build,
        packing,
        command,
    })
}

/// The first word, and the rest.
fn field(text: &[u8]) -> (&[u8], &[u8]) {
    let text = text.trim_ascii_start();
    let end = text
        .iter()
        .position(u8::is_ascii_whitespace)
        .unwrap_or(text.len());
    let (word, rest) = text.split_at_checked(end).unwrap_or_default();
    (word, rest.trim_ascii_start())
}

/// Parses a letter, with `!` before or after it.
fn class(word: &[u8]) -> Result<(u8, bool), String> {
    let (letters, is_off) = match word {
        [b'!', rest @ ..] | [rest @ .., b'!'] => (rest, true),
        word => (word, false),
    };
    match letters {
        [letter] if letter.is_ascii_alphabetic() => Ok((*letter, is_off)),
        _ => Err(format!(
            "the class is `{}', not a letter such as u, with `!' for no batches",
            String::from_utf8_lossy(word)
        )),
    }
}

/// `size[-max]`.
fn sizes(word: &[u8]) -> Result<(u64, u64), String> {
    let error = || {
        format!(
            "the size is `{}', not SIZE or SIZE-MAX in bytes, from 1 to {BATCH_BYTES_MAX}, the smaller one first",
            String::from_utf8_lossy(word)
        )
    };
    let mut parts = word.splitn(2, |&byte| byte == b'-');
    let size = parts.next().and_then(decimal::parse).ok_or_else(error)?;
    let size_max = match parts.next() {
        Some(digits) => decimal::parse(digits).ok_or_else(error)?,
        None => size.saturating_mul(BATCH_OVERSIZE),
    };
    if (1..=BATCH_BYTES_MAX).contains(&size) && size_max >= size {
        Ok((size, size_max))
    } else {
        Err(error())
    }
}

/// Joins builder, muncher and sender to one pipeline. A stage of several words is in quotes.
fn joined(text: &[u8]) -> Result<Vec<u8>, String> {
    let line = CommandLine::parse(text).map_err(|error| error.to_string())?;
    match line.words() {
        [builder, muncher, sender] => {
            Ok([builder.as_slice(), b" | ", muncher, b" | ", sender].concat())
        }
        _ => Err(
            "a size in place of the class is the older form: site, size, queue, then builder, muncher and sender in \
            three words; quote those that have several"
                .to_owned(),
        ),
    }
}
