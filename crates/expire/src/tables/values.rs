//! Values in the tables: days, sizes, patterns.

use std::fmt;

use groups::size;
use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};

use crate::error::LineFault;
use crate::life::Life;

/// Days as a number (14, 0.5) or a text (`"never"`, `"0.5"`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Days(pub Life);

/// Bytes as a number or a text with its unit (`"20 GiB"`, `"1.5 TB"`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size(pub u64);

/// Patterns as one text, or as a list of texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patterns(pub Vec<String>);

impl Patterns {
    /// As one comma list, the form of `explist`.
    pub(crate) fn joined(&self) -> Result<Vec<u8>, LineFault> {
        let joined = self.0.join(",");
        let wrong = |what: &str| Err(LineFault::Key(format!("patterns `{joined}' {what}")));
        if joined.is_empty() {
            return wrong("name no group");
        }
        if joined
            .bytes()
            .any(|byte| byte.is_ascii_whitespace() || byte == 0)
        {
            return wrong("hold a blank; put only commas between them");
        }
        if joined.starts_with('/') {
            return wrong("start with `/'; use the keys of [expiry]");
        }
        Ok(joined.into_bytes())
    }
}

impl<'de> Deserialize<'de> for Days {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct DaysVisitor;
        impl Visitor<'_> for DaysVisitor {
            type Value = Days;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of days or \"never\"")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Days, E> {
                Life::parse(text.as_bytes()).map(Days).map_err(E::custom)
            }

            fn visit_i64<E: de::Error>(self, days: i64) -> Result<Days, E> {
                self.visit_str(&days.to_string())
            }

            fn visit_u64<E: de::Error>(self, days: u64) -> Result<Days, E> {
                self.visit_str(&days.to_string())
            }

            // The shortest decimal that is the number, so that 0.07 means 0.07.
            fn visit_f64<E: de::Error>(self, days: f64) -> Result<Days, E> {
                self.visit_str(&days.to_string())
            }
        }
        from.deserialize_any(DaysVisitor)
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct SizeVisitor;
        impl Visitor<'_> for SizeVisitor {
            type Value = Size;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of bytes or a text like \"20 GiB\"")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Size, E> {
                size::parse(text).map(Size).ok_or_else(|| {
                    E::custom(format!(
                        "`{text}' is no size; write a number and one of {}",
                        size::UNITS
                    ))
                })
            }

            fn visit_i64<E: de::Error>(self, bytes: i64) -> Result<Size, E> {
                u64::try_from(bytes)
                    .map(Size)
                    .map_err(|_| E::custom(format!("{bytes} bytes is less than nothing")))
            }

            fn visit_u64<E: de::Error>(self, bytes: u64) -> Result<Size, E> {
                Ok(Size(bytes))
            }
        }
        from.deserialize_any(SizeVisitor)
    }
}

impl<'de> Deserialize<'de> for Patterns {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct PatternsVisitor;
        impl<'de> Visitor<'de> for PatternsVisitor {
            type Value = Patterns;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("patterns as a text or a list of texts")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Patterns, E> {
                Ok(Patterns(vec![text.to_owned()]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Patterns, A::Error> {
                let mut texts = Vec::new();
                while let Some(text) = list.next_element()? {
                    texts.push(text);
                }
                Ok(Patterns(texts))
            }
        }
        from.deserialize_any(PatternsVisitor)
    }
}
