//! SCRAM-SHA-256 (RFC 5802, RFC 7677), without channel binding.
//!
//! ```text
//! C: n,,n=user,r=CLIENTNONCE
//! S: r=CLIENTNONCE+SERVERNONCE,s=SALT,i=ITERATIONS
//! C: c=biws,r=CLIENTNONCE+SERVERNONCE,p=PROOF
//! S: v=SIGNATURE
//! ```

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::step::Step;
use super::verifier::Verifier;
use crate::outcome::Outcome;
use crate::prepared::{is_same_name, prepared};
use crate::random::random;
use crate::users::UsersFile;

/// Random bytes in the server's part of a nonce.
pub const NONCE_BYTES: usize = 18;

/// The state of an exchange.
#[derive(Debug)]
pub(super) enum Scram {
    /// Before the first message.
    Begin {
        /// The server's part of the nonce, if the caller provides it.
        nonce: Option<String>,
    },
    /// After the challenge: the server waits for the proof.
    Challenge(Box<Challenge>),
}

/// The challenge, which the proof is checked against.
#[derive(Debug)]
pub(super) struct Challenge {
    /// The user, if known.
    user: Option<String>,
    verifier: Verifier,
    /// `n,,` as the client sent it.
    gs2_header: Vec<u8>,
    nonce: Vec<u8>,
    /// The messages so far, separated by commas: the beginning of AuthMessage.
    auth_message: Vec<u8>,
}

impl Scram {
    pub(super) fn new(nonce: Option<String>) -> Scram {
        Scram::Begin { nonce }
    }

    pub(super) fn take(&mut self, users: &UsersFile, response: &[u8]) -> Step {
        match self {
            Scram::Begin { nonce } => match ask(users, nonce.take(), response) {
                Ok((asked, challenge)) => {
                    *self = Scram::Challenge(Box::new(asked));
                    Step::Ask(challenge)
                }
                Err(over) => Step::Done(over),
            },
            Scram::Challenge(asked) => Step::Done(asked.check(response)),
        }
    }
}

/// The parsed first message of the client.
struct First<'a> {
    gs2_header: &'a [u8],
    authzid: Vec<u8>,
    /// The message from `n=` on.
    bare: &'a [u8],
    name: Vec<u8>,
    nonce: &'a [u8],
}

/// Processes the client's first message.
fn ask(
    users: &UsersFile,
    nonce: Option<String>,
    response: &[u8],
) -> Result<(Challenge, Vec<u8>), Outcome> {
    let first = First::parse(response).map_err(Outcome::Malformed)?;
    if !first.authzid.is_empty() && !is_same_name(&first.authzid, &first.name) {
        let why = "logging in for another user is not supported";
        return Err(Outcome::Refused(why.to_owned()));
    }
    let failed = |error: &dyn std::fmt::Display| Outcome::Failed(error.to_string());
    let ours = match nonce {
        Some(nonce) => nonce,
        None => STANDARD.encode(random::<NONCE_BYTES>().map_err(|error| failed(&error))?),
    };
    let listed = users.now().map_err(|error| failed(&error))?;
    let user = str::from_utf8(&first.name).ok();
    let user = user.and_then(|name| listed.named(name));
    let known = user.and_then(|user| Some((user.name.clone(), user.scram.clone()?)));
    let (user, verifier) = match known {
        Some((name, verifier)) => (Some(name), verifier),
        // An unknown user looks the same as a known one (RFC 5802, 5.1), also in other encodings of his name.
        None => {
            let name = str::from_utf8(&first.name).ok();
            let name = name.and_then(|name| prepared(name).ok());
            let name = name
                .as_ref()
                .map_or(&first.name[..], |name| name.as_bytes());
            let secret = users.secret().map_err(|error| failed(&error))?;
            (None, Verifier::of_unknown_user(&secret, name))
        }
    };
    let nonce = [first.nonce, ours.as_bytes()].concat();
    let salt = STANDARD.encode(&verifier.salt);
    let rest = format!(",s={salt},i={}", verifier.iterations);
    let challenge = [b"r=".as_slice(), &nonce, rest.as_bytes()].concat();
    let auth_message = [first.bare, b",", &challenge, b","].concat();
    let asked = Challenge {
        user,
        verifier,
        gs2_header: first.gs2_header.to_vec(),
        nonce,
        auth_message,
    };
    Ok((asked, challenge))
}

