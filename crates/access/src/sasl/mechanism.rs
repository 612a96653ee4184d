//! SASL mechanisms and their names.

/// A SASL mechanism.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mechanism {
    /// TLS client certificate.
    External,
    /// Proof of the password's knowledge; also without TLS.
    ScramSha256,
    /// Plain password.
    Plain,
}

impl Mechanism {
    /// All mechanisms, strongest first.
    pub const ALL: &[Mechanism] = &[
        Mechanism::External,
        Mechanism::ScramSha256,
        Mechanism::Plain,
    ];

    /// Its name in the protocol.
    pub fn name(self) -> &'static str {
        match self {
            Mechanism::External => "EXTERNAL",
            Mechanism::ScramSha256 => "SCRAM-SHA-256",
            Mechanism::Plain => "PLAIN",
        }
    }

    /// Parses a name, in any case. `None` if it is unknown (503).
    pub fn parse(name: &[u8]) -> Option<Mechanism> {
        let mut all = Mechanism::ALL.iter().copied();
        all.find(|mechanism| mechanism.name().as_bytes().eq_ignore_ascii_case(name))
    }
}
