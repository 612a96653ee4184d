//! NNTP without I/O: commands, replies, sessions (RFC 3977 and its kin).
