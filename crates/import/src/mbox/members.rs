//! The members of zip archives.
//!
//! Stored and deflated members are read by the `zip` crate. Those of bzip2, xz, zstd and LZMA are streams as the tools of these names write them (that of
//! LZMA behind another header), so they are expanded as compressed files are. Other methods are errors that say what to do.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::rc::Rc;

use article::wrap::{self, Compression, UpToEnd, WrapLimits};
use flate2::Crc;
use zip::read::ZipFile;
use zip::{CompressionMethod, ZipArchive};

use crate::mbox::input::{Counted, Found, ReadMailbox, expanded};

/// Most members of a zip archive; an archive with more is an error.
pub const ZIP_MEMBERS_MAX: usize = 65_535;
/// The header of LZMA in a zip archive: version, size of the properties, properties.
const LZMA_HEADER_BYTES: usize = 9;

/// The file of an archive.
type Archive = BufReader<Counted<File>>;

/// What the directory of an archive has about a member.
struct Member {
    /// For messages.
    name: String,
    method: CompressionMethod,
    is_encrypted: bool,
    bytes: u64,
    crc: u32,
}

/// Passes each mailbox in an archive to `each`.
pub(super) fn members<E>(
    file: File,
    (name, limits): (&str, WrapLimits),
    read: &Rc<Cell<u64>>,
    each: &mut ReadMailbox<'_, E>,
    found: &mut Found,
) -> Result<(), E> {
    let counted = Counted {
        inner: file,
        read: Rc::clone(read),
    };
    let mut archive = match ZipArchive::new(BufReader::new(counted)) {
        Ok(archive) => archive,
        Err(error) => {
            found.add_unread(name, &format!("the zip archive: {error}"));
            return Ok(());
        }
    };
    if archive.len() > ZIP_MEMBERS_MAX {
        let why = format!("the zip archive has more than {ZIP_MEMBERS_MAX} members");
        found.add_unread(name, &why);
        return Ok(());
    }
    for index in 0..archive.len() {
        let raw = match archive.by_index_raw(index) {
            Ok(raw) if raw.is_file() => raw,
            Ok(_) => continue,
            Err(error) => {
                let why = format!("member {} of the zip archive: {error}", index + 1);
                found.add_unread(name, &why);
                continue;
            }
        };
        let member = Member::of(&raw, name, index);
        if let Some(kind) = member.stream() {
            match stream(raw, (&member, kind), limits) {
                Ok(plain) => content(plain, &member, limits, each, found)?,
                Err(error) => found.add_unread(&member.name, &error),
            }
            continue;
        }
        drop(raw);
        if let Some(why) = member.unread_method() {
            found.add_unread(&member.name, &why);
            continue;
        }
        match archive.by_index(index) {
            Ok(plain) => content(plain, &member, limits, each, found)?,
            Err(error) => found.add_unread(&member.name, &error),
        }
    }
    Ok(())
}

/// Passes the content of a member to `each`; it may be compressed once more.
fn content<E>(
    plain: impl Read,
    member: &Member,
    limits: WrapLimits,
    each: &mut ReadMailbox<'_, E>,
    found: &mut Found,
) -> Result<(), E> {
    match wrap::open(plain, limits) {
        Ok(plain) => expanded(UpToEnd::new(plain), &member.name, each, found),
        Err(error) => {
            found.add_unread(&member.name, &error);
            Ok(())
        }
    }
}

impl Member {
    fn of(raw: &ZipFile<'_, Archive>, archive: &str, index: usize) -> Member {
        let name = match raw.name() {
            Ok(known) => known.escape_debug().to_string(),
            Err(_) => format!("member {}", index + 1),
        };
        Member {
            name: format!("{archive}:{name}"),
            method: raw.compression(),
            is_encrypted: raw.encrypted(),
            bytes: raw.size(),
            crc: raw.crc32(),
        }
    }

    /// The compression of a member whose data is what a tool of that name writes.
    fn stream(&self) -> Option<Compression> {
        match self.method {
            _ if self.is_encrypted => None,
            CompressionMethod::BZIP2 => Some(Compression::Bzip2),
            CompressionMethod::LZMA => Some(Compression::Lzma),
            CompressionMethod::XZ => Some(Compression::Xz),
            CompressionMethod::ZSTD => Some(Compression::Zstd),
            _ => None,
        }
    }

