//! The content of the file system, without FUSE: names, attributes, the entries of directories, contents.

use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use article::decimal;
use store::{Error, HistoryLine, Position, Snapshot};

use crate::attributes::{Attributes, Kind};
use crate::contents::Contents;
use crate::counters::Counters;
use crate::id_name::ids_of;
use crate::inode::{self, FILES, Inode};
use crate::live::Live;
use crate::overview_file::{OverviewFile, Sizes};
use crate::search::{Caches, Known, Search, child_name, is_behind_file, is_hidden, number_of};

/// The names beside groups and articles.
const OVERVIEW: &[u8] = b".overview";
const IDS: &[u8] = b".id";

/// Set in the cookies of articles; the rest is the number.
const ARTICLE_COOKIE: u64 = 1 << 61;
/// Set in the cookies of directories, which are their inode numbers.
const DIRECTORY_COOKIE: u64 = 1 << 62;
/// The cookies of the first entries.
const SELF_COOKIE: u64 = 1;
const PARENT_COOKIE: u64 = 2;
const FILE_COOKIE: u64 = 3;
const IDS_COOKIE: u64 = FILE_COOKIE + FILES.len() as u64;
const OVERVIEW_COOKIE: u64 = IDS_COOKIE + 1;
/// Articles that are listed at once.
const LISTED_AT_ONCE: usize = 512;

/// An entry of a directory.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// Its inode number.
    pub number: u64,
    /// To go on behind it.
    pub cookie: u64,
    /// Its kind.
    pub kind: Kind,
    /// Its name.
    pub name: &'a [u8],
    /// Its attributes, if they were asked for.
    pub attributes: Option<Attributes>,
}

/// Why something cannot be done.
#[derive(Debug)]
pub enum Fault {
    /// It was removed.
    Gone,
    /// It is not of the right kind.
    Kind,
    /// The store cannot be read.
    Store(Error),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Fault {
        Fault::Store(error)
    }
}

/// An open file.
#[derive(Debug)]
pub enum Opened {
    /// An article: each read finds it by its inode number.
    Article,
    /// A file of the news directory.
    File(File),
    /// The overview of a group.
    Overview(OverviewFile),
}

/// The file system.
#[derive(Debug)]
pub struct Tree {
    live: Live,
    search: Search,
    /// Names that were found in the cache, of what was removed since.
    dead: u64,
    sizes: Sizes,
    contents: Contents,
    record: Vec<u8>,
}

impl Tree {
    /// The tree of a news directory.
    ///
    /// # Errors
    /// A file of the news directory cannot be read, or the directory cannot be watched.
    pub fn open(dir: &Path, caches: Caches) -> Result<Tree, Error> {
        Ok(Tree {
            live: Live::open(dir)?,
            search: Search::new(caches),
            dead: 0,
            sizes: Sizes::default(),
            contents: Contents::default(),
            record: Vec::new(),
        })
    }

    /// Takes over what changed in the news directory, as each request does.
    pub fn catch_up(&mut self) {
        self.live.catch_up();
    }

    /// The error since which the tree shows nothing new, once: the next requests try again.
    pub fn take_failure(&mut self) -> Option<Error> {
        self.live.take_failure()
    }

    /// The descriptor that is readable when there is something to take over.
    pub fn events(&self) -> std::io::Result<std::os::fd::OwnedFd> {
        self.live.events()
    }

    /// The counts of the caches.
    pub fn counters(&self) -> Counters {
        Counters::of(
            self.search.names.counts(),
            self.dead,
            self.search.offsets.counts(),
        )
    }

    /// Bytes of the log.
    pub fn log_bytes(&self) -> u64 {
        self.live.snapshot.log_bytes()
    }

