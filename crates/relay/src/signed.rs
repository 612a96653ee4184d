//! X-PGP-Sig: the signed text and the signature, in the form of pgpcontrol since 1996.
//!
//! The header has a version, the names of the signed headers separated by commas, and the lines of the signature's armour, the checksum
//! last. The signed text is a line `X-Signed-Headers` with those names, the headers in that order, missing ones empty, an empty line, and
//! the body; trailing blanks and tabs of lines are ignored.

use article::Article;
use openpgp::{Signature, armor};

/// Longest signature in the header, characters.
pub const SIGNATURE_CHARACTERS_MAX: usize = 8192;
/// Maximum number of signed headers.
pub const HEADERS_MAX: usize = 100;

/// Why there is no usable signature or text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// The header is absent.
    #[error("it is not signed: it has no X-PGP-Sig header")]
    Unsigned,
    /// The header does not have the form of pgpcontrol.
    #[error(
        "its X-PGP-Sig does not consist of a version, names of headers and a signature with its checksum"
    )]
    Form,
    /// The signature is not usable.
    #[error("the signature in X-PGP-Sig cannot be used: {0}")]
    Signature(#[from] openpgp::Error),
    /// A signed header occurs more than once, so the signed one is unknown.
    #[error("the header {0} occurs more than once, so the signed one is unknown")]
    Twice(String),
    /// A header has a blank continuation line, which could be taken for the end of the header: the same signature would match an article
    /// with another body. RFC 5536, 2.2 forbids such lines.
    #[error("the header {0} has a line of blanks only, so the start of the signed body is unknown")]
    BlankLine(String),
    /// The header exceeds a limit.
    #[error("its X-PGP-Sig is too long, or names more than {HEADERS_MAX} headers")]
    TooLong,
}

/// A parsed X-PGP-Sig.
#[derive(Debug)]
pub struct Signed<'a> {
    names: &'a [u8],
    /// The signature.
    pub signature: Signature,
}

impl<'a> Signed<'a> {
    /// Parses X-PGP-Sig of an article in native form.
    ///
    /// # Errors
    /// The header is missing, repeated or invalid.
    pub fn of(article: &Article<'a>) -> Result<Signed<'a>, SignatureError> {
        let value = only(article, b"X-PGP-Sig")?.ok_or(SignatureError::Unsigned)?;
        let mut words = value
            .split(u8::is_ascii_whitespace)
            .filter(|word| !word.is_empty());
        let (_version, names) = (words.next(), words.next().ok_or(SignatureError::Form)?);
        let mut base64 = Vec::new();
        let mut checksum = None;
        for word in words {
            match (word.strip_prefix(b"="), checksum) {
                (_, Some(_)) => return Err(SignatureError::Form),
                (Some(sum), None) => checksum = Some(sum),
                (None, None) => base64.extend_from_slice(word),
            }
            if base64.len() > SIGNATURE_CHARACTERS_MAX {
                return Err(SignatureError::TooLong);
            }
        }
        let checksum = checksum.ok_or(SignatureError::Form)?;
        let bytes = armor::decode(&base64, Some(checksum))?;
        let signed = Signed {
            names,
            signature: Signature::read(&bytes)?,
        };
        if signed.names().count() > HEADERS_MAX {
            Err(SignatureError::TooLong)
        } else {
            Ok(signed)
        }
    }

    /// Whether a header is signed.
    pub fn signs(&self, name: &[u8]) -> bool {
        self.names().any(|signed| signed.eq_ignore_ascii_case(name))
    }

    fn names(&self) -> impl Iterator<Item = &'a [u8]> {
        self.names.split(|&byte| byte == b',')
    }

    /// The signed text, with lines that end in LF.
    ///
    /// # Errors
    /// A signed header occurs more than once, or has a blank continuation line.
    pub fn text(&self, article: &Article<'a>) -> Result<Vec<u8>, SignatureError> {
        let mut text = [b"X-Signed-Headers: ", self.names, b"\n"].concat();
        for name in self.names() {
            let value = only(article, name)?.unwrap_or_default();
            let is_blank = |line: &[u8]| line.iter().all(u8::is_ascii_whitespace);
            if value.split(|&byte| byte == b'\n').skip(1).any(is_blank) {
                return Err(SignatureError::BlankLine(
                    String::from_utf8_lossy(name).into_owned(),
                ));
            }
            text.extend_from_slice(name);
            text.extend_from_slice(b": ");
            for line in value.split_inclusive(|&byte| byte == b'\n') {
                push_line(&mut text, line);
            }
            push_line(&mut text, b"\n");
        }
        text.push(b'\n');
        let body = article.bytes().get(article.body()..).unwrap_or_default();
        for line in body.split_inclusive(|&byte| byte == b'\n') {
            push_line(&mut text, line);
        }
        Ok(text)
    }
}