    /// Why a member cannot be read, and what to do, if the `zip` crate does not know its method.
    fn unread_method(&self) -> Option<String> {
        let method = match self.method {
            // An encrypted member is an error of the crate.
            CompressionMethod::STORE | CompressionMethod::DEFLATE | CompressionMethod::AES => {
                return None;
            }
            CompressionMethod::SHRINK => "Shrink".to_owned(),
            CompressionMethod::IMPLODE => "Implode".to_owned(),
            CompressionMethod::DEFLATE64 => "Deflate64".to_owned(),
            CompressionMethod::PPMD => "PPMd".to_owned(),
            other => format!("another method ({other:?})"),
        };
        Some(format!(
            "this member of the zip archive is compressed by {method}, which is not read here: extract it, such as by `7zz x', and import what \
             comes out"
        ))
    }
}

/// The content of a member, from its data and verified by its checksum.
fn stream<'a>(
    mut raw: ZipFile<'a, Archive>,
    (member, kind): (&Member, Compression),
    limits: WrapLimits,
) -> io::Result<impl Read + use<'a>> {
    let head = match kind {
        Compression::Lzma => lzma_head(&mut raw, member.bytes)?,
        _ => Vec::new(),
    };
    Ok(Verified {
        inner: wrap::expand(kind, Cursor::new(head).chain(raw), limits)?,
        crc: Crc::new(),
        expected: (member.bytes, member.crc),
        bytes: 0,
    })
}

/// The header of a file of lzma for the data of a member.
fn lzma_head(raw: &mut impl Read, bytes: u64) -> io::Result<Vec<u8>> {
    let mut header = [0; LZMA_HEADER_BYTES];
    raw.read_exact(&mut header)?;
    let properties = header.get(4..).unwrap_or_default();
    Ok([properties, &bytes.to_le_bytes()].concat())
}

/// Reads a member, and fails at its end if its size or checksum differs from the directory.
struct Verified<R> {
    inner: R,
    crc: Crc,
    /// Size and CRC-32 in the directory.
    expected: (u64, u32),
    bytes: u64,
}