    /// Looks a name up in a directory, for a process.
    ///
    /// # Errors
    /// The directory is gone or none, or the store cannot be read.
    pub fn lookup(
        &mut self,
        parent: u64,
        name: &[u8],
        process: u32,
    ) -> Result<Option<Attributes>, Fault> {
        self.live.catch_up();
        match Inode::of(parent) {
            Some(Inode::Directory) => {}
            Some(Inode::Ids) => return Ok(self.by_id(name)?),
            _ => return Err(Fault::Kind),
        }
        let directory = self.directory_name(parent)?;
        if parent == inode::ROOT {
            if name == IDS {
                return Ok(Some(self.ids()));
            }
            if let Some(index) = FILES.iter().position(|file| file.as_bytes() == name) {
                return Ok(self.file(index));
            }
        }
        if name == OVERVIEW {
            return Ok(self.overview(parent, &directory)?);
        }
        if let Some(attributes) = self.cached(parent, &directory, name)? {
            return Ok(Some(attributes));
        }
        let Some(attributes) = self.searched((parent, &directory), name, process)? else {
            return Ok(None);
        };
        let as_of = self.live.commits;
        let node = self.search.add(Known { attributes, as_of });
        if let Some(parent) = self.search.node(parent) {
            self.search.names.enter(parent, name, node);
        }
        Ok(Some(attributes))
    }

    /// Looks a name up in the name cache.
    fn cached(
        &mut self,
        parent: u64,
        directory: &[u8],
        name: &[u8],
    ) -> Result<Option<Attributes>, Error> {
        let node = match self.search.node(parent) {
            Some(node) => node,
            None => {
                let attributes = self.directory(parent, directory)?;
                let as_of = self.live.commits;
                self.search.add(Known { attributes, as_of })
            }
        };
        let Some(found) = self.search.names.find(node, name) else {
            return Ok(None);
        };
        let Some(known) = self.search.names.content(found).copied() else {
            return Ok(None);
        };
        if self.is_fresh(&known) {
            return Ok(Some(known.attributes));
        }
        let number = known.attributes.number;
        let child = child_name(directory, name);
        let (is_here, attributes) = match Inode::of(number) {
            Some(Inode::Article(position)) => {
                let group = directory;
                let snapshot = &self.live.snapshot;
                let is_in = |number| snapshot.is_alive_in(group, number, position);
                let is_here = number_of(name).is_some_and(is_in)
                    && self.live.hierarchy.is_group(group)
                    && !self.live.hierarchy.is_directory(&child);
                let attributes = self.article(position)?;
                (is_here, attributes.filter(|article| article.links > 0))
            }
            _ if self.live.hierarchy.is_directory(&child) => {
                (true, Some(self.directory(number, &child)?))
            }
            _ => (false, None),
        };
        match attributes {
            // All its names die.
            None => _ = self.search.names.remove(found),
            Some(attributes) => {
                let as_of = self.live.commits;
                self.search.add(Known { attributes, as_of });
                if is_here {
                    return Ok(Some(attributes));
                }
            }
        }
        self.search.names.forget_name(node, name);
        self.dead += 1;
        Ok(None)
    }

    /// Whether attributes are still true. Those of an article change when it or a link is removed, those of a directory with each article.
    fn is_fresh(&self, known: &Known) -> bool {
        match known.attributes.kind {
            Kind::File => known.as_of >= self.live.removals,
            Kind::Directory => known.as_of == self.live.commits,
        }
    }

    /// Searches a directory.
    fn searched(
        &mut self,
        (parent, directory): (u64, &[u8]),
        name: &[u8],
        process: u32,
    ) -> Result<Option<Attributes>, Error> {
        let child = child_name(directory, name);
        let hierarchy = &self.live.hierarchy;
        let number = number_of(name).filter(|_| !hierarchy.is_directory(&child));
        let place = (parent, directory);
        let Some(number) = number else {
            // A part of the name of a group has no dot.
            let is_part = !name.is_empty() && !name.contains(&b'.');
            if !is_part || !self.search.directory(&self.live, place, &child, process)? {
                return Ok(None);
            }
            let number = self.live.hierarchy.inode_of(&child);
            return self.directory(number, &child).map(Some);
        };
        if !hierarchy.is_group(directory) {
            return Ok(None);
        }
        let position = self.search.article(&self.live, place, number, process)?;
        match position {
            Some(position) => self.article_of(position, |snapshot, line| {
                snapshot.check_number((directory, number), Some(line), position)
            }),
            None => Ok(None),
        }
    }

