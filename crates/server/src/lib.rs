//! The NNTP server: sockets, TLS, compression, sessions over the store.