impl<'a> First<'a> {
    /// RFC 5802, 7: `client-first-message`.
    fn parse(message: &'a [u8]) -> Result<First<'a>, &'static str> {
        let (binding, rest) = before_comma(message).ok_or("SCRAM without a gs2 header")?;
        match binding {
            // `y`: the client supports channel binding and knows that the server does not.
            b"n" | b"y" => {}
            _ => return Err("channel binding is not supported"),
        }
        let (authzid, bare) = before_comma(rest).ok_or("SCRAM without a gs2 header")?;
        let authzid = match authzid {
            b"" => Vec::new(),
            some => name_of(some, b"a=").ok_or("SCRAM with an invalid authzid")?,
        };
        let (name, rest) = before_comma(bare).ok_or("SCRAM without a nonce")?;
        if name.starts_with(b"m=") {
            return Err("SCRAM with an unknown extension");
        }
        let name = name_of(name, b"n=").ok_or("SCRAM without a name")?;
        // Optional extensions after the nonce are ignored.
        let nonce = before_comma(rest).map_or(rest, |(nonce, _)| nonce);
        let nonce = nonce.strip_prefix(b"r=").ok_or("SCRAM without a nonce")?;
        if nonce.is_empty() || !nonce.iter().all(u8::is_ascii_graphic) {
            return Err("SCRAM with a bad nonce");
        }
        let header = message.len().saturating_sub(bare.len());
        Ok(First {
            gs2_header: message.get(..header).unwrap_or_default(),
            authzid,
            bare,
            name,
            nonce,
        })
    }
}

impl Challenge {
    /// The client's final message, `c=...,r=...,p=...`.
    fn check(&self, message: &[u8]) -> Outcome {
        let Some(at) = message.windows(3).rposition(|bytes| bytes == b",p=") else {
            return Outcome::Malformed("SCRAM without a proof");
        };
        let (without_proof, proof) = message.split_at_checked(at).unwrap_or((message, b""));
        let proof = proof.strip_prefix(b",p=").unwrap_or_default();
        let Ok(proof) = STANDARD.decode(proof) else {
            return Outcome::Malformed("SCRAM with a bad proof");
        };
        let Some((binding, rest)) = before_comma(without_proof) else {
            return Outcome::Malformed("SCRAM without a nonce");
        };
        let binding = binding.strip_prefix(b"c=").map(|c| STANDARD.decode(c));
        let Some(Ok(binding)) = binding else {
            return Outcome::Malformed("SCRAM without channel binding data");
        };
        let nonce = before_comma(rest).map_or(rest, |(nonce, _)| nonce);
        if binding != self.gs2_header || nonce.strip_prefix(b"r=") != Some(&self.nonce) {
            return Outcome::Refused("SCRAM with another nonce or header than before".to_owned());
        }
        let auth_message = [self.auth_message.as_slice(), without_proof].concat();
        match (self.verifier.check(&auth_message, &proof), &self.user) {
            (Some(signature), Some(user)) => Outcome::LoggedIn {
                user: user.clone(),
                data: Some(format!("v={}", STANDARD.encode(signature)).into_bytes()),
            },
            (_, Some(user)) => Outcome::Refused(format!("wrong proof for user {user}")),
            (_, None) => Outcome::Refused("no such user with SCRAM".to_owned()),
        }
    }
}

fn before_comma(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = text.iter().position(|byte| *byte == b',')?;
    Some((text.get(..at)?, text.get(at + 1..)?))
}

/// A name behind its key: `=2C` is a comma, `=3D` an equals sign, and there is no other `=` (RFC 5802, 5.1).
fn name_of(text: &[u8], key: &[u8]) -> Option<Vec<u8>> {
    let mut rest = text.strip_prefix(key)?;
    let mut name = Vec::new();
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b'=' => {
                let (code, after) = after.split_at_checked(2)?;
                rest = after;
                name.push(match code {
                    b"2C" => b',',
                    b"3D" => b'=',
                    _ => return None,
                });
            }
            0 => return None,
            byte => name.push(*byte),
        }
    }
    (!name.is_empty()).then_some(name)
}
