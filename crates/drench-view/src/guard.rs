//! Who may talk to the viewer: the page that it served itself, on this machine, opened by whoever was told the token.
//!
//! The server listens on the loopback interface only. Still any page of any site that the user has open could send it
//! requests: such requests carry a foreign `Origin`, or, after a site pointed its own name at 127.0.0.1, a foreign
//! `Host`. Neither passes, and nobody can guess the token.

use std::hash::{BuildHasher, RandomState};

/// What a request must have.
#[derive(Clone, Debug)]
pub struct Guard {
    token: String,
    port: u16,
}

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The token is not the one of this session.
    Token,
    /// The request was meant for another host.
    Host,
    /// The request comes from another site's page.
    Origin,
}

impl Refusal {
    /// The reason in words.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Token => "Open the address that `drench view` printed: it holds a token, which changes every time.",
            Self::Host => "This server answers to 127.0.0.1 and localhost only.",
            Self::Origin => "Requests from other sites are refused.",
        }
    }
}

impl Guard {
    /// A guard with a new token for the server at this port.
    pub fn new(port: u16) -> Self {
        // Hashes under keys that the system drew at random: nobody else knows them.
        let words = [0_u64, 1].map(|word| RandomState::new().hash_one(word));
        Self { token: format!("{:016x}{:016x}", words[0], words[1]), port }
    }

    /// The token of this session.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// The address to open.
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}/{}/", self.port, self.token)
    }

    /// The path below the token, if the request may pass.
    pub fn admit<'a>(
        &self,
        path: &'a str,
        host: Option<&str>,
        origin: Option<&str>,
        site: Option<&str>,
    ) -> Result<&'a str, Refusal> {
        let hosts = [format!("127.0.0.1:{}", self.port), format!("localhost:{}", self.port)];
        if !host.is_some_and(|host| hosts.iter().any(|own| own == host)) {
            return Err(Refusal::Host);
        }
        let own_origin =
            |origin: &str| origin.strip_prefix("http://").is_some_and(|from| hosts.iter().any(|own| own == from));
        let foreign_site = |site: &str| !matches!(site, "same-origin" | "none");
        if origin.is_some_and(|origin| !own_origin(origin)) {
            return Err(Refusal::Origin);
        }
        let (token, rest) = path.strip_prefix('/').and_then(|path| path.split_once('/')).ok_or(Refusal::Token)?;
        // Every byte is compared, so that time does not tell how many are right.
        let differing = token.bytes().zip(self.token.bytes()).fold(0, |differing, (a, b)| differing | (a ^ b));
        if token.len() != self.token.len() || differing != 0 {
            return Err(Refusal::Token);
        }
        // A link to the page itself may be followed from anywhere by whoever has the token.
        if !rest.is_empty() && site.is_some_and(foreign_site) {
            return Err(Refusal::Origin);
        }
        Ok(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_own_page_with_the_token_passes() {
        let guard = Guard::new(4000);
        let path = format!("/{}/api/state", guard.token());
        let host = Some("127.0.0.1:4000");
        assert_eq!(guard.admit(&path, host, None, None), Ok("api/state"));
        assert_eq!(
            guard.admit(&path, Some("localhost:4000"), Some("http://localhost:4000"), Some("same-origin")),
            Ok("api/state")
        );
        assert_eq!(guard.admit(&format!("/{}/", guard.token()), host, None, Some("cross-site")), Ok(""));
        for (path, host, origin, site, refusal) in [
            ("/", host, None, None, Refusal::Token),
            ("/api/state", host, None, None, Refusal::Token),
            ("/0123456789abcdef0123456789abcdef/api/state", host, None, None, Refusal::Token),
            (path.as_str(), None, None, None, Refusal::Host),
            (path.as_str(), Some("evil.example:4000"), None, None, Refusal::Host),
            (path.as_str(), Some("127.0.0.1:4001"), None, None, Refusal::Host),
            (path.as_str(), host, Some("https://evil.example"), None, Refusal::Origin),
            (path.as_str(), host, Some("http://127.0.0.1:4001"), None, Refusal::Origin),
            (path.as_str(), host, Some("null"), None, Refusal::Origin),
            (path.as_str(), host, None, Some("cross-site"), Refusal::Origin),
            (path.as_str(), host, None, Some("same-site"), Refusal::Origin),
        ] {
            assert_eq!(guard.admit(path, host, origin, site), Err(refusal), "{path} {host:?} {origin:?} {site:?}");
        }
    }

    #[test]
    fn tokens_differ() {
        assert_ne!(Guard::new(1).token(), Guard::new(1).token());
        assert_eq!(Guard::new(1).token().len(), 32);
    }
}