    /// The attributes of an inode number.
    ///
    /// # Errors
    /// It was removed, or the store cannot be read.
    pub fn attributes(&mut self, number: u64) -> Result<Attributes, Fault> {
        self.live.catch_up();
        let node = self.search.node(number);
        if let Some(known) = node.and_then(|node| self.search.names.content(node).copied())
            && self.is_fresh(&known)
        {
            return Ok(known.attributes);
        }
        let attributes = match Inode::of(number) {
            Some(Inode::Directory) => {
                let name = self.directory_name(number)?;
                Some(self.directory(number, &name)?)
            }
            Some(Inode::Ids) => Some(self.ids()),
            Some(Inode::File(index)) => self.file(index),
            Some(Inode::Overview(directory)) => {
                let name = self.directory_name(directory)?;
                self.overview(directory, &name)?
            }
            // As of a file that was unlinked while it is open: it has no link any more.
            Some(Inode::Article(position)) => self.article(position)?,
            None => None,
        };
        attributes.ok_or(Fault::Gone)
    }

    /// The name of the group of a directory; `""`: the root.
    fn directory_name(&self, number: u64) -> Result<Vec<u8>, Fault> {
        let name = self.live.hierarchy.name_of(number).ok_or(Fault::Gone)?;
        match name.is_empty() || self.live.hierarchy.is_directory(name) {
            true => Ok(name.to_vec()),
            false => Err(Fault::Gone),
        }
    }

    fn directory(&mut self, number: u64, name: &[u8]) -> Result<Attributes, Error> {
        let mut mtime = self.live.table_mtime;
        if let Some((_, position)) = self.newest(name)? {
            let line = self.live.snapshot.line_at(position, &mut self.record)?;
            mtime = line.and_then(|line| line.arrival).unwrap_or(mtime);
        }
        Ok(Attributes {
            number,
            kind: Kind::Directory,
            size: 0,
            mtime,
            links: 1,
        })
    }

    /// The newest article of a group.
    fn newest(&self, name: &[u8]) -> Result<Option<(u64, Position)>, Error> {
        if self.live.hierarchy.is_group(name) {
            self.live.snapshot.previous(name, u64::MAX, 0)
        } else {
            Ok(None)
        }
    }

    fn ids(&self) -> Attributes {
        Attributes {
            number: inode::IDS,
            kind: Kind::Directory,
            size: 0,
            mtime: self.live.table_mtime,
            links: 1,
        }
    }

    fn file(&self, index: usize) -> Option<Attributes> {
        let path = self.live.dir().join(FILES.get(index)?);
        let metadata: Metadata = std::fs::metadata(path).ok()?;
        Some(Attributes {
            number: inode::of_file(index),
            kind: Kind::File,
            size: metadata.len(),
            mtime: metadata.mtime(),
            links: 1,
        })
    }

    /// The `.overview` of a directory; `None`: there are no articles.
    fn overview(&mut self, directory: u64, name: &[u8]) -> Result<Option<Attributes>, Error> {
        let Some((high, position)) = self.newest(name)? else {
            return Ok(None);
        };
        let number = inode::of_overview(directory);
        let as_of = (number, self.live.removals);
        let size = self.sizes.size(&self.live.snapshot, as_of, (name, high))?;
        let line = self.live.snapshot.line_at(position, &mut self.record)?;
        Ok(Some(Attributes {
            number,
            kind: Kind::File,
            size,
            mtime: line.and_then(|line| line.arrival).unwrap_or(0),
            links: 1,
        }))
    }

    /// The article at a position; `None`: its record is gone.
    fn article(&mut self, position: Position) -> Result<Option<Attributes>, Error> {
        self.article_of(position, |_, _| Ok(()))
    }