/// Appends a line without trailing blanks and tabs, also those appended before.
fn push_line(text: &mut Vec<u8>, line: &[u8]) {
    let Some(line) = line.strip_suffix(b"\n") else {
        text.extend_from_slice(line);
        return;
    };
    text.extend_from_slice(line);
    while let Some(b' ' | b'\t') = text.last() {
        text.pop();
    }
    text.push(b'\n');
}

/// The value of the only header with this name, in any case, without its leading blank and its line end; `None` if it is missing.
fn only<'a>(article: &Article<'a>, name: &[u8]) -> Result<Option<&'a [u8]>, SignatureError> {
    let mut same = article
        .fields()
        .filter(|(_, found, _)| found.eq_ignore_ascii_case(name));
    let Some((line, _, _)) = same.next() else {
        return Ok(None);
    };
    if same.next().is_some() {
        return Err(SignatureError::Twice(
            String::from_utf8_lossy(name).into_owned(),
        ));
    }
    let line = article.bytes().get(line).unwrap_or_default();
    let value = line.get(name.len() + 1..).unwrap_or_default();
    let value = value.strip_suffix(b"\n").unwrap_or(value);
    Ok(Some(match value {
        [b' ' | b'\t', value @ ..] => value,
        value => value,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use article::Form;

    /// No real signature: an old one with nothing right but its form.
    fn header(names: &str) -> String {
        let packet = [
            &[0x88, 22, 3, 5, 1][..],
            &[0; 4],
            &[7; 8],
            &[1, 1, 9, 9, 0, 8, 0x80, 0, 8, 0x80][..],
        ]
        .concat();
        let packet = &packet[..packet.len() - 2];
        let mut packet = packet.to_vec();
        packet[1] = packet.len() as u8 - 2;
        let block = armor::encode("SIGNATURE", &packet);
        let lines: Vec<&str> = block
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with('-'))
            .collect();
        format!("X-PGP-Sig: 2.6.2 {names}\n\t{}\n", lines.join("\n\t"))
    }

    fn text(article: &str) -> Result<String, SignatureError> {
        let article = Article::parse(article.as_bytes(), Form::Native);
        let text = Signed::of(&article)?.text(&article)?;
        Ok(String::from_utf8(text).unwrap())
    }

    #[test]
    fn the_text_is_made_up_from_the_article() {
        let article = format!(
            "Subject:  two blanks\t \nFrom: a\n\tfolded \nX: y\n{}\nbody  \n- dash\n.\n\t\nend ",
            header("From,Subject,Sender")
        );
        let wanted = "X-Signed-Headers: From,Subject,Sender\nFrom: a\n\tfolded\nSubject:  two blanks\nSender:\n\n\
                      body\n- dash\n.\n\nend ";
        assert_eq!(text(&article).unwrap(), wanted);
    }

    #[test]
    fn what_was_signed_must_be_clear() {
        let article = format!("From: a\nfrom: b\n{}\n", header("From"));
        assert_eq!(
            text(&article),
            Err(SignatureError::Twice("From".to_owned()))
        );
        let twice = format!("{0}{0}\n", header("From"));
        assert_eq!(
            text(&twice),
            Err(SignatureError::Twice("X-PGP-Sig".to_owned()))
        );
        assert_eq!(text("From: a\n\n"), Err(SignatureError::Unsigned));
    }

    #[test]
    fn a_body_never_moves_into_a_header() {
        // Without the blanks both have the text `X-Signed-Headers: Control / Control: x / blank / a / blank / b`.
        let honest = format!("{}Control: x\n\n a\n\nb\n", header("Control"));
        assert!(text(&honest).is_ok());
        for blank in [" ", "\t", " \t "] {
            let moved = format!("{}Control: x\n{blank}\n a\n\nb\n", header("Control"));
            let last = format!("{}Control: x\n{blank}\n\nb\n", header("Control"));
            let error = Err(SignatureError::BlankLine("Control".to_owned()));
            assert_eq!(text(&moved), error);
            assert_eq!(text(&last), error);
        }
    }

    #[test]
    fn the_form_of_the_header() {
        let whole = header("From");
        let without_sum: Vec<&str> = whole
            .lines()
            .filter(|line| !line.starts_with("\t="))
            .collect();
        assert_eq!(
            text(&(without_sum.join("\n") + "\n\n")),
            Err(SignatureError::Form)
        );
        assert_eq!(
            text(&format!("{whole}\tmore\n\n")),
            Err(SignatureError::Form)
        );
        assert_eq!(text("X-PGP-Sig: 2.6.2\n\n"), Err(SignatureError::Form));
        let damaged = whole.replacen("BwcH", "BwdH", 1);
        assert_ne!(damaged, whole);
        assert_eq!(
            text(&(damaged + "\n")),
            Err(SignatureError::Signature(openpgp::Error::Checksum))
        );
        let names = vec!["X"; HEADERS_MAX + 1].join(",");
        assert_eq!(text(&(header(&names) + "\n")), Err(SignatureError::TooLong));
    }
}
