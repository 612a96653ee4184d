//! The mechanisms and their names.

/// How a client proves who it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mechanism {
    /// By the certificate of its TLS.
    External,
    /// By a proof that it knows the password; without TLS, too.
    ScramSha256,
    /// By saying the password.
    Plain,
}

impl Mechanism {
    /// The best first.
    pub const ALL: &[Mechanism] = &[
        Mechanism::External,
        Mechanism::ScramSha256,
        Mechanism::Plain,
    ];

    /// As the protocol has it.
    pub fn name(self) -> &'static str {
        match self {
            Mechanism::External => "EXTERNAL",
            Mechanism::ScramSha256 => "SCRAM-SHA-256",
            Mechanism::Plain => "PLAIN",
        }
    }

    /// The mechanism of a name, in any case. `None`: it is not known (503).
    pub fn parse(name: &[u8]) -> Option<Mechanism> {
        let mut all = Mechanism::ALL.iter().copied();
        all.find(|mechanism| mechanism.name().as_bytes().eq_ignore_ascii_case(name))
    }
}