    /// As [`Tree::article`], if its history line passes a check.
    fn article_of(
        &mut self,
        position: Position,
        check: impl FnOnce(&Snapshot, HistoryLine<'_>) -> Result<(), Error>,
    ) -> Result<Option<Attributes>, Error> {
        let snapshot = &self.live.snapshot;
        let Some(line) = snapshot.line_at(position, &mut self.record)? else {
            return Ok(None);
        };
        check(snapshot, line)?;
        let hierarchy = &self.live.hierarchy;
        let (mut is_alive, mut visible) = (false, 0);
        for (group, number) in line.links() {
            if snapshot.is_alive_in(group, number, position) && hierarchy.is_group(group) {
                is_alive = true;
                visible += u32::from(!is_hidden(hierarchy, group, number));
            }
        }
        // An article that is hidden in all its groups has its name in `.id`.
        let links = visible.max(u32::from(is_alive));
        let mtime = line.arrival.unwrap_or(0);
        let size = match line.size {
            Some(size) => size,
            None => {
                let mut text = Vec::new();
                if let Some(record) = snapshot.record(position, &mut self.record)? {
                    record.push_native(&mut text);
                }
                text.len() as u64
            }
        };
        Ok(Some(Attributes {
            number: position.0,
            kind: Kind::File,
            size,
            mtime,
            links,
        }))
    }

    /// The article with a Message-ID, with or without its brackets.
    fn by_id(&mut self, name: &[u8]) -> Result<Option<Attributes>, Error> {
        for id in ids_of(name) {
            let found = self.live.snapshot.find(&id)?.map(|found| found.position);
            if let Some(position) = found {
                return Ok(self.article(position)?.filter(|article| article.links > 0));
            }
        }
        Ok(None)
    }

    /// Hands on the entries of a directory behind a cookie (0: all), in an order that stays while articles and groups come and go, until
    /// `each` returns false.
    ///
    /// # Errors
    /// The directory is gone or none, or the store cannot be read.
    pub fn entries(
        &mut self,
        number: u64,
        cookie: u64,
        with_attributes: bool,
        each: &mut dyn FnMut(Entry<'_>) -> bool,
    ) -> Result<(), Fault> {
        self.live.catch_up();
        let directory = match Inode::of(number) {
            Some(Inode::Directory) => self.directory_name(number)?,
            Some(Inode::Ids) => Vec::new(),
            _ => return Err(Fault::Kind),
        };
        let parent = match directory.iter().rposition(|&b| b == b'.') {
            Some(dot) => directory.get(..dot).unwrap_or_default(),
            None => b"",
        };
        let parent = self.live.hierarchy.inode_of(parent);
        let mut first = vec![
            (SELF_COOKIE, number, Kind::Directory, &b"."[..]),
            (PARENT_COOKIE, parent, Kind::Directory, b".."),
        ];
        if number == inode::ROOT {
            for (index, name) in FILES.iter().enumerate() {
                if self.file(index).is_some() {
                    let cookie = FILE_COOKIE + index as u64;
                    first.push((cookie, inode::of_file(index), Kind::File, name.as_bytes()));
                }
            }
            first.push((IDS_COOKIE, inode::IDS, Kind::Directory, IDS));
        } else if number != inode::IDS && self.newest(&directory)?.is_some() {
            let overview = inode::of_overview(number);
            first.push((OVERVIEW_COOKIE, overview, Kind::File, OVERVIEW));
        }
        for (own, number, kind, name) in first.into_iter().filter(|(own, ..)| *own > cookie) {
            let mut attributes = None;
            if with_attributes {
                match self.attributes(number) {
                    Ok(found) => attributes = Some(found),
                    Err(Fault::Gone) => continue,
                    Err(fault) => return Err(fault),
                }
            }
            if !each(Entry {
                number,
                cookie: own,
                kind,
                name,
                attributes,
            }) {
                return Ok(());
            }
        }
        if number == inode::IDS {
            return Ok(());
        }
        if cookie & ARTICLE_COOKIE == 0
            && !self.directories(&directory, cookie, with_attributes, each)?
        {
            return Ok(());
        }
        self.articles(&directory, cookie, with_attributes, each)
    }

    /// The directories in a directory. False: `each` wants no more.
    fn directories(
        &mut self,
        directory: &[u8],
        cookie: u64,
        with_attributes: bool,
        each: &mut dyn FnMut(Entry<'_>) -> bool,
    ) -> Result<bool, Fault> {
        let mut after = None;
        if cookie & DIRECTORY_COOKIE != 0 {
            let name = self.live.hierarchy.name_of(cookie).ok_or(Fault::Gone)?;
            after = Some(name.to_vec());
        }
        loop {
            let hierarchy = &mut self.live.hierarchy;
            let child = hierarchy.children(directory, after.as_deref()).next();
            let Some(child) = child.map(<[u8]>::to_vec) else {
                return Ok(true);
            };
            if directory.is_empty() && is_behind_file(&child) {
                after = Some(child);
                continue;
            }
            let number = hierarchy.inode_of(&child);
            let mut attributes = None;
            if with_attributes {
                attributes = Some(self.directory(number, &child)?);
            }
            let start = if directory.is_empty() {
                0
            } else {
                directory.len() + 1
            };
            let entry = Entry {
                number,
                cookie: number,
                kind: Kind::Directory,
                name: child.get(start..).unwrap_or_default(),
                attributes,
            };
            if !each(entry) {
                return Ok(false);
            }
            after = Some(child);
        }
    }

    /// The articles in a directory.
    fn articles(
        &mut self,
        group: &[u8],
        cookie: u64,
        with_attributes: bool,
        each: &mut dyn FnMut(Entry<'_>) -> bool,
    ) -> Result<(), Fault> {
        if !self.live.hierarchy.is_group(group) {
            return Ok(());
        }
        let is_behind = cookie & ARTICLE_COOKIE != 0 && cookie & DIRECTORY_COOKIE == 0;
        let last = if is_behind {
            cookie & (ARTICLE_COOKIE - 1)
        } else {
            0
        };
        let has_number = self.live.hierarchy.has_number(group);
        let mut next = Some(last + 1);
        let (mut found, mut name) = (Vec::new(), Vec::new());
        while let Some(from) = next {
            found.clear();
            let range = (from, ARTICLE_COOKIE - 1);
            let snapshot = &self.live.snapshot;
            next = snapshot.articles(group, range, LISTED_AT_ONCE, &mut found)?;
            for &(number, position) in &found {
                if has_number && is_hidden(&self.live.hierarchy, group, number) {
                    continue;
                }
                let mut attributes = None;
                if with_attributes {
                    attributes = self.article(position)?;
                    if attributes.is_none() {
                        continue;
                    }
                }
                name.clear();
                decimal::push(&mut name, number);
                if !each(Entry {
                    number: position.0,
                    cookie: ARTICLE_COOKIE | number,
                    kind: Kind::File,
                    name: &name,
                    attributes,
                }) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Opens a file.
    ///
    /// # Errors
    /// It was removed, it is a directory, or it cannot be read.
    pub fn open_file(&mut self, number: u64) -> Result<Opened, Fault> {
        self.live.catch_up();
        match Inode::of(number) {
            Some(Inode::Article(position)) => match self.article(position)? {
                Some(article) if article.links > 0 => Ok(Opened::Article),
                _ => Err(Fault::Gone),
            },
            Some(Inode::File(index)) => {
                let name = FILES.get(index).ok_or(Fault::Gone)?;
                let path = self.live.dir().join(name);
                let opened = store::regular::open(&path);
                let opened = opened.map_err(|source| Error::Io {
                    doing: "open",
                    path,
                    source,
                });
                Ok(Opened::File(opened?))
            }
            Some(Inode::Overview(directory)) => {
                let name = self.directory_name(directory)?;
                let (high, _) = self.newest(&name)?.ok_or(Fault::Gone)?;
                Ok(Opened::Overview(OverviewFile::new(&name, high)))
            }
            _ => Err(Fault::Kind),
        }
    }

    /// Reads from an article, in native form; also from one that was removed, as long as its record is there.
    ///
    /// # Errors
    /// The record is gone, or cannot be read.
    pub fn read_article(
        &mut self,
        number: u64,
        (at, size): (u64, usize),
        reply: impl FnOnce(&[u8]),
    ) -> Result<(), Fault> {
        let Some(Inode::Article(position)) = Inode::of(number) else {
            return Err(Fault::Kind);
        };
        if let Some(text) = self.contents.find(position) {
            reply(part(text, at, size));
            return Ok(());
        }
        let record = self.live.snapshot.record(position, &mut self.record)?;
        let mut text = Vec::new();
        record.ok_or(Fault::Gone)?.push_native(&mut text);
        reply(part(&text, at, size));
        if at.saturating_add(size as u64) < text.len() as u64 {
            self.contents.keep(position, text);
        }
        Ok(())
    }

    /// Reads from an overview file.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn read_overview(
        &self,
        file: &mut OverviewFile,
        (at, size): (u64, usize),
        reply: impl FnOnce(&[u8]),
    ) -> Result<(), Fault> {
        reply(file.read(&self.live.snapshot, at, size)?);
        Ok(())
    }
}

fn part(text: &[u8], at: u64, size: usize) -> &[u8] {
    let rest = text
        .get(usize::try_from(at).unwrap_or(usize::MAX)..)
        .unwrap_or_default();
    rest.get(..size).unwrap_or(rest)
}