impl<R: Read> Read for Verified<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(out)?;
        self.crc.update(out.get(..count).unwrap_or_default());
        self.bytes += count as u64;
        if count == 0 && !out.is_empty() && (self.bytes, self.crc.sum()) != self.expected {
            return Err(io::Error::other(
                "the member of the zip archive is damaged: its size or its checksum differs",
            ));
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mbox::input::mailboxes;
    use std::io::Write;

    const BZIP2: u16 = 12;
    const LZMA: u16 = 14;
    const ZSTD: u16 = 93;
    const XZ: u16 = 95;

    /// A zip archive of members: their methods, compressed data, and what that expands to (APPNOTE.TXT, 4.3).
    fn archive(members: &[(u16, &[u8], &[u8])]) -> Vec<u8> {
        let (mut out, mut directory) = (Vec::new(), Vec::new());
        for (index, (method, data, plain)) in members.iter().enumerate() {
            let name = format!("{index}.{method}.mbox");
            let mut crc = Crc::new();
            crc.update(plain);
            let mut common = vec![63, 0, 0, 0];
            common.extend_from_slice(&method.to_le_bytes());
            common.extend_from_slice(&[0; 4]);
            common.extend_from_slice(&crc.sum().to_le_bytes());
            for length in [data.len(), plain.len()] {
                common.extend_from_slice(&u32::try_from(length).unwrap().to_le_bytes());
            }
            common.extend_from_slice(&u16::try_from(name.len()).unwrap().to_le_bytes());
            common.extend_from_slice(&[0; 2]);
            directory.extend_from_slice(b"PK\x01\x02\x3f\0");
            directory.extend_from_slice(&common);
            directory.extend_from_slice(&[0; 10]);
            directory.extend_from_slice(&u32::try_from(out.len()).unwrap().to_le_bytes());
            directory.extend_from_slice(name.as_bytes());
            out.extend_from_slice(b"PK\x03\x04");
            out.extend_from_slice(&common);
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(data);
        }
        let count = u16::try_from(members.len()).unwrap().to_le_bytes();
        let (start, bytes) = (out.len(), directory.len());
        out.extend_from_slice(&directory);
        out.extend_from_slice(b"PK\x05\x06\0\0\0\0");
        out.extend_from_slice(&[count, count].concat());
        for length in [bytes, start] {
            out.extend_from_slice(&u32::try_from(length).unwrap().to_le_bytes());
        }
        out.extend_from_slice(&[0; 2]);
        out
    }

    fn bzip2(plain: &[u8]) -> Vec<u8> {
        let mut out = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
        out.write_all(plain).unwrap();
        out.finish().unwrap()
    }

    fn xz(plain: &[u8], stream: liblzma::stream::Stream) -> Vec<u8> {
        let mut out = liblzma::write::XzEncoder::new_stream(Vec::new(), stream);
        out.write_all(plain).unwrap();
        out.finish().unwrap()
    }

    /// The data of a member by LZMA: a file of lzma with the other header.
    fn lzma(plain: &[u8]) -> Vec<u8> {
        use liblzma::stream::{LzmaOptions, Stream};
        let options = LzmaOptions::new_preset(6).unwrap();
        let file = xz(plain, Stream::new_lzma_encoder(&options).unwrap());
        [&[9, 4, 5, 0][..], &file[..5], &file[13..]].concat()
    }

    /// The mailboxes of an archive that were read to their ends, and the reasons for the others.
    fn read(bytes: &[u8]) -> (Vec<String>, Vec<(String, String)>) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.zip");
        std::fs::write(&path, bytes).unwrap();
        let mut texts = Vec::new();
        let mut unread = Vec::new();
        let mut each = |name: &str, reader: &mut dyn Read| {
            let mut text = String::new();
            match reader.read_to_string(&mut text) {
                Ok(_) => texts.push(text),
                Err(error) => unread.push((name.to_owned(), error.to_string())),
            }
            Ok::<_, ()>(())
        };
        let limit = wrap::MEMORY_BYTES_MAX;
        let found = mailboxes(&path, limit, &Rc::default(), &mut each).unwrap();
        unread.extend(found.unread);
        (texts, unread)
    }

    #[test]
    fn members_are_read_whatever_compressed_them() {
        use liblzma::stream::{Check, Stream};
        let plain = "From a\nX: y\n\nwords and words\n".repeat(1000);
        let plain = plain.as_bytes();
        let xz = xz(plain, Stream::new_easy_encoder(6, Check::Crc64).unwrap());
        let zstd = zstd::encode_all(plain, 3).unwrap();
        // A member that is compressed once more is expanded as other files are.
        let inner = bzip2(plain);
        let bytes = archive(&[
            (0, plain, plain),
            (BZIP2, &bzip2(plain), plain),
            (BZIP2, &bzip2(&inner), &inner),
            (LZMA, &lzma(plain), plain),
            (ZSTD, &zstd, plain),
            (XZ, &xz, plain),
        ]);
        let (texts, unread) = read(&bytes);
        assert!(unread.is_empty(), "{unread:?}");
        assert!(texts.iter().all(|text| text.as_bytes() == plain));
        assert_eq!(texts.len(), 6);
    }

    #[test]
    fn each_member_that_cannot_be_read_is_named() {
        let plain = b"From a\nX: y\n\nx\n";
        let other = b"From a\nX: z\n\nx\n";
        let bytes = archive(&[
            (9, b"x", plain),
            (98, b"x", plain),
            (BZIP2, &bzip2(other), plain),
            (LZMA, b"x", plain),
            (XZ, b"xyz", plain),
            (0, plain, plain),
        ]);
        let (texts, unread) = read(&bytes);
        assert_eq!(texts.len(), 1);
        let right = [
            (".12.mbox", "its size or its checksum differs"),
            (".95.mbox", "xz data is truncated"),
            (
                ".9.mbox",
                "by Deflate64, which is not read here: extract it",
            ),
            (".98.mbox", "by PPMd, which is not read here: extract it"),
            (".14.mbox", "failed to fill whole buffer"),
        ];
        for ((name, why), (file, part)) in unread.iter().zip(right) {
            assert!(name.ends_with(file) && why.contains(part), "{name}: {why}");
        }
        assert_eq!(unread.len(), right.len());
    }
}
